// The contract. An environment author implements Env; everything else is ours.

package agent

import (
	"context"

	"molt/chat"
	"molt/traj"
)

// Task is one prompt, as an environment is given it.
type Task struct {
	ID       string          // unique in its prompt set
	Source   string          // name of the prompt set
	Messages []chat.Message  // what the row asks
	Tools    []chat.ToolSpec // what the row offers; nil without
	Label    string          // what the answer is compared with, as the row has it
	Seed     uint64          // for whatever is drawn; all rollouts of a group share it
}

// Env is a world in which the policy acts: Reset once, Step after every reply of the policy, Close at the end. Each rollout
// has its own Env, and its methods are called one at a time.
//
// The context of Reset and Step ends at the call's deadline or when the rollout is cancelled; a call should then return. An
// error, a panic, a missed deadline or a reward that is not a number ends the rollout with an outcome that is not graded:
// return an error when the environment fails, and a Reward when the policy does.
type Env interface {
	// Reset begins the rollout and says what the policy sees first.
	Reset(ctx context.Context, task Task) (Start, error)
	// Step says what the policy's reply leads to.
	Step(ctx context.Context, action Action) (Result, error)
	// Close releases what the environment holds. It is called exactly once, also when Reset failed or panicked. After a
	// call that missed its deadline it waits until that call returns. Its error is noted and changes nothing else.
	Close() error
}

// Start is what the policy sees first.
type Start struct {
	Messages []chat.Message  // at least one
	Tools    []chat.ToolSpec // what the policy is offered; nil without
}

// Action is one reply of the policy. A reply that was cut off (Finish is traj.FinishLength) is an action like any other.
type Action struct {
	chat.Reply
	Turn int // from 0
}

// Result is what an action led to.
type Result struct {
	Reward      float64        // of this turn; the rollout's reward is the sum
	Observation []chat.Message // what the policy sees next; needed unless the rollout ends here, unseen if it does
	Terminated  bool           // the task has come to its end
	Truncated   bool           // the environment stops before the end: the policy used up what it had
	Sampling    Sampling       // of the turns that follow; zeros keep what was. The session must be a Resampler

	// What counts of the last turn alone.
	Score *float64           // what evaluation counts; nil counts the rollout's reward
	Info  map[string]float64 // finite numbers, for metrics
}

// Job is one rollout to be run.
type Job struct {
	Group   int64
	Sample  int
	Attempt int
	Task    Task
	Eval    bool  // for evaluation: nothing trains on it
	Enter   Enter // asked before each stage but the first; nil lets the rollout go on
}

// Runner runs rollouts, many at once. It returns soon after ctx ends.
type Runner interface {
	// Run plays one rollout. However it ends, the end is an outcome: it never returns nil.
	Run(ctx context.Context, job Job) *traj.Rollout
}

// Policy is the model as one rollout sees it: a session that samples replies and captures their tokens. It is used by one
// goroutine. An error for which errors.Is reports chat.ErrBudget or chat.ErrInfrastructure ends the rollout as such; any
// other means that the conversation itself was impossible.
type Policy interface {
	// Begin says what the policy sees first.
	Begin(messages []chat.Message, tools []chat.ToolSpec) error
	// Turn appends the observation, nil on the first turn, and samples one reply.
	Turn(ctx context.Context, observation []chat.Message) (chat.Reply, error)
	// Nodes returns what was captured so far, one node for each reply, in order. The caller may change them after Close.
	Nodes() []traj.Node
	// Close ends the session. It is called once.
	Close() error
}

// Opener opens the session of a rollout.
type Opener func(job Job) (Policy, error)
