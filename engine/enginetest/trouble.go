// Faults that a test injects into the scripted engine.

package enginetest

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"molt/engine"
)

// Trouble is a way to break.
type Trouble string

const (
	Unavailable Trouble = "unavailable"  // fails with ErrUnavailable: a 503, or after some tokens a broken stream
	Broken      Trouble = "broken"       // fails with an error of no class: trying again is pointless
	MissingLogp Trouble = "missing logp" // fails as an adapter does whose server left a log-prob out
	NaNLogp     Trouble = "nan logp"     // breaks the contract: the ids from here on have log-prob NaN
	Hang        Trouble = "hang"         // samples nothing more until the context ends
	Slow        Trouble = "slow"         // each token from here on takes Pause
	Switch      Trouble = "switch"       // weights change under the request
)

// Fault strikes a request.
type Fault struct {
	Trouble Trouble
	Match   func(engine.Request) bool // which requests it strikes; nil strikes any
	After   int                       // tokens sampled before it strikes
	Times   int                       // how many requests it strikes; 0 means 1
	Pause   time.Duration             // of Slow
	Err     error                     // of Broken; nil says that the script broke it
	Weights *engine.Weights           // of Switch; nil serves the same weights under the next version
}

// Inject adds a fault. A request takes the first one that matches it.
func (s *Script) Inject(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.Times = max(f.Times, 1)
	s.faults = append(s.faults, f)
}

// takeFault finds the fault for a request. The caller holds mu.
func (s *Script) takeFault(r engine.Request) Fault {
	for i := range s.faults {
		f := &s.faults[i]
		if f.Times > 0 && (f.Match == nil || f.Match(r)) {
			f.Times--
			return *f
		}
	}
	return Fault{}
}

var (
	errBroken      = errors.New("broken by the script")
	errMissingLogp = errors.New("the reply lacks the log-prob of an id")
)

// err is the error with which the fault ends a request; nil when it does not end it.
func (f Fault) err() error {
	switch f.Trouble {
	case Unavailable:
		return fmt.Errorf("503 by the script: %w", engine.ErrUnavailable)
	case Broken:
		return cmp.Or(f.Err, errBroken)
	case MissingLogp:
		return errMissingLogp
	}
	return nil
}
