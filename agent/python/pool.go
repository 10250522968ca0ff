// The pool: a few processes, each of which runs many rollouts side by side on one event loop.

package python

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"molt/agent"
	"molt/internal/child"
	files "molt/python"
)

// Config says which Python runs which file.
type Config struct {
	File      string        // the agent's file
	Python    string        // the interpreter; "" is that of $VIRTUAL_ENV, else python3 of the path
	Processes int           // how many; 1 or more
	Recycle   int           // rollouts after which a process is replaced; 0 keeps it
	Start     time.Duration // until a process has loaded the file; more than 0
	Grace     time.Duration // how long a cancelled call may take to end before its process is killed; more than 0
	Log       io.Writer     // what agents print, a line at a time; nil drops it
	Trace     func(string)  // told of the first traceback of each type and place; nil drops them
	Environ   []string      // added to this process's own

	Render    func(agent.Task) (string, error) // for Envs: the prompt as the chat template renders it
	Sampling  agent.Sampling                   // as the run samples
	MaxLength int                              // tokens that a rollout may have
}

// Defaults suit a laptop.
func Defaults() Config {
	return Config{Processes: 2, Start: time.Minute, Grace: 2 * time.Second}
}

// Validate reports everything that is out of range.
func (c *Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("python: "+format, args...)) }
	if c.File == "" {
		bad("File is empty; want the path of the agent's file")
	}
	if c.Processes < 1 || c.Processes > 1024 {
		bad("Processes is %d; want 1 to 1024", c.Processes)
	}
	if c.Recycle < 0 {
		bad("Recycle is %d; want 0 or more", c.Recycle)
	}
	if c.Start <= 0 || c.Grace <= 0 {
		bad("Start is %v and Grace is %v; want more than 0", c.Start, c.Grace)
	}
	return errors.Join(errs...)
}

// Kind says which of the two contracts a file follows.
type Kind string

const (
	KindEnv  Kind = "env"  // StepEnvRunner
	KindChat Kind = "chat" // ChatAgentRunner
)

// Pool is a set of Python processes that run one agent file. It is safe for use by many goroutines.
type Pool struct {
	config  Config
	folder  *child.Folder // where the molt module lies
	next    uint64        // names rollouts; guarded by mu
	mu      sync.Mutex
	members []*process      // guarded by mu; nil where none runs
	closed  bool            // guarded by mu
	traced  map[string]bool // guarded by mu; kinds of tracebacks that were passed on
}

// trace passes on the first of each kind.
func (p *Pool) trace(r *Raised) {
	p.mu.Lock()
	known := p.traced[r.kind]
	p.traced[r.kind] = true
	p.mu.Unlock()
	if !known && p.config.Trace != nil {
		p.config.Trace(r.Traceback)
	}
}

// Open starts the first process, which loads the file, and says what kind of agent it is. Close the pool in the end.
func Open(ctx context.Context, config Config) (*Pool, Kind, error) {
	if err := config.Validate(); err != nil {
		return nil, "", err
	}
	if filepath.Ext(config.File) != ".py" {
		return nil, "", fmt.Errorf("python: agent file %s: its name must end in .py", strconv.Quote(config.File))
	}
	if _, err := os.Stat(config.File); err != nil {
		return nil, "", fmt.Errorf("python: agent file: %w", err)
	}
	child.Sweep()
	folder, err := child.MakeFolder("python")
	if err != nil {
		return nil, "", fmt.Errorf("python: %w", err)
	}
	p := &Pool{config: config, folder: folder, members: make([]*process, config.Processes), traced: map[string]bool{}}
	kind, err := p.begin(ctx)
	if err != nil {
		return nil, "", errors.Join(err, p.Close())
	}
	return p, kind, nil
}

func (p *Pool) begin(ctx context.Context) (Kind, error) {
	if err := os.CopyFS(p.folder.Path, files.Files); err != nil {
		return "", fmt.Errorf("python: writing the molt module: %w", err)
	}
	first, err := p.member(ctx)
	if err != nil {
		return "", err
	}
	p.release(first)
	return first.kind, nil
}

// Interpreter is the Python of that name, or with "" the one that the user's shell would run.
func Interpreter(named string) (string, error) {
	if named != "" {
		return named, nil
	}
	if venv := os.Getenv("VIRTUAL_ENV"); venv != "" {
		return filepath.Join(venv, "bin", "python"), nil
	}
	for _, name := range []string{"python3", "python"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("python: no python3 on the path; install one, or name it with agent.python: %w", fs.ErrNotExist)
}

// member is the process with the fewest rollouts; it is started if it does not run. The rollout then counts, until release.
func (p *Pool) member(ctx context.Context) (*process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errors.New("python: the pool is closed")
	}
	best := 0
	for i, m := range p.members {
		if m != nil && (m.ended() || p.config.Recycle > 0 && m.begun >= p.config.Recycle && m.busy == 0) {
			m.kill()
			p.members[i] = nil
		}
		if p.load(i) < p.load(best) {
			best = i
		}
	}
	if p.members[best] == nil {
		m, err := start(ctx, &p.config, p.folder.Path)
		if err != nil {
			return nil, err
		}
		p.members[best] = m
	}
	m := p.members[best]
	m.busy++
	m.begun++
	return m, nil
}

// load orders the members: an idle one first, then one that is still to be started, then the least busy.
func (p *Pool) load(i int) int {
	m := p.members[i]
	switch {
	case m == nil:
		return 1
	case p.config.Recycle > 0 && m.begun >= p.config.Recycle && m.busy > 0:
		return 1 << 20 // it is to be replaced when its last rollout has ended
	case m.busy == 0:
		return 0
	}
	return 1 + m.busy
}

func (p *Pool) release(m *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.busy--
}

// alone reports whether a process runs no other rollout.
func (p *Pool) alone(m *process) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return m.busy <= 1
}

// name is a new rollout's.
func (p *Pool) name() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next++
	return strconv.FormatUint(p.next, 10)
}

// Close ends every process, and everything they started. It may be called again.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, m := range p.members {
		if m != nil {
			m.finish(p.config.Grace)
		}
	}
	if err := p.folder.Remove(); err != nil {
		return fmt.Errorf("python: %w", err)
	}
	return nil
}
