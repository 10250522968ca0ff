// One worker process, and the protocol it is spoken to in: a JSON request a line, a JSON answer a line (python/molt/worker.py).

package python

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"molt/chat"
	"molt/internal/child"
)

const (
	maxAnswer = 64 << 20 // bytes of one answer
	maxPrint  = 8 << 10  // bytes of one printed line that are kept
)

type process struct {
	kind  Kind
	busy  int // rollouts that run in it; guarded by the pool's mu
	begun int // rollouts that ever did; guarded by the pool's mu

	command *exec.Cmd
	grace   time.Duration
	over    chan struct{} // closed when it has ended and everything it said was read

	mu      sync.Mutex
	input   io.WriteCloser         // guarded by mu
	calls   map[uint64]chan answer // guarded by mu; those that wait
	id      uint64                 // guarded by mu; of the last call
	printed []string               // guarded by mu; the last lines, for the error
	killed  string                 // guarded by mu; why it was killed; "" where it was not
}

// answer is what a call came to.
type answer struct {
	ID    uint64          `json:"id"`
	OK    json.RawMessage `json:"ok"`
	Error string          `json:"error"`
	At    string          `json:"at"`
	Trace string          `json:"trace"`
}

// Raised is an exception of the agent's file.
type Raised struct {
	Line      string // its type and message, and where in the file it was
	Traceback string // as Python prints it, without the frames of ours
	kind      string // its type and place: what is the same in the next rollout
}

func (r *Raised) Error() string { return r.Line }

func (a *answer) raised() *Raised {
	line := a.Error
	if a.At != "" {
		line += " (" + a.At + ")"
	}
	name, _, _ := strings.Cut(a.Error, ":")
	return &Raised{line, a.Trace, name + " " + a.At}
}

// start runs the interpreter and lets it load the file.
func start(ctx context.Context, c *Config, folder string) (*process, error) {
	interpreter, err := Interpreter(c.Python)
	if err != nil {
		return nil, err
	}
	p := &process{grace: c.Grace, over: make(chan struct{}), calls: map[uint64]chan answer{}}
	if _, err := exec.LookPath(interpreter); err != nil {
		return nil, fmt.Errorf("python: starting %s: %w", interpreter, err)
	}
	argv := child.Alone([]string{interpreter, "-u", "-m", "molt.worker", c.File}, "")
	p.command = exec.Command(argv[0], argv[1:]...)
	p.command.Env = append(os.Environ(), c.Environ...)
	p.command.Env = append(p.command.Env, "PYTHONPATH="+join(folder, lookup(p.command.Env, "PYTHONPATH")), "PYTHONDONTWRITEBYTECODE=1")
	p.command.SysProcAttr = child.OwnGroup()
	if err := p.run(c.Log); err != nil {
		return nil, fmt.Errorf("python: starting %s: %w", interpreter, err)
	}
	limited, cancel := context.WithTimeout(ctx, c.Start)
	defer cancel()
	var hello struct {
		Kind Kind `json:"kind"`
	}
	if err := p.call(limited, "hello", request{}, &hello); err != nil {
		p.kill()
		return nil, fmt.Errorf("python: loading %s: %w", c.File, err)
	}
	p.kind = hello.Kind
	return p, nil
}

// run starts the process, and the goroutines that read it. They end with it; over says when.
func (p *process) run(log io.Writer) error {
	input, err1 := p.command.StdinPipe()
	output, err2 := p.command.StdoutPipe()
	printed, err3 := p.command.StderrPipe()
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	p.input = input
	if err := p.command.Start(); err != nil {
		return err
	}
	var readers sync.WaitGroup
	readers.Go(func() { p.answers(output) })
	readers.Go(func() { p.prints(printed, log) })
	go func() {
		readers.Wait()
		p.command.Wait()
		p.fail()
		close(p.over)
	}()
	return nil
}

// answers hands every answer to the call that waits for it.
func (p *process) answers(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxAnswer)
	for lines.Scan() {
		var a answer
		if json.Unmarshal(lines.Bytes(), &a) != nil {
			p.end(fmt.Sprintf("it wrote %.100q where its answers go", lines.Bytes()))
			break
		}
		p.mu.Lock()
		waiting := p.calls[a.ID]
		delete(p.calls, a.ID)
		p.mu.Unlock()
		if waiting != nil {
			waiting <- a
		}
	}
	if lines.Err() != nil {
		p.end(fmt.Sprintf("an answer of it has more than %d bytes", maxAnswer))
	}
	io.Copy(io.Discard, r)
}

