// Package sandbox runs programs that a policy wrote.
//
//	does            runs Python, shell or Starlark source in a throwaway folder under limits, as far apart as the machine allows
//	takes           source text, limits
//	gives           what it printed, in the words a policy reads; which isolation there really is
//	must not know   engines, the network, how anything is trained
//	start reading   box.go; isolation.go says what each kind keeps apart; tool.go is the tool that policies call, offer.go adds it to an environment
package sandbox
