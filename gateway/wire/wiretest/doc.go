// Package wiretest is what every codec of a wire is tested with.
//
//	does            one reply as deltas, streamed and whole, with its errors; compares what a codec writes with golden files
//	takes           a codec, and the folder testdata beside its test
//	gives           Codec, Run; Meta, Deltas, Play, Whole, Events, Golden for further tests
//	must not know   what any vendor writes
//	start reading   wiretest.go
package wiretest
