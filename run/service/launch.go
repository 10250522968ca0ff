package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"molt/agent"
	"molt/agent/command"
	"molt/gateway/capture"
	"molt/run/problem"
)

// Launch says which harness is started for a person, on which model.
type Launch struct {
	Service Config
	Harness string   // name of a preset
	Args    []string // given to the harness; with any, or with Prompt, it may run without a person
	Prompt  string   // run without a person on this; "" is interactive
	Folder  string   // it works here; "" in an empty one that is gone afterwards
	Keep    bool     // leave its home folder

	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Start starts the harness in a clean home, waits until it ends, and returns what was captured. The harness' own exit code
// is no error.
func Start(ctx context.Context, l Launch) (_ *capture.Export, code int, err error) {
	preset, err := command.FindPreset(l.Harness)
	if err != nil {
		return nil, 0, &problem.Problem{Code: problem.Usage, What: err.Error(), Fix: "choose one of them"}
	}
	if _, err := exec.LookPath(preset.Program); err != nil {
		return nil, 0, &problem.Problem{Code: problem.Resource, What: preset.Program + " is not installed", Why: err.Error(), Fix: preset.Install, Err: err}
	}
	l.Service.Listen = "127.0.0.1:0"
	s, err := Open(l.Service)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1) // holds what Run returned
	go func() { ended <- s.Run(serving) }()
	defer func() { stop(); err = errors.Join(err, <-ended) }()

	session, address, err := s.Session(0)
	if err != nil {
		return nil, 0, err
	}
	code, err = l.run(ctx, preset, address, s.Context())
	export := session.Export()
	return &export, code, err
}

// run is the harness from start to end.
func (l *Launch) run(ctx context.Context, preset command.Preset, address agent.Address, context int) (int, error) {
	h, err := command.Prepare(preset, address, command.Place{Folder: l.Folder, Prompt: l.Prompt, Interactive: l.Prompt == "", MaxLength: context})
	if err != nil {
		return 0, &problem.Problem{Code: problem.Resource, What: "cannot prepare the harness", Why: err.Error(), Fix: "make room in the folder for temporary files", Err: err}
	}
	if !l.Keep {
		defer h.Remove()
	}
	c := exec.CommandContext(ctx, h.Argv[0], append(h.Argv[1:], l.Args...)...)
	c.Dir, c.Env, c.Stdin, c.Stdout, c.Stderr = h.Dir, h.Environ, l.Stdin, l.Stdout, l.Stderr
	if l.Prompt != "" {
		c.Stdin = nil
		if preset.Stdin {
			c.Stdin = strings.NewReader(l.Prompt)
		}
	}
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	err = c.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exitCode(exit.ProcessState), nil
	}
	if err != nil {
		return 0, fmt.Errorf("service: %w", err)
	}
	return 0, nil
}

// exitCode is a program's own, or 128 and the number of the signal that ended it, as shells say it.
func exitCode(p *os.ProcessState) int {
	if status, ok := p.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return p.ExitCode()
}
