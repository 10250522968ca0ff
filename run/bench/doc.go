// Package bench measures speed.
//
//	does            measures the embedded engine on this machine, and PyTorch beside it in the same rounds
//	takes           a benchmark, a shape, a Python with PyTorch
//	gives           rates with their ranges, and ratios
//	must not know   runs, files
//	start reading   bench.go, then work.go
package bench
