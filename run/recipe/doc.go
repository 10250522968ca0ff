// Package recipe is the whole configuration of every kind of run, and its files.
//
//	does            names, reads, checks and writes the settings of a run
//	takes           flags and YAML files, all with the same names
//	gives           a Config in which every value is possible by itself and none is ignored
//	must not know   files that settings name, engines, runs
//	start reading   config.go, then setting.go
package recipe
