// Package atomicfile writes files that are either wholly there or not there at all.
//
//	does            writes to a temporary neighbour, syncs it, renames it, syncs the folder
//	takes           a path and the bytes, or a function that writes them
//	gives           nil once the file survives a power cut, or an error that names the path
//	must not know   what the bytes mean
//	start reading   atomicfile.go
package atomicfile
