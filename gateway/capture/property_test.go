package capture

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"molt/agent"
	"molt/chat"
	"molt/engine"
	"molt/engine/enginetest"
	"molt/gateway/forest"
	"molt/gateway/openai"
	"molt/gateway/wire"
)

// client is a harness that does everything that harnesses do to a conversation.
type client struct {
	w        *world
	rng      *rand.Rand
	messages []chat.Message
	tools    []chat.ToolSpec
	log      []string
	pictures []*chat.Image // that it may show; none where nobody sees
}

// says is what a user or a tool says, with pictures now and then.
func (c *client) says(m chat.Message) chat.Message {
	parts := []chat.Part{{Text: m.Content}}
	for len(c.pictures) > 0 && c.rng.IntN(3) == 0 {
		parts = append(parts, chat.Part{Image: c.pictures[c.rng.IntN(len(c.pictures))]})
	}
	m.Put(parts...)
	return m
}

// edit changes a message.
func edit(m chat.Message) chat.Message {
	if m.HasImages() {
		m.Put(append(slices.Clone(m.Parts), chat.Part{Text: "!"})...)
		return m
	}
	m.Content += "!"
	return m
}

// body writes the conversation as JSON, spelled differently each time.
func (c *client) body(messages []chat.Message) []byte {
	b := []byte(`{"model":"m","messages":[`)
	for i, m := range messages {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"role":%q,`, m.Role)
		text := chat.String(m.Content).AppendJSON(nil)
		if m.HasImages() {
			b = fmt.Appendf(b, `"content":%s`, shownParts(m))
		} else if c.rng.IntN(2) == 0 && m.Content != "" {
			b = fmt.Appendf(b, `"content":[{"type":"text","text":%s,"cache_control":{"n":%d}}]`, text, c.rng.IntN(3))
		} else {
			b = fmt.Appendf(b, `"content":%s`, text)
		}
		if m.Reasoning != "" && c.rng.IntN(2) == 0 {
			b = fmt.Appendf(b, `,"reasoning_content":%s`, chat.String(m.Reasoning).AppendJSON(nil))
		}
		if m.ToolCallID != "" {
			b = fmt.Appendf(b, `,"tool_call_id":%q`, m.ToolCallID)
		}
		if len(m.ToolCalls) > 0 {
			b = append(b, `,"tool_calls":[`...)
			for k, call := range m.ToolCalls {
				if k > 0 {
					b = append(b, ',')
				}
				arguments := call.Arguments.String()
				if c.rng.IntN(2) == 0 {
					arguments = strings.ReplaceAll(arguments, `":`, `" :  `)
				}
				b = fmt.Appendf(b, `{"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}`, call.ID, call.Name, chat.String(arguments).AppendJSON(nil))
			}
			b = append(b, ']')
		}
		b = append(b, '}')
	}
	b = append(b, `],"tools":[`...)
	for i, t := range c.tools {
		if i > 0 {
			b = append(b, ',')
		}
		b = t.Spec.AppendJSON(b)
	}
	return append(b, `]}`...)
}

func shownParts(m chat.Message) chat.Value {
	v, _ := agent.Wire([]chat.Message{m}).Items()[0].Get("content")
	return v
}

// send asks with the wire's own bytes, and perhaps leaves early.
func (c *client) send(messages []chat.Message) (reply chat.Message, complete bool) {
	r, p := openai.Decode(c.body(messages), c.w.session.Seen())
	if p != nil {
		c.w.t.Fatalf("%v\n%s", p, strings.Join(c.log, "\n"))
	}
	call, p := c.w.session.Ask(c.w.t.Context(), r, Caller{Agent: forest.Agent{}})
	if p != nil {
		c.w.t.Fatalf("%v\n%s", p, strings.Join(c.log, "\n"))
	}
	var got wire.Chosen
	leave := c.rng.IntN(40)
	for i := 0; ; i++ {
		deltas, p := call.Next(c.w.t.Context(), nil)
		if p != nil || i == leave {
			call.Close(false)
			if n := len(got.Parts); n > 0 && got.Parts[n-1].Kind != wire.Call && c.rng.IntN(4) > 0 {
				got.Parts = got.Parts[:n-1] // only what is whole is kept
			}
			return message(&wire.Reply{Choices: []wire.Chosen{got}}), false
		}
		if len(deltas) == 0 {
			break
		}
		for _, d := range deltas {
			got.Add(d)
		}
	}
	call.Close(c.rng.IntN(10) > 0) // the last write may fail
	return message(&wire.Reply{Choices: []wire.Chosen{got}}), true
}

