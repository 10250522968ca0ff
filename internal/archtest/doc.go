// Package archtest enforces the plan of the house: which room may import which.
//
//	does            reads every Go file of the module and compares its imports with rooms.txt
//	takes           the module's source tree
//	gives           one sentence for each import that is not on the plan, and for each permission that nothing needs
//	must not know   what the rooms do
//	start reading   rooms.txt
package archtest
