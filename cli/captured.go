package cli

import (
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"molt/gateway/capture"
	"molt/internal/spell"
	"molt/metrics"
	"molt/run/problem"
)

const (
	maxExport = 1 << 30 // bytes of the file of an export
	maxIndent = 20      // columns of a tree; what branches deeper stands in the last
)

// readExport reads what GET /sessions/ID/export answered. A path of - is standard input.
func readExport(path string, stdin io.Reader) (*capture.Export, error) {
	from := stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, notExport(path, err)
		}
		defer f.Close()
		from = f
	}
	data, err := io.ReadAll(io.LimitReader(from, maxExport+1))
	if err == nil && len(data) > maxExport {
		err = fmt.Errorf("it has more than %d bytes", maxExport)
	}
	var e capture.Export
	if err == nil {
		err = json.Unmarshal(data, &e)
	}
	if err == nil {
		err = soundExport(&e)
	}
	if err != nil {
		return nil, notExport(path, err)
	}
	return &e, nil
}

func notExport(path string, err error) error {
	return &problem.Problem{Code: problem.Data, Where: path, What: "this is no export of a session", Why: problem.Reason(err), Fix: "save what GET /sessions/ID/export answers, or name a run folder", Err: err}
}

// soundExport refuses an export whose turns are not a tree or whose lanes have different lengths.
func soundExport(e *capture.Export) error {
	if e.ID == "" || e.Tree == nil || e.Segments == nil {
		return errors.New("id, tree or segments are missing")
	}
	for i, n := range e.Tree {
		if n.Parent < -1 || int(n.Parent) >= i {
			return fmt.Errorf("tree[%d].parent is %d; a turn comes after its parent", i, n.Parent)
		}
	}
	for i, s := range e.Segments {
		if n := len(s.Tokens); len(s.Action) != n || len(s.LogpGen) != n || len(s.Version) != n || len(s.Temp) != n || len(s.Node) != n {
			return fmt.Errorf("segments[%d]: its lanes have different lengths", i)
		}
	}
	return nil
}

// captured is an export for people: what was said, what training sees of it, and whether every token is accounted for.
func captured(e *capture.Export) string {
	var b strings.Builder
	fmt.Fprintf(&b, "captured %s, %d tokens\n", turns(len(e.Tree)), e.Used)
	children := map[int32][]int32{}
	for i, n := range e.Tree {
		children[n.Parent] = append(children[n.Parent], int32(i))
	}
	var show func(at int32, depth int)
	show = func(at int32, depth int) {
		n := &e.Tree[at]
		fmt.Fprintf(&b, "  %s%s\n", strings.Repeat("  ", min(depth, maxIndent)), turnLine(at, n))
		inner := depth + 1
		if len(children[at]) == 1 {
			inner = depth // a conversation that only goes on stays in its column
		}
		for _, child := range children[at] {
			show(child, inner)
		}
	}
	for _, root := range children[-1] {
		show(root, 0)
	}
	if len(e.Segments) > 0 {
		fmt.Fprintf(&b, "segments\n")
	}
	for i, s := range e.Segments {
		train := 0
		for _, action := range s.Action {
			if action {
				train++
			}
		}
		fmt.Fprintf(&b, "  %d  %-10s %6d tokens, %d of them train (%s, %s)\n", i, s.Kind, len(s.Tokens), train, s.Reason, s.Fate)
	}
	b.WriteString(certificate(e))
	return b.String()
}

func turns(n int) string {
	if n == 1 {
		return "1 turn"
	}
	return fmt.Sprintf("%d turns", n)
}

func turnLine(at int32, n *capture.Node) string {
	said := strings.Join(strings.Fields(n.Message.Content), " ")
	for _, call := range n.Message.ToolCalls {
		said += " → " + call.Name + " " + call.Arguments.String()
	}
	line := fmt.Sprintf("turn %d  %d shown, ", at, len(n.Observation))
	switch n := len(n.Images); n {
	case 0:
	case 1:
		line += "1 image, "
	default:
		line += fmt.Sprintf("%d images, ", n)
	}
	line += fmt.Sprintf("%d sampled, %s", len(n.Sampled), n.Finish)
	if n.Kind != capture.Main {
		line += ", " + string(n.Kind)
	}
	if n.Parent < 0 && at > 0 {
		line += ", begins a segment: " + string(n.Reason)
	}
	return line + "  " + metrics.Clean(spell.Cut(said, 60))
}

// certificate says whether every sampled id has its log-prob, and trains once, or not at all where its turn does not train.
func certificate(e *capture.Export) string {
	sampled, logps, apart, trained := 0, 0, 0, 0
	var why []string
	for _, n := range e.Tree {
		sampled, logps = sampled+len(n.Sampled), logps+len(n.LogpGen)
		if n.Untrained != "" {
			apart += len(n.Sampled)
			why = append(why, n.Untrained)
		}
	}
	for _, s := range e.Segments {
		for _, action := range s.Action {
			if action {
				trained++
			}
		}
	}
	slices.Sort(why)
	switch {
	case sampled != logps || sampled != trained+apart || !trainedOnce(e):
		return fmt.Sprintf("NO certificate: %d sampled ids, %d log-probs, %d trained on, %d of turns that do not train\n", sampled, logps, trained, apart)
	case apart > 0:
		return fmt.Sprintf("certificate: %d sampled ids, each with the log-prob it was sampled with; %d are trained on, each in exactly one segment, and %d are not, as their clients demanded (%s)\n",
			sampled, trained, apart, strings.Join(slices.Compact(why), ", "))
	}
	return fmt.Sprintf("certificate: %d sampled ids, each with the log-prob it was sampled with, each trained on in exactly one segment\n", sampled)
}

// trainedOnce reports whether the ids of each turn that trains are the actions of exactly one segment, and no others are.
func trainedOnce(e *capture.Export) bool {
	trained := make([][]int32, len(e.Tree))
	for _, s := range e.Segments {
		for i, action := range s.Action {
			switch n := s.Node[i]; {
			case !action:
			case n < 0 || int(n) >= len(e.Tree):
				return false
			default:
				trained[n] = append(trained[n], s.Tokens[i])
			}
		}
	}
	for i, n := range e.Tree {
		if n.Untrained != "" {
			n.Sampled = nil
		}
		if !slices.Equal(trained[i], n.Sampled) {
			return false
		}
	}
	return true
}
