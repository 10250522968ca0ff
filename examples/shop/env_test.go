package shop

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"molt/agent"
	"molt/chat"
	"molt/chat/parse"
	"molt/traj"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pensAndCups is 3 pens at 4 and 2 cups at 7.
func pensAndCups() Row {
	list := List{Buy: []Entry{{3, "pen", 4}, {2, "cup", 7}}, Total: 26}
	return Row{ID: "pens-and-cups", Input: list.question(), Label: list}
}

func rehearse(t *testing.T, row Row, replies ...string) (*traj.Rollout, []string) {
	t.Helper()
	rollout, said := agent.Rehearse(t.Context(), New, row.Task(), replies...)
	if err := rollout.Validate(agent.ScriptedEnd+1, 0); err != nil {
		t.Error(err)
	}
	var seen []string
	for _, m := range said.Messages {
		if m.Role == chat.Tool {
			seen = append(seen, m.Content)
		}
	}
	return rollout, seen
}

func TestEpisode(t *testing.T) {
	const (
		pen   = `<tool_call>{"name": "lookup", "arguments": {"item": "pen"}}</tool_call>`
		cup   = `<tool_call>{"name": "lookup", "arguments": {"item": "cup"}}</tool_call>`
		sum   = `<tool_call>{"name": "calc", "arguments": {"expression": "3*4+2*7"}}</tool_call>`
		right = `<answer>26</answer>`
	)
	tests := []struct {
		name    string
		replies []string
		seen    []string
		outcome traj.Outcome
		reward  float64
	}{
		{"as it should be", []string{pen, cup, sum, right}, []string{"4", "7", "26"}, traj.Completed, 1},
		{"guessed", []string{right}, nil, traj.Completed, 1},
		{"several calls at once", []string{pen + "\n" + cup, sum, right}, []string{"4", "7", "26"}, traj.Completed, 1},
		{"an answer beside a call counts", []string{right + pen}, nil, traj.Completed, 1},
		{"text around the answer", []string{"They cost " + right + "."}, nil, traj.Completed, 1},

		{"wrong", []string{`<answer>7</answer>`}, nil, traj.Completed, 0},
		{"no number", []string{`<answer>26.0</answer>`}, nil, traj.Completed, 0},
		{"blanks", []string{`<answer> 26</answer>`}, nil, traj.Completed, 0},
		{"leading zero", []string{`<answer>026</answer>`}, nil, traj.Completed, 0},
		{"empty", []string{`<answer></answer>`}, nil, traj.Completed, 0},
		{"two answers", []string{`<answer>26</answer><answer>27</answer>`}, nil, traj.Completed, 0},
		{"an answer in an answer", []string{`<answer>7<answer>26</answer>`}, nil, traj.Completed, 0},
		{"only thought of", []string{`<think><answer>26</answer></think>Hm.`, `<answer>7</answer>`}, []string{"error: no call and no answer"}, traj.Completed, 0},

		{"open answer", []string{`<answer>26`, right}, []string{"error: no call and no answer"}, traj.Completed, 1},
		{"chatter", []string{"Hello!", right}, []string{"error: no call and no answer"}, traj.Completed, 1},
		{"silence", []string{"", right}, []string{"error: no call and no answer"}, traj.Completed, 1},
		{"plural", []string{toolCall("lookup", "item", "pens"), right}, []string{"error: unknown item"}, traj.Completed, 1},
		{"no item", []string{`<tool_call>{"name": "lookup", "arguments": {}}</tool_call>`, right}, []string{"error: unknown item"}, traj.Completed, 1},
		{"an item that is no text", []string{`<tool_call>{"name": "lookup", "arguments": {"item": ["pen"]}}</tool_call>`, right},
			[]string{"error: unknown item"}, traj.Completed, 1},
		{"unknown tool", []string{toolCall("rm", "item", "pen"), right}, []string{"error: unknown tool"}, traj.Completed, 1},
		{"bad expression", []string{toolCall("calc", "expression", "3 * 4"), right}, []string{"error: bad expression"}, traj.Completed, 1},
		{"bad JSON", []string{`<tool_call>{"name": "lookup",}</tool_call>`, right}, []string{"error: bad call"}, traj.Completed, 1},
		{"a good call and a bad one", []string{pen + `<tool_call>{</tool_call>`, right}, []string{"4", "error: bad call"}, traj.Completed, 1},

		{"six turns", []string{pen, pen, pen, pen, pen, right}, []string{"4", "4", "4", "4", "4"}, traj.Completed, 1},
		{"seven turns", []string{pen, pen, pen, pen, pen, pen, right}, []string{"4", "4", "4", "4", "4"}, traj.Truncated, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, seen := rehearse(t, pensAndCups(), test.replies...)
			if got.Outcome != test.outcome || got.Reward != test.reward || got.Score != test.reward {
				t.Errorf("%s with reward %v, score %v; want %s with %v", got.Outcome, got.Reward, got.Score, test.outcome, test.reward)
			}
			if diff := cmp.Diff(test.seen, seen); diff != "" {
				t.Errorf("observations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAReplyThatWasCutOffEndsTheEpisode(t *testing.T) {
	env := New()
	row := pensAndCups()
	if _, err := env.Reset(t.Context(), row.Task()); err != nil {
		t.Fatal(err)
	}
	reply := chat.Reply{Message: chat.Message{Role: chat.Assistant, Content: "<answer>26</answer> and"}, Finish: traj.FinishLength}
	got, err := env.Step(t.Context(), agent.Action{Reply: reply})
	if err != nil || !got.Truncated || got.Terminated || got.Reward != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestInfoCountsCalls(t *testing.T) {
	got, _ := rehearse(t, pensAndCups(), toolCall("lookup", "item", "pens"), toolCall("calc", "expression", "1+1"), "<answer>2</answer>")
	if want := map[string]float64{"calls_to_calc": 1, "errors": 1}; !cmp.Equal(got.Info, want) {
		t.Errorf("info %v; want %v", got.Info, want)
	}
}

func TestABadLabelIsAFailureOfTheEnvironment(t *testing.T) {
	task := agent.Task{ID: "row-9", Label: "26"}
	got, _ := agent.Rehearse(t.Context(), New, task, "<answer>26</answer>")
	if got.Outcome != traj.Harness || !strings.HasPrefix(got.Detail, "Reset: shop: label of task row-9: ") {
		t.Errorf("%s: %s", got.Outcome, got.Detail)
	}
}

// Every item has one price in an episode, and the prices of other episodes are others.
func TestPricesOfWhatIsNotOnTheList(t *testing.T) {
	prices := func(row Row) (all []string) {
		for _, item := range items {
			_, seen := rehearse(t, row, toolCall("lookup", "item", item), toolCall("lookup", "item", item), "<answer>0</answer>")
			price, err := strconv.Atoi(seen[0])
			if err != nil || price < 2 || price > 9 || seen[1] != seen[0] {
				t.Errorf("%s costs %q", item, seen)
			}
			all = append(all, seen[0])
		}
		return all
	}
	other := pensAndCups()
	other.Label = List{Buy: []Entry{{1, "pen", 9}, {2, "cup", 7}}, Total: 23}
	a, b := prices(pensAndCups()), prices(other)
	same := 0
	for i := range a {
		if a[i] == b[i] {
			same++
		}
	}
	if same > 12 {
		t.Errorf("%d of 24 prices are the same in two episodes: %v, %v", same, a, b)
	}
}

func TestThePerfectPolicyAlwaysEarnsTheReward(t *testing.T) {
	for _, split := range []Split{Train, HeldOut} {
		for _, row := range Tasks(split, 3, 1000) {
			got, _ := rehearse(t, row, replies(&row.Label, slips{})...)
			if got.Reward != 1 || got.Turns() != 4 || got.Outcome != traj.Completed {
				t.Errorf("%s: %s with reward %v after %d turns", row.Input, got.Outcome, got.Reward, got.Turns())
			}
		}
	}
}

// FuzzStep says hostile things, turn by turn.
func FuzzStep(f *testing.F) {
	f.Add("<answer>26</answer>", "", "")
	f.Add(toolCall("lookup", "item", "pens"), toolCall("calc", "expression", "9*9*9*9*9*9*9*9*9*9*9*9"), "<answer>2<answer>6</answer>")
	f.Add(`<tool_call>{"name": "calc", "arguments": {"expression": -1e999}}</tool_call>`, "<tool_call>", "<think>")
	f.Add(strings.Repeat("<tool_call>{}</tool_call>", 100), "\xff\x00", `<tool_call>{"name": "lookup", "arguments": {"item": "\ud800"}}</tool_call>`)
	f.Fuzz(func(t *testing.T, a, b, c string) {
		env, row := New(), pensAndCups()
		if _, err := env.Reset(context.Background(), row.Task()); err != nil {
			t.Fatal(err)
		}
		for turn := range Turns {
			text := []string{a, b, c}[turn%3]
			said := parse.Hermes()(text, "", nil)
			action := agent.Action{Reply: chat.Reply{Message: said.Message, Text: text, Malformed: said.Malformed}, Turn: turn}
			r, err := env.Step(context.Background(), action)
			switch {
			case err != nil:
				t.Fatal(err)
			case r.Reward != 0 && (r.Reward != 1 || !strings.Contains(text, "<answer>26</answer>")):
				t.Fatalf("%q earns %v", text, r.Reward)
			case !r.Terminated && len(r.Observation) == 0:
				t.Fatalf("%q: neither an observation nor an end", text)
			case len(r.Observation) > 1+len(said.Message.ToolCalls):
				t.Fatalf("%q: %d observations", text, len(r.Observation))
			case turn == Turns-1 && !r.Terminated && !r.Truncated:
				t.Fatal("a seventh turn")
			}
			for _, m := range r.Observation {
				if len(m.Content) > 30 || m.Role != chat.Tool {
					t.Fatalf("%q: observation %+v", text, m)
				}
			}
			if r.Terminated || r.Truncated {
				return
			}
		}
	})
}

func ExampleTasks() {
	row := Tasks(HeldOut, 0, 1)[0]
	rollout, said := agent.Rehearse(context.Background(), New, row.Task(), replies(&row.Label, slips{})...)
	for _, m := range said.Messages {
		fmt.Printf("%s: %s", m.Role, m.Content)
		for _, call := range m.ToolCalls {
			fmt.Printf("%s %v", call.Name, call.Arguments)
		}
		fmt.Println()
	}
	fmt.Println("reward", rollout.Reward)
	// Output:
	// user: What do 5 books and 2 mugs cost?
	// assistant: lookup {"item":"book"}
	// tool: 6
	// assistant: lookup {"item":"mug"}
	// tool: 8
	// assistant: calc {"expression":"5*6+2*8"}
	// tool: 46
	// assistant: <answer>46</answer>
	// reward 1
}
