// Events of the run as a whole: how it was started, what it saved, what went wrong, how it ended.

package metrics

// RunStarted is the first event of every leg.
type RunStarted struct {
	Name         string  `json:"name"`                   // of the run
	Method       string  `json:"method"`                 // what it does, such as "sft" or "grpo"
	Command      string  `json:"command"`                // the command line, ready to paste
	ConfigDigest string  `json:"config_digest"`          // over the resolved configuration
	Config       string  `json:"config"`                 // the resolved configuration: YAML, the source of each value as a comment
	Seed         uint64  `json:"seed,string"`            // of the run
	Model        Model   `json:"model"`                  //
	Machine      Machine `json:"machine"`                //
	Build        Build   `json:"build"`                  //
	Plan         Plan    `json:"plan"`                   //
	ResumedFrom  string  `json:"resumed_from,omitempty"` // checkpoint that this leg continues; "" at the start
}

// Model says what is trained.
type Model struct {
	Name        string `json:"name"`
	Params      int64  `json:"params"`                // trainable numbers
	Vocab       int    `json:"vocab"`                 // ids
	Context     int    `json:"context"`               // tokens, the longest sequence
	Fingerprint string `json:"fingerprint,omitempty"` // of the weights that training starts from
}

// Machine says where the leg runs. It holds no host or user name.
type Machine struct {
	OS          string `json:"os"`
	Arch        string `json:"arch"`
	CPU         string `json:"cpu"`               // model name
	Cores       int    `json:"cores"`             //
	Threads     int    `json:"threads"`           // that the engine uses
	MemoryBytes int64  `json:"memory_bytes"`      //
	Kernels     string `json:"kernels,omitempty"` // the path the engine chose, such as "avx512"
}

// Build says which program runs.
type Build struct {
	Molt  string `json:"molt"`           // release, such as "0.1.0"
	Git   string `json:"git,omitempty"`  // commit
	Dirty bool   `json:"dirty,omitzero"` // the working tree had changes
	Go    string `json:"go"`             // toolchain
}

// Plan says how much work the run intends: what an honest estimate of the time left needs.
type Plan struct {
	SFTSteps int64 `json:"sft_steps"` // 0 for none
	Steps    int64 `json:"steps"`     // of RL; 0 for none or no limit
	Groups   int   `json:"groups"`    // per step
	Samples  int   `json:"samples"`   // rollouts per group
}

// CheckpointSaved names a checkpoint. Emit it just before the checkpoint is committed and store the returned number in
// the checkpoint: that is what Resume wants to know.
type CheckpointSaved struct {
	Step  int64    `json:"step"`
	Keep  string   `json:"keep"`            // why it is kept: "best" or "last"
	Path  string   `json:"path"`            // folder, relative to the run's
	Score *float64 `json:"score,omitempty"` // the evaluation that ranks it; nil when there was none
	Bytes int64    `json:"bytes,omitzero"`
}

// Severity orders alarms.
type Severity string

const (
	Warning  Severity = "warning"  // the run goes on; look at it
	Critical Severity = "critical" // the result cannot be trusted, or the run stops
)

// Alarm is a promise that was broken, or a number that a healthy run does not show.
type Alarm struct {
	Name     string   `json:"name"`               // stable, such as "no-gradient"; documentation has one anchor for each
	Severity Severity `json:"severity"`           //
	Step     int64    `json:"step"`               // at or after which step
	Sentence string   `json:"sentence"`           // what happened, with the numbers
	Evidence []Ref    `json:"evidence,omitempty"` // rollouts that show it
	Fix      string   `json:"fix,omitempty"`      // what to do
}

// Ref names a rollout.
type Ref struct {
	Step   int64 `json:"step"`
	Group  int64 `json:"group"`
	Sample int   `json:"sample"`
}

// Note is a sentence for people.
type Note struct {
	Text string `json:"text"`
}

// Rewound says that a leg continues at an older point: the measurements after it were discarded with the work.
type Rewound struct {
	ToSeq int64 `json:"to_seq"` // the last event whose work was kept
	Step  int64 `json:"step"`   // the step training continues after
}

// RunEnded is the last event of a leg that ended in order.
type RunEnded struct {
	Outcome string  `json:"outcome"`          // "finished", "stopped" or "failed"
	Reason  string  `json:"reason,omitempty"` // one sentence when it is not "finished"
	Resume  string  `json:"resume,omitempty"` // the command that continues; "" when there is nothing left to do
	Seconds float64 `json:"seconds"`          // wall time of this leg

	PeakRSSBytes int64 `json:"peak_rss_bytes,omitzero"`
}

func (RunStarted) Kind() string      { return "run_started" }      // implements Event
func (CheckpointSaved) Kind() string { return "checkpoint_saved" } // implements Event
func (Alarm) Kind() string           { return "alarm" }            // implements Event
func (Note) Kind() string            { return "note" }             // implements Event
func (Rewound) Kind() string         { return "rewound" }          // implements Event
func (RunEnded) Kind() string        { return "run_ended" }        // implements Event
