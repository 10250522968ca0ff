package kernel

// pause tells the processor that the caller is polling.
func pause()