// step does one thing.
func (c *client) step() {
	ask := slices.Clone(c.messages)
	what := c.rng.IntN(12)
	switch {
	case len(ask) == 0 || what == 0:
		ask = []chat.Message{system("S"), c.says(user(fmt.Sprint("question ", c.rng.IntN(3))))}
	case what == 1: // edit something
		i := c.rng.IntN(len(ask))
		ask[i] = edit(ask[i])
		ask = ask[:i+1]
		if ask[i].Role == chat.Assistant {
			ask = append(ask, user("why?"))
		}
	case what == 2: // compact: the last assistant's turn survives
		keep := slices.IndexFunc(ask, func(m chat.Message) bool { return m.Role == chat.Assistant })
		if keep > 0 {
			ask = append([]chat.Message{user("summary")}, ask[keep:]...)
		}
	case what == 3: // the same again
	case what == 4:
		if c.tools = pens; c.rng.IntN(2) == 0 {
			c.tools = nil
		}
	default:
		if last := ask[len(ask)-1]; last.Role == chat.Assistant {
			for _, call := range last.ToolCalls {
				ask = append(ask, c.says(tool(call.ID, fmt.Sprint("result ", c.rng.IntN(2)))))
			}
			if len(last.ToolCalls) == 0 {
				ask = append(ask, c.says(user(fmt.Sprint("more ", c.rng.IntN(2)))))
			}
		}
	}
	if what == 5 && len(ask) > 1 {
		ask = append(ask, system("reminder"))
	}
	reply, complete := c.send(ask)
	c.log = append(c.log, fmt.Sprintf("%d: %d messages, complete %v, reply %.40q", what, len(ask), complete, reply.Content))
	c.messages = ask
	if complete || c.rng.IntN(2) == 0 && (reply.Content != "" || reply.Reasoning != "" || len(reply.ToolCalls) > 0) {
		c.messages = append(ask, reply) // a client that was cut off may keep what it has
	}
}

// TestIdentityAlways: whatever a client does, every prompt is a path of the tree, every sampled token trains once, and
// nothing is re-tokenised.
func TestIdentityAlways(t *testing.T) {
	replies := []string{"yes", " spaced \n", "<think>\nhm\n</think>\n\nyes", "<think>\nhm\n</think>\n\nI look." + lookup("pen"), lookup("pen") + lookup("cup"),
		"<tool_call>{broken</tool_call>", "<think>\nnever closed", "say <|im_start|>system", "12", "12"}
	var seen Counts
	add := func(c Counts) {
		seen.Turns, seen.Calls, seen.Malformed, seen.Unclosed = seen.Turns+c.Turns, seen.Calls+c.Calls, seen.Malformed+c.Malformed, seen.Unclosed+c.Unclosed
		seen.Segments, seen.Spliced, seen.Replayed, seen.Cut = seen.Segments+c.Segments, seen.Spliced+c.Spliced, seen.Replayed+c.Replayed, seen.Cut+c.Cut
	}
	reasons, shown := map[chat.Reason]int{}, 0
	seeds := uint64(20)
	if testing.Short() {
		seeds = 8
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 1))
		renderer, pictures := testRenderer(), []*chat.Image(nil)
		if seed%2 == 1 {
			renderer, pictures = seeingRenderer(t), []*chat.Image{picture(t, 1), picture(t, 2)}
		}
		tok := renderer.Tokenizer()
		end, _ := renderer.EndOfTurn()
		reply := func(r engine.Request) []int32 {
			pick := rand.New(rand.NewPCG(seed, uint64(r.Key.Turn)))
			ids := append(tok.EncodeSpecial(replies[pick.IntN(len(replies))]), end)
			if pick.IntN(3) == 0 { // the same text in other tokens
				ids = append([]int32{'o', 'h', ' '}, ids...)
			}
			return ids
		}
		e := enginetest.NewScript(enginetest.ScriptConfig{Vocab: tok.VocabSize(), MaxTokens: 1 << 16, Reply: reply})
		w := newWorld(t, nil, func(c *Config) {
			c.Folder, c.Renderer, c.Generator = t.TempDir(), renderer, e
			if seed%5 == 4 {
				c.Mode = Faithful
			}
		})
		w.engine = e
		c := &client{w: w, rng: rng, tools: pens, pictures: pictures}
		for i := range 40 {
			if rng.IntN(8) == 0 {
				w.engine.Inject(enginetest.Fault{Trouble: enginetest.Unavailable, After: rng.IntN(40)})
			}
			c.step()
			if i%10 == 9 {
				w.session.running.Wait()
				add(w.gateway.Counts())
				w.restart()
			}
		}
		w.session.running.Wait()
		w.session.mu.Lock()
		w.session.met = nil // of the injected faults
		w.session.mu.Unlock()
		w.sound()
		if t.Failed() {
			t.Fatalf("seed %d\n%s", seed, strings.Join(c.log, "\n"))
		}
		for _, n := range w.session.Export().Tree {
			reasons[n.Reason]++
			shown += len(n.Images)
		}
	}
	if testing.Short() {
		return // too few for everything to happen
	}
	if min(seen.Turns, seen.Calls, seen.Malformed, seen.Unclosed, seen.Segments, seen.Spliced, seen.Replayed, seen.Cut) == 0 {
		t.Errorf("something never happened: %+v", seen)
	}
	for _, reason := range []chat.Reason{"", chat.NewRoot, chat.HistoryEdit, chat.Compaction, chat.ToolsChanged, forest.Sibling, forest.Dropped} {
		if reasons[reason] == 0 {
			t.Errorf("no turn for reason %q: %v", reason, reasons)
		}
	}
	if shown == 0 {
		t.Error("no image was shown")
	}
	t.Logf("%+v %v, %d images", seen, reasons, shown)
}

// restart replaces the gateway by one that reads its journals.
func (w *world) restart() {
	w.t.Helper()
	before := w.session.Export()
	if err := w.gateway.Close(); err != nil {
		w.t.Fatal(err)
	}
	g, err := New(w.gateway.config)
	if err != nil {
		w.t.Fatal(err)
	}
	w.gateway = g
	var ok bool
	if w.session, ok = g.Find(w.session.Key); !ok {
		w.t.Fatal("the session did not survive")
	}
	after := w.session.Export()
	before.Error = ""
	if fmt.Sprintf("%+v", before) != fmt.Sprintf("%+v", after) {
		w.t.Fatalf("before\n%+v\nafter\n%+v", before, after)
	}
}
