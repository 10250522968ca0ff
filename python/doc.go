// Package python is the Python that the binary carries.
//
//	does            holds the `molt` module that agents written in Python import, and the worker that runs them
//	takes           nothing
//	gives           its files; the standard library of Python 3.9 or later is all they need
//	must not know   everything else
//	start reading   molt/agents.py is the contract; molt/worker.py is the process; molt/rehearse.py plays a file by hand
package python

import "embed"

// Files are the modules, under molt/.
//
//go:embed molt/*.py molt/hubs/*.py
var Files embed.FS
