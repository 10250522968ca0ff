// A harness for a person: the same home and environment as in a rollout, in a folder of the person's choice.

package command

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	"molt/agent"
	"molt/chat"
)

// Place says where a harness works.
type Place struct {
	Folder      string // "" is an empty one that Remove removes
	Prompt      string // what it is asked, unless Interactive
	Interactive bool
	MaxLength   int // tokens of a conversation
}

// Prepared is a harness that can be started.
type Prepared struct {
	Argv    []string
	Environ []string
	Dir     string
	Home    string
	made    *rollout
}

// Prepare makes the harness' home and finds its program.
func Prepare(p Preset, address agent.Address, at Place) (*Prepared, error) {
	config := Config{}
	p.Apply(&config)
	line := config.Command
	if at.Interactive {
		line = p.Interactive
	}
	words, err := Words(line)
	if err != nil {
		return nil, err
	}
	// A person's own terminal and paths; not a person's own keys.
	config.Inherit = []string{"TERM", "COLORTERM", "LINES", "COLUMNS", "EDITOR", "VISUAL"}
	r := &rollout{config: config}
	c := agent.ChatContext{Address: address, MaxLength: at.MaxLength, Task: agent.Task{Messages: []chat.Message{{Role: chat.User, Content: at.Prompt}}}}
	if err := r.prepareIn(c, at.Folder); err != nil {
		return nil, errors.Join(err, r.remove())
	}
	h := &Prepared{Environ: append(r.environ(c), terminal()...), Dir: r.values["workspace"], Home: r.values["home"], made: r}
	if h.Argv, err = fillAll(words, r.values); err == nil {
		h.Argv[0], err = exec.LookPath(h.Argv[0])
	}
	if err != nil {
		return nil, errors.Join(err, h.Remove())
	}
	return h, nil
}

// terminal is the person's, in place of the dumb one of rollouts.
func terminal() []string {
	if term := os.Getenv("TERM"); term != "" {
		return []string{"TERM=" + term}
	}
	return nil
}

// prepareIn is prepare in a folder that exists, or in an empty one.
func (r *rollout) prepareIn(c agent.ChatContext, folder string) error {
	if err := r.prepare(c); err != nil {
		return err
	}
	if folder == "" {
		return nil
	}
	at, err := filepath.Abs(folder)
	r.values["workspace"] = at
	if err != nil {
		return err
	}
	return r.writeFiles() // once more: they may name the workspace
}

// Remove removes the home, and the folder unless it was given.
func (h *Prepared) Remove() error { return h.made.remove() }
