// What the work was worth: the program says it, or somebody who looks at what it left behind.

package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"molt/agent"
	"molt/agent/judge"
	"molt/internal/child"
	"molt/traj"
)

// Source says where the reward comes from.
type Source string

const (
	FromOutput Source = "output" // the last line that the program prints: a number, or {"reward": …, "score": …, "truncated": …, "info": {…}}
	FromFile   Source = "file"   // the same in the file that MOLT_RESULT_FILE names
	FromGrader Source = "grader" // another command, in the same workspace: its last line as above, or 1 and 0 for exit codes 0 and 1
	FromURL    Source = "url"    // an HTTP POST of the task and the output, answered as above
	FromJudge  Source = "judge"  // a language model, which is shown the prompt, the output and the label
)

// Sources lists them.
var Sources = []Source{FromOutput, FromFile, FromGrader, FromURL, FromJudge}

// Reward says who grades.
type Reward struct {
	From   Source
	Grader string        // for FromGrader: a command like Config.Command; MOLT_GRADE_FILE names a file with the task, its label and the output
	URL    string        // for FromURL
	Limit  time.Duration // of the grader or the request; more than 0 for these two
	Judge  judge.Config  // for FromJudge
}

func (r *Reward) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("command: "+format, args...)) }
	if !slices.Contains(Sources, r.From) {
		bad("Reward.From is %q; want one of %v", r.From, Sources)
	}
	if words, err := Words(r.Grader); r.From == FromGrader && (err != nil || len(words) == 0) {
		bad("Reward.Grader is %q; want a program and its arguments", r.Grader)
	}
	if u, err := url.Parse(r.URL); r.From == FromURL && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		bad("Reward.URL is %q; want an http or https address", r.URL)
	}
	if (r.From == FromGrader || r.From == FromURL) && r.Limit <= 0 {
		bad("Reward.Limit is %v; want more than 0", r.Limit)
	}
	if r.Grader != "" && r.From != FromGrader {
		bad("Reward.Grader has no effect when Reward.From is %q", r.From)
	}
	if r.URL != "" && r.From != FromURL {
		bad("Reward.URL has no effect when Reward.From is %q", r.From)
	}
	if r.From == FromJudge {
		errs = append(errs, r.Judge.Validate())
	}
	return errors.Join(errs...)
}

// reward asks. Whatever goes wrong here is the grader's failure, not the policy's.
func (r *rollout) reward(ctx context.Context, c agent.ChatContext) (agent.Result, error) {
	var result agent.Result
	var err error
	switch r.config.Reward.From {
	case FromOutput:
		printed, _ := r.output.Bytes()
		result, err = lastLine(printed)
	case FromFile:
		result, err = fromFile(r.values["result_file"])
	case FromGrader:
		result, err = r.grade(ctx, c)
	case FromURL:
		result, err = r.post(ctx, c)
	case FromJudge:
		result, err = r.judge(ctx, c)
	}
	if err != nil && ctx.Err() == nil {
		return result, agent.Failed(traj.Grader, fmt.Errorf("reward from %s: %w", r.config.Reward.From, err))
	}
	return result, err
}

const maxVerdict = 1 << 20 // bytes of a reward in a file or an answer

func fromFile(path string) (agent.Result, error) {
	file, err := os.Open(path)
	if err != nil {
		return agent.Result{}, err
	}
	defer file.Close()
	return verdictFrom(file)
}

func verdictFrom(r io.Reader) (agent.Result, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxVerdict+1))
	if err == nil && len(data) > maxVerdict {
		err = fmt.Errorf("more than %d bytes", maxVerdict)
	}
	if err != nil {
		return agent.Result{}, err
	}
	return verdict(data)
}

// lastLine reads the last line that is not empty.
func lastLine(printed []byte) (agent.Result, error) {
	printed = bytes.TrimSpace(printed)
	return verdict(printed[bytes.LastIndexByte(printed, '\n')+1:])
}

