// Package chained keeps records as lines that vouch for each other.
//
//	does            appends records to a file, a checksum and a number before each; reads them back and finds what is not as it was
//	takes           records as JSON
//	gives           File, Read
//	must not know   what a record means
//	start reading   chained.go, then file.go
package chained
