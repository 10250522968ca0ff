// What goes into the scheduler and what comes out of it.

package sched

import "molt/traj"

// Key names one attempt of one rollout. Groups of training count up from 0; groups of an evaluation count down from -1
// and start again with every evaluation, so evaluating changes no training ordinal and no random number of training.
type Key struct {
	Group   int64
	Sample  int
	Attempt int
}

// Eval reports whether the rollout belongs to an evaluation.
func (k Key) Eval() bool { return k.Group < 0 }

// Event is something that happened outside.
type Event interface{ event() }

type (
	// Tick says that it is Now, in ms since any fixed moment. Time never runs back: an earlier Now is ignored.
	Tick struct{ Now int64 }

	// Prompt answers Draw with the next prompt.
	Prompt struct{ ID, Source string }

	// EndOfData answers Draw when there are no more prompts.
	EndOfData struct{}

	// Done brings what a runner returned. The scheduler keeps the rollout, and may retype its outcome.
	Done struct{ Rollout *traj.Rollout }

	// Take asks for the next batch. Exactly one Deliver or End answers it.
	Take struct{}

	// Publish says that training made new weights from the batch it took. Switch answers it when no rollout is in flight
	// that must finish under the old ones; after Switch the caller makes the engines serve them and sends Published.
	Publish struct{ Version traj.Version }

	// Published says that every token sampled from now on comes from the weights that Switch named.
	Published struct{}

	// Evaluate runs each prompt Samples times under the weights that serve now. Evaluated answers it.
	Evaluate struct {
		Prompts []Prompt
		Samples int
	}

	// Halt ends the run now: rollouts in flight are cancelled, and nothing more is delivered.
	Halt struct{ Why string }
)

func (Tick) event()      {}
func (Prompt) event()    {}
func (EndOfData) event() {}
func (Done) event()      {}
func (Take) event()      {}
func (Publish) event()   {}
func (Published) event() {}
func (Evaluate) event()  {}
func (Halt) event()      {}

// Action is something that the caller must do, in the order given.
type Action interface{ action() }

type (
	// Draw asks for the next prompt, which becomes this group: answer with Prompt or EndOfData.
	Draw struct{ Group int64 }

	// Start asks to run one attempt; answer with Done.
	Start struct{ Key }

	// Cancel asks to stop a running attempt because of Why (Timeout or Cancelled). Its runner still answers with Done.
	Cancel struct {
		Key
		Why traj.Outcome
	}

	// Abandon says that a cancelled attempt did not return within the grace period. No Done may follow.
	Abandon struct{ Key }

	// Retry reports a failed attempt whose sample will be tried again at At.
	Retry struct {
		Rollout *traj.Rollout
		At      int64 // ms
	}

	// Drop reports a group that will not train; its Filtered says why.
	Drop struct{ Group *traj.Group }

	// Deliver hands over the next batch.
	Deliver struct{ Batch Batch }

	// End says that there will be no further batch, in a sentence.
	End struct{ Why string }

	// Switch asks to make the engines serve this version; answer with Published.
	Switch struct{ Version traj.Version }

	// Evaluated hands over a finished evaluation, groups in the order of its prompts.
	Evaluated struct {
		Groups  []*traj.Group
		Version traj.Version // which sampled every token
	}
)

func (Draw) action()      {}
func (Start) action()     {}
func (Cancel) action()    {}
func (Abandon) action()   {}
func (Retry) action()     {}
func (Drop) action()      {}
func (Deliver) action()   {}
func (End) action()       {}
func (Switch) action()    {}
func (Evaluated) action() {}

// Batch is what one training step consumes.
type Batch struct {
	Index     int64         // ordinal in the run, from 0
	Groups    []*traj.Group // in order of dispatch, each accepted by the filter
	Version   traj.Version  // the weights that sampled every token
	Published int64         // how many times weights had been published when they were sampled
	Lag       int64         // learner version - Version, at delivery
	Short     string        // why there are fewer than BatchGroups groups; "" when there are not
}
