// Package folder is the folder that a run lives in, and what survives kill -9.
//
//	does            opens a run folder for one process: new, or unfinished with the same settings
//	takes           a path, settings, and what else changes results
//	gives           the names in the folder, run.json, the result at the end
//	must not know   what runs in it
//	start reading   folder.go
package folder
