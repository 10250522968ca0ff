// The peer: a Python process that runs the same work on PyTorch. One JSON line asks for a run, one answers with its seconds.

package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// peer is a running peer. It is for one goroutine.
type peer struct {
	name    string
	process *exec.Cmd
	ask     io.WriteCloser
	answers *bufio.Reader
}

// peerScript is looked for beside the program and where it is run, and above.
const peerScript = "scripts/bench/torch_peer.py"

// openPeer starts the peer; nil when none is asked for. An error says in a sentence why there is none.
func openPeer(ctx context.Context, c Config) (*peer, error) {
	if c.Peer == "" {
		return nil, nil
	}
	script, err := findScript()
	if err != nil {
		return nil, err
	}
	p := &peer{process: exec.CommandContext(ctx, c.Peer, script, fmt.Sprint(c.Threads))}
	p.process.Stderr = io.Discard
	if p.ask, err = p.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.answers = bufio.NewReaderSize(out, longestAnswer)
	if err := p.process.Start(); err != nil {
		return nil, fmt.Errorf("it does not start: %w", err)
	}
	var hello struct{ Name, Missing string }
	err = p.hear(&hello)
	if err == nil && hello.Missing != "" {
		err = fmt.Errorf("%s has no PyTorch: %s", c.Peer, hello.Missing)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	p.name = hello.Name
	return p, nil
}

// run asks for one run of a workload and gives its seconds, and the figures that it computed where the workload has some.
func (p *peer) run(w *workload) (seconds float64, figures map[string]float64, err error) {
	request, err := json.Marshal(w.peer)
	if err != nil {
		return 0, nil, fmt.Errorf("bench: asking the peer: %w", err)
	}
	if _, err := p.ask.Write(append(request, '\n')); err != nil {
		return 0, nil, fmt.Errorf("bench: asking the peer for %s: %w", w.name, err)
	}
	var answer struct {
		Seconds float64
		Figures map[string]float64
		Error   string
	}
	if err := p.hear(&answer); err != nil {
		return 0, nil, fmt.Errorf("bench: the peer's %s: %w", w.name, err)
	}
	if answer.Error != "" || !(answer.Seconds > 0) {
		return 0, nil, fmt.Errorf("bench: the peer's %s: %s", w.name, answer.Error)
	}
	return answer.Seconds, answer.Figures, nil
}

// longestAnswer bounds what a peer may say at once.
const longestAnswer = 1 << 16 // bytes

func (p *peer) hear(v any) error {
	text, err := p.answers.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return fmt.Errorf("it answers with more than %d bytes", longestAnswer)
	}
	if err != nil {
		return errors.New("it ended without an answer")
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("its answer is not JSON: %.80q", text)
	}
	return nil
}

// close ends the peer. How it ends does not matter: it has said what it had to say.
func (p *peer) close() {
	_ = p.process.Process.Kill()
	_ = p.process.Wait()
}

func findScript() (string, error) {
	var from []string
	if dir, err := os.Getwd(); err == nil {
		from = append(from, dir)
	}
	if program, err := os.Executable(); err == nil {
		from = append(from, filepath.Dir(program))
	}
	for _, dir := range from {
		for {
			at := filepath.Join(dir, filepath.FromSlash(peerScript))
			if _, err := os.Stat(at); err == nil {
				return at, nil
			}
			up := filepath.Dir(dir)
			if up == dir {
				break
			}
			dir = up
		}
	}
	return "", fmt.Errorf("%s is not here: run it inside the repository", peerScript)
}
