// Package web shows a run to people: one HTML file that opens from disk and holds everything it needs.
//
//	does            turns a run's events and kept rollouts into report.html
//	takes           folded events, rollouts, a size limit
//	gives           one self-contained file: no request leaves it, and no text in it can run
//	must not know   how training works, where files are, servers
//	start reading   report.go (the file), data.go (what is in it), then assets/ (how it is drawn)
package web
