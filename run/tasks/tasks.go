// Prompts become tasks: rows of JSONL files, read with the configured keys.

package tasks

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"molt/agent"
	"molt/chat"
	"molt/prompts"
	"molt/run/problem"
)

// Source deals out training tasks in the order of a prompt stream. It implements rollout.Source.
type Source struct{ Stream *prompts.Stream }

// Next implements rollout.Source.
func (s *Source) Next() (agent.Task, error) {
	p, ok := s.Stream.Next()
	if !ok {
		return agent.Task{}, io.EOF
	}
	return Of(p.Source, p)
}

// Cursor implements rollout.Source.
func (s *Source) Cursor() (json.RawMessage, error) { return json.Marshal(s.Stream.Cursor()) }

// Seek goes to where Cursor was taken.
func (s *Source) Seek(raw json.RawMessage) error {
	var c prompts.Cursor
	if err := json.Unmarshal(raw, &c); err != nil {
		return fmt.Errorf("tasks: the checkpoint's place in the prompts: %w", err)
	}
	return s.Stream.Seek(c)
}

// Of turns a row of a file into what an environment is given.
func Of(file string, p prompts.Prompt) (agent.Task, error) {
	t := agent.Task{ID: p.ID, Source: p.Source, Label: p.Label, Seed: p.Seed}
	if p.Messages == nil {
		t.Messages = []chat.Message{{Role: chat.User, Content: p.Input}}
	} else {
		v, err := chat.ParseValue(p.Messages)
		if err == nil {
			t.Messages, err = chat.DecodeMessages(v)
		}
		if err != nil {
			return t, Problem(file, p, err)
		}
	}
	if p.Tools != nil {
		v, err := chat.ParseValue(p.Tools)
		if err == nil {
			t.Tools, err = chat.DecodeTools(v)
		}
		if err != nil {
			return t, Problem(file, p, err)
		}
	}
	return t, nil
}

func Problem(file string, p prompts.Prompt, err error) error {
	return &problem.Problem{Code: problem.Data, Where: fmt.Sprintf("%s: row %s", file, p.ID), What: err.Error(), Fix: "mend the row", Err: err}
}

// setNames names each file by the shortest end of its path that tells it from the others, without the extension. Names are
// part of what a seed means, so a run gives the same bits wherever its files lie.
func setNames(files []string) []string {
	names := make([]string, len(files))
	for i, file := range files {
		parts := strings.Split(filepath.ToSlash(strings.TrimSuffix(file, filepath.Ext(file))), "/")
		for n := 1; n <= len(parts); n++ {
			names[i] = strings.Join(parts[len(parts)-n:], "/")
			if unique(names[i], file, files) {
				break
			}
		}
	}
	return names
}

// unique reports whether no other file's path ends like this.
func unique(name, file string, files []string) bool {
	return !slices.ContainsFunc(files, func(other string) bool {
		return other != file && strings.HasSuffix("/"+filepath.ToSlash(strings.TrimSuffix(other, filepath.Ext(other))), "/"+name)
	})
}

// Set is a prompt set and the file that it was read from.
type Set struct {
	*prompts.Set
	File string
}

// Tasks lists the set as tasks, in the order of the file.
func (s *Set) Tasks(seed uint64) ([]agent.Task, error) {
	var tasks []agent.Task
	for _, p := range s.All(seed) {
		t, err := Of(s.File, p)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// Read reads prompt files.
func Read(files []string, weights []float64, keys prompts.Keys, maxSamples int) ([]*Set, error) {
	var sets []*Set
	names := setNames(files)
	for i, file := range files {
		if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			return nil, &problem.Problem{Code: problem.Data, Where: file, What: "not a file that can be read twice, as resuming needs", Fix: "write the rows into a file"}
		}
		c := prompts.SetConfig{Name: names[i], Path: file, Keys: keys, MaxSamples: maxSamples}
		if len(weights) > 0 {
			c.Weight = weights[i]
		}
		set, err := prompts.Load(c)
		if err != nil {
			return nil, fileProblems(file, keys, err)
		}
		sets = append(sets, &Set{set, file})
	}
	return sets, nil
}

// fileProblems are everything that is wrong with a prompt file.
func fileProblems(file string, keys prompts.Keys, err error) error {
	found, ok := errors.AsType[prompts.Problems](err)
	if !ok {
		return &problem.Problem{Code: problem.Data, Where: file, What: "cannot read it", Why: problem.Reason(err), Fix: "check the path and the data settings", Err: err}
	}
	var list []error
	for _, f := range found.List {
		p := &problem.Problem{Code: problem.Data, Where: f.File, What: f.What, Fix: f.Fix, Err: err}
		if f.Line > 0 {
			p.Where = fmt.Sprintf("%s:%d", f.File, f.Line)
		}
		if f.Field != "" {
			p.What = fmt.Sprintf("key %q: %s", f.Field, f.What)
		}
		if f.What == prompts.Missing && (f.Field == keys.Input || f.Field == keys.Messages) {
			p.Fix += "; --data.input_key names it"
		}
		list = append(list, p)
	}
	if found.More > 0 {
		list = append(list, &problem.Problem{Code: problem.Data, Where: file, What: fmt.Sprintf("and %d problems more", found.More), Fix: "mend those first", Err: err})
	}
	return errors.Join(list...)
}

// Plain forgets the files.
func Plain(sets []*Set) []*prompts.Set {
	out := make([]*prompts.Set, len(sets))
	for i, s := range sets {
		out[i] = s.Set
	}
	return out
}

// HeldOut lists the evaluation tasks of the sets, in the order of the files.
func HeldOut(sets []*Set, seed uint64) ([]agent.Task, error) {
	var all []agent.Task
	for _, set := range sets {
		tasks, err := set.Tasks(seed)
		if err != nil {
			return nil, err
		}
		all = append(all, tasks...)
	}
	return all, nil
}

// Digests adds what the files hold to inputs, so that a run is not resumed on other data.
func Digests(inputs map[string]string, files []string) (map[string]string, error) {
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, &problem.Problem{Code: problem.Data, Where: file, What: "cannot read it", Why: problem.Reason(err), Fix: "check the path", Err: err}
		}
		sum := sha256.Sum256(data)
		inputs["data "+file] = hex.EncodeToString(sum[:8])
	}
	return inputs, nil
}

// None is a source without training tasks.
type None struct{}

// Next implements rollout.Source.
func (None) Next() (agent.Task, error) { return agent.Task{}, io.EOF }

// Cursor implements rollout.Source.
func (None) Cursor() (json.RawMessage, error) { return json.RawMessage("null"), nil }
