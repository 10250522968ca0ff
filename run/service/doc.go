// Package service puts a model, or a script in its place, behind the capture server.
//
//	does            opens what answers, listens, and says where: for harnesses, for other trainers, for debugging
//	takes           a model folder or a script of replies; an address, a token, a certificate
//	gives           Service: its address, sessions on it, Run
//	must not know   training, rewards, what is printed
//	start reading   service.go; launch.go starts a harness that people know on a session
package service