// verdict reads a number or an object.
func verdict(data []byte) (agent.Result, error) {
	var v struct {
		Reward    *float64           `json:"reward"`
		Score     *float64           `json:"score"`
		Truncated bool               `json:"truncated"`
		Info      map[string]float64 `json:"info"`
	}
	data = bytes.TrimSpace(data)
	var alone float64
	if err := json.Unmarshal(data, &alone); err == nil && string(data) != "null" {
		v.Reward = &alone
	} else if err := json.Unmarshal(data, &v); err != nil {
		return agent.Result{}, fmt.Errorf("%.200q is neither a number nor a JSON object with a reward: %w", data, err)
	}
	if v.Reward == nil {
		return agent.Result{}, fmt.Errorf("%.200q has no reward", data)
	}
	return agent.Result{Reward: *v.Reward, Score: v.Score, Truncated: v.Truncated, Info: v.Info}, nil
}

// graded is what a grader is told.
func (r *rollout) graded(c agent.ChatContext) ([]byte, error) {
	printed, _ := r.output.Bytes()
	return json.Marshal(map[string]any{"task": withLabel(c.Task), "output": strings.ToValidUTF8(string(printed), "\uFFFD"), "exit_code": r.code,
		"workspace": r.values["workspace"], "session": c.Address.Session})
}

// grade runs the grader. It does not see the policy's address.
func (r *rollout) grade(ctx context.Context, c agent.ChatContext) (result agent.Result, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.config.Reward.Limit)
	defer cancel()
	told, err := r.graded(c)
	if err != nil {
		return agent.Result{}, err
	}
	// The agent has ended. What it may have left running where child.Apart allows no end of that can still look for the file.
	path, remove, err := write(r.labels, told)
	if err != nil {
		return agent.Result{}, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	words, _ := Words(r.config.Reward.Grader)
	environ := slices.DeleteFunc(r.environ(agent.ChatContext{}), func(e string) bool {
		return strings.HasPrefix(e, "OPENAI_") || strings.HasPrefix(e, "ANTHROPIC_")
	})
	printed := child.Tail{Keep: r.config.Output}
	r.complaints = child.Tail{Keep: r.complaints.Keep}
	code, err := r.execute(ctx, words, append(environ, "MOLT_GRADE_FILE="+path), &printed)
	if err != nil {
		return agent.Result{}, err
	}
	kept, _ := printed.Bytes()
	if result, err := lastLine(kept); err == nil && code == 0 {
		return result, nil
	}
	complained, _ := r.complaints.Bytes()
	switch {
	case code == 0:
		return agent.Result{Reward: 1}, nil
	case code == 1 && !crashed(complained):
		return agent.Result{Reward: 0}, nil
	}
	return agent.Result{}, fmt.Errorf("the grader ended with %s%s", child.Code(code), r.said())
}

// crashed reports whether a Python program ended with an exception that is no failed assertion. Its exit code is 1 as well, and
// a crash must not be graded. The traceback of a test that failed is followed by more.
func crashed(complained []byte) bool {
	at := bytes.LastIndex(complained, []byte("Traceback (most recent call last):\n"))
	if at < 0 {
		return false
	}
	lines := strings.Split(strings.TrimSpace(string(complained[at:])), "\n")[1:]
	for i, line := range lines {
		if line != "" && line[0] != ' ' { // the exception; its message may go on
			return !strings.HasPrefix(line, "AssertionError") && !strings.Contains(strings.Join(lines[i:], "\n"), "\nFAILED (")
		}
	}
	return false
}

// judge asks a language model.
func (r *rollout) judge(ctx context.Context, c agent.ChatContext) (agent.Result, error) {
	printed, _ := r.output.Bytes()
	own := judge.Endpoint{URL: c.Address.OpenAI(), Key: c.Address.Key, Model: c.Address.Model}
	asked := judge.Case{Question: r.values["prompt"], Answer: strings.ToValidUTF8(string(printed), "\uFFFD"), Label: c.Task.Label}
	verdict, err := r.config.Reward.Judge.Grade(ctx, own, asked)
	return agent.Result{Reward: verdict.Score}, err
}

// post asks a server.
func (r *rollout) post(ctx context.Context, c agent.ChatContext) (agent.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, r.config.Reward.Limit)
	defer cancel()
	told, err := r.graded(c)
	if err != nil {
		return agent.Result{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.config.Reward.URL, bytes.NewReader(told))
	if err != nil {
		return agent.Result{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return agent.Result{}, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return agent.Result{}, fmt.Errorf("%s answered %s", r.config.Reward.URL, answer.Status)
	}
	return verdictFrom(answer.Body)
}