// prints passes on what the agent prints.
func (p *process) prints(r io.Reader, log io.Writer) {
	lines := bufio.NewReaderSize(r, maxPrint)
	for {
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 {
			text := strings.ToValidUTF8(string(bytes.TrimRight(line, "\r\n")), "\uFFFD")
			p.mu.Lock()
			p.printed = append(p.printed, text)
			if n := len(p.printed); n > 12 {
				p.printed = p.printed[n-12:]
			}
			p.mu.Unlock()
			if log != nil {
				fmt.Fprintln(log, text)
			}
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// fail ends the calls that nobody will answer.
func (p *process) fail() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, waiting := range p.calls {
		waiting <- answer{Error: p.why()}
		delete(p.calls, id)
	}
	p.calls = nil
}

// why says how the process ended. It is called with mu held, after the end.
func (p *process) why() string {
	why := "the python process ended: " + p.command.ProcessState.String()
	if code := p.command.ProcessState.ExitCode(); code > 128 {
		why = "the python process ended: " + child.Code(code)
	}
	if p.killed != "" {
		why = "the python process was killed because " + p.killed
	}
	if len(p.printed) > 0 {
		why += "; it last printed: " + strings.Join(p.printed, " | ")
	}
	return why
}

// errEnded means that the process, not the call, failed.
var errEnded = errors.New("no answer")

// request is what a call sends.
type request struct {
	ID      uint64 `json:"id"`
	Do      string `json:"do"`
	Rollout string `json:"rollout,omitempty"`
	State   any    `json:"state,omitempty"`
	Context any    `json:"context,omitempty"`
	Call    uint64 `json:"call,omitempty"`
}

// call asks and waits. When ctx ends the call is cancelled, and if it does not end within the grace, the process is killed.
func (p *process) call(ctx context.Context, do string, r request, into any) error {
	waiting := make(chan answer, 1) // capacity 1: the answer may come when nobody waits
	r.Do = do
	if err := p.send(&r, waiting); err != nil {
		return err
	}
	var a answer
	select {
	case a = <-waiting:
	case <-ctx.Done():
		p.send(&request{Do: "cancel", Call: r.ID}, nil)
		select {
		case <-waiting:
		case <-time.After(p.grace):
			p.end("a call in it did not end")
		}
		return context.Cause(ctx)
	}
	switch {
	case a.ID == 0:
		return fmt.Errorf("%w: %s", errEnded, a.Error)
	case a.OK == nil:
		return a.raised()
	}
	return json.Unmarshal(a.OK, into)
}

// send writes one request. With waiting it gets an id, and an answer.
func (p *process) send(r *request, waiting chan answer) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls == nil {
		return fmt.Errorf("%w: %s", errEnded, p.why())
	}
	p.id++
	r.ID = p.id
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if waiting != nil {
		p.calls[r.ID] = waiting
	}
	p.input.Write(append(line, '\n')) // if it fails the process has ended, and the call is told so
	return nil
}

// typed is a call's error as the runner types it: the process may have ended for what another rollout did. The first traceback
// of each kind is passed on.
func (p *Pool) typed(m *process, err error) error {
	if raised, ok := errors.AsType[*Raised](err); ok {
		p.trace(raised)
	}
	if errors.Is(err, errEnded) && !p.alone(m) {
		return fmt.Errorf("%w: %w", chat.ErrInfrastructure, err)
	}
	return err
}

// ended reports whether the process has ended, or is about to: it is killed, or nobody answers its calls.
func (p *process) ended() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killed != "" || p.calls == nil
}

// finish lets the process close what it has, then kills it.
func (p *process) finish(grace time.Duration) {
	p.mu.Lock()
	p.input.Close()
	p.mu.Unlock()
	select {
	case <-p.over:
	case <-time.After(grace):
	}
	p.kill()
	<-p.over
}

// end kills it for a reason, the first of which counts.
func (p *process) end(why string) {
	p.mu.Lock()
	p.killed = cmp.Or(p.killed, why)
	p.mu.Unlock()
	p.kill()
}

// kill ends the process and all that it started.
func (p *process) kill() { child.KillGroup(p.command.Process.Pid) }

func join(a, b string) string {
	if b == "" {
		return a
	}
	return a + string(os.PathListSeparator) + b
}

func lookup(environ []string, name string) string {
	value := ""
	for _, e := range environ {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			value = v
		}
	}
	return value
}
