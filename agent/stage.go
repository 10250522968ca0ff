// The stages of a rollout, for whoever bounds how many rollouts are in each at once.

package agent

import "context"

// Stage is what a rollout is busy with.
type Stage string

const (
	SetUp Stage = "set_up" // a session, a world, a workspace: until the policy is first asked
	Play  Stage = "run"    // the policy and the agent take turns
	Grade Stage = "grade"  // the work is done, and somebody else says what it was worth
)

// Stages lists them in order. A rollout may leave out the last.
var Stages = []Stage{SetUp, Play, Grade}

// Enter waits until a rollout may go on with another stage, and leaves the one that it was in. Its error is the end of ctx. Nil
// lets everybody go on.
type Enter func(ctx context.Context, s Stage) error

func (e Enter) enter(ctx context.Context, s Stage) error {
	if e == nil {
		return nil
	}
	return e(ctx, s)
}

// Staged is a ChatAgent whose Run calls ChatContext.Enter itself, because it has something to set up or to grade. All others
// are let into Play before their Run is called.
type Staged interface {
	ChatAgent
	// Staged does nothing.
	Staged()
}
