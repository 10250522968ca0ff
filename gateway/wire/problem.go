// What went wrong, by what a client should do about it.

package wire

import "fmt"

// Class of a Problem.
type Class uint8

const (
	Bad          Class = iota // the request can never succeed
	Overflow                  // the conversation is too long: compact it
	Unauthorized              // no such key
	Forbidden                 // asked by a name that is not the server's
	Missing                   // no such thing
	TooLarge                  // the body is too large
	BadMedia                  // the body is coded in a way that is not read
	Limited                   // too many requests: later
	Overloaded                // try again soon
	Expired                   // a deadline passed
	Broken                    // our fault
	Upgrade                   // another protocol was asked for
)

// Problem is an error that a client sees.
type Problem struct {
	Class   Class
	Param   string // the field at fault, "" when it is none
	Message string
	Tokens  int // of Overflow: of the prompt
	Limit   int // of Overflow: what there is room for
	Retry   int // seconds until trying again makes sense; 0 says nothing
}

func (p *Problem) Error() string {
	if p.Class == Overflow {
		return fmt.Sprintf("%d tokens, and there is room for %d", p.Tokens, p.Limit)
	}
	if p.Param == "" {
		return p.Message
	}
	return p.Param + ": " + p.Message
}

// Badf makes a Problem of class Bad.
func Badf(param, format string, args ...any) *Problem {
	return &Problem{Class: Bad, Param: param, Message: fmt.Sprintf(format, args...)}
}
