package harnesses

// What must hold whatever a harness does: the engine and the export tell the same story, token by token.

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"molt/gateway/capture"
	"molt/gateway/script"
	"molt/traj"
)

// identity compares every turn with what the engine was given and returned for it, and every segment with its turns.
func identity(r *result) error {
	for i := range r.export.Tree {
		if err := r.turn(i); err != nil {
			return fmt.Errorf("turn %d: %w", i, err)
		}
	}
	if r.export.Error != "" {
		return fmt.Errorf("the session says: %s", r.export.Error)
	}
	return r.trained()
}

// turn compares one turn. A turn that was taken up again after its engine broke off was several calls.
func (r *result) turn(i int) error {
	n := &r.export.Tree[i]
	shown, said := r.path(i), []int32(nil)
	shown = shown[:len(shown)-len(n.Sampled)]
	called := false
	for _, c := range r.calls {
		if !strings.Contains(c.tag, fmt.Sprintf(" request %d ", n.Request)) {
			continue
		}
		called = true
		if !slices.Equal(c.prompt, slices.Concat(shown, said)) {
			return fmt.Errorf("the engine was given %d ids that are not the path of %d", len(c.prompt), len(shown)+len(said))
		}
		said = append(said, c.said...)
	}
	switch {
	case !called:
		return fmt.Errorf("the engine never answered it")
	case len(n.Sampled) > len(said) || !slices.Equal(n.Sampled, said[:len(n.Sampled)]):
		return fmt.Errorf("the engine returned %d ids, the turn has other %d", len(said), len(n.Sampled))
	case len(n.Sampled) < len(said) && n.Finish == traj.FinishStop:
		return fmt.Errorf("the turn ended by itself, but has %d of the %d ids that the engine returned", len(n.Sampled), len(said))
	case !r.spliced(n):
		return fmt.Errorf("it carries turns %v, but is not shown their ids", n.Spliced)
	case len(n.LogpGen) != len(n.Sampled) || len(n.Version) != len(n.Sampled):
		return fmt.Errorf("%d ids, %d log-probs, %d versions", len(n.Sampled), len(n.LogpGen), len(n.Version))
	}
	return nil
}

// spliced reports whether the turns that one carries stand in what it was shown, token for token and in order.
func (r *result) spliced(n *capture.Node) bool {
	rest := n.Observation
	for _, i := range n.Spliced {
		said := r.export.Tree[i].Sampled
		for len(rest) >= len(said) && !slices.Equal(rest[:len(said)], said) {
			rest = rest[1:]
		}
		if len(rest) < len(said) {
			return false
		}
		rest = rest[len(said):]
	}
	return true
}

// path is every id from the root of a turn to its end.
func (r *result) path(i int) (ids []int32) {
	n := &r.export.Tree[i]
	if n.Parent >= 0 {
		ids = r.path(int(n.Parent))
	}
	return slices.Concat(ids, n.Observation, n.Sampled)
}

// trained checks that segments are paths, that nothing trains that was not sampled, and that what was sampled trains once; not at all
// in a turn that says so.
func (r *result) trained() error {
	times := make([][]int, len(r.export.Tree))
	for i := range times {
		times[i] = make([]int, len(r.export.Tree[i].Sampled))
	}
	for k, s := range r.export.Segments {
		if !slices.Equal(s.Tokens, r.path(s.Leaf)) {
			return fmt.Errorf("segment %d is not the path of turn %d", k, s.Leaf)
		}
		at := 0
		for at < len(s.Tokens) {
			node := s.Node[at]
			n := &r.export.Tree[node]
			for j := range len(n.Observation) + len(n.Sampled) {
				if own := j - len(n.Observation); s.Action[at+j] && own < 0 {
					return fmt.Errorf("segment %d trains on a token of turn %d that was shown", k, node)
				} else if s.Action[at+j] {
					times[node][own]++
				}
			}
			at += len(n.Observation) + len(n.Sampled)
		}
	}
	for i := range times {
		want := 1
		if r.export.Tree[i].Untrained != "" {
			want = 0
		}
		if j := slices.IndexFunc(times[i], func(n int) bool { return n != want }); j >= 0 {
			return fmt.Errorf("turn %d: sampled token %d trains %d times", i, j, times[i][j])
		}
	}
	return nil
}

// said are the texts of the turns of a kind, in order.
func (r *result) said(kind capture.Kind) (texts []string) {
	for _, n := range r.export.Tree {
		if n.Kind == kind {
			texts = append(texts, decode(n.Sampled))
		}
	}
	return texts
}

func (r *result) segments(kind capture.Kind) (found []capture.Segment) {
	for _, s := range r.export.Segments {
		if s.Kind == kind {
			found = append(found, s)
		}
	}
	return found
}

func decode(ids []int32) string {
	r, err := script.Model()
	if err != nil {
		return err.Error()
	}
	return r.Tokenizer().Decode(ids)
}

// tree is a short account of what was captured, for errors.
func (r *result) tree() string {
	var b strings.Builder
	fmt.Fprintf(&b, "exit code %d, %d requests, %d calls of the engine\n", r.code, len(r.bodies), len(r.calls))
	for i, n := range r.export.Tree {
		fmt.Fprintf(&b, "  turn %d behind %d: %s %+v %s %s %s spliced %v, %d shown, %.200q\n", i, n.Parent, n.Kind, n.Agent, n.Reason, n.Fate, n.Finish, n.Spliced,
			len(n.Observation), decode(n.Sampled))
	}
	for i, s := range r.export.Segments {
		fmt.Fprintf(&b, "  segment %d: %s %s %s, %d tokens, leaf %d\n", i, s.Kind, s.Reason, s.Fate, len(s.Tokens), s.Leaf)
	}
	fmt.Fprintf(&b, "  files %q\n  it printed …%s", r.work, r.output[max(0, len(r.output)-1500):])
	return b.String()
}

var (
	remote   = regexp.MustCompile(`sin_port=htons\((\d+)\), sin_addr=inet_addr\("([^"]+)"\)|sin6_port=htons\((\d+)\).*inet_pton\(AF_INET6, "([^"]+)"`)
	loopback = regexp.MustCompile(`^(127\.|::1$|::ffff:127\.)`)
)

// abroad lists the addresses that a trace connects to, other than those of this machine; look-ups of names as such.
func abroad(trace string) []string {
	var found []string
	for _, m := range remote.FindAllStringSubmatch(trace, -1) {
		port, host := m[1]+m[3], m[2]+m[4]
		switch {
		case port == "53":
			found = append(found, "a look-up of a name")
		case !loopback.MatchString(host) && port != "0":
			found = append(found, host+":"+port)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
