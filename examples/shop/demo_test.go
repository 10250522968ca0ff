package shop

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molt/chat"
)

func TestSlips(t *testing.T) {
	lookup := func(item string) string {
		return "<tool_call>\n{\"name\": \"lookup\", \"arguments\": {\"item\": \"" + item + "\"}}\n</tool_call>"
	}
	calc := func(expression string) string {
		return "<tool_call>\n{\"name\": \"calc\", \"arguments\": {\"expression\": \"" + expression + "\"}}\n</tool_call>"
	}
	pen, cup := lookup("pen"), lookup("cup")
	tests := []struct {
		name   string
		slips  slips
		want   []string
		reward float64
	}{
		{"none", slips{}, []string{pen, cup, calc("3*4+2*7"), "<answer>26</answer>"}, 1},
		{"shortcut", slips{shortcut: true}, []string{pen, cup, "<answer>7</answer>"}, 0},
		{"skip", slips{skip: true}, []string{pen, calc("3*4+2*4"), "<answer>20</answer>"}, 0},
		{"skip and shortcut", slips{skip: true, shortcut: true}, []string{pen, "<answer>4</answer>"}, 0},
		{"a wrong operator", slips{operator: 1}, []string{pen, cup, calc("3+4+2*7"), "<answer>21</answer>"}, 0},
		{"only plus", slips{operator: 2}, []string{pen, cup, calc("3+4+2+7"), "<answer>16</answer>"}, 0},
		{"only times", slips{operator: 3}, []string{pen, cup, calc("3*4*2*7"), "<answer>168</answer>"}, 0},
		{"first quantity", slips{drop: 1}, []string{pen, cup, calc("4+2*7"), "<answer>18</answer>"}, 0},
		{"second quantity", slips{drop: 2}, []string{pen, cup, calc("3*4+7"), "<answer>19</answer>"}, 0},
		{"first item", slips{drop: 3}, []string{pen, cup, calc("2*7"), "<answer>14</answer>"}, 0},
		{"second item", slips{drop: 4}, []string{pen, cup, calc("3*4"), "<answer>12</answer>"}, 0},
		{"drop and operator", slips{drop: 2, operator: 3}, []string{pen, cup, calc("3*4*7"), "<answer>84</answer>"}, 0},
		{"plurals", slips{plural: [2]bool{true, true}},
			[]string{lookup("pens"), pen, lookup("cups"), cup, calc("3*4+2*7"), "<answer>26</answer>"}, 1},
		{"a plural never said", slips{plural: [2]bool{false, true}, skip: true}, []string{pen, calc("3*4+2*4"), "<answer>20</answer>"}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			row := pensAndCups()
			got := replies(&row.Label, test.slips)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("replies (-want +got):\n%s", diff)
			}
			if r, _ := rehearse(t, row, got...); r.Reward != test.reward || r.Turns() != len(got) {
				t.Errorf("reward %v after %d of %d turns; want %v", r.Reward, r.Turns(), len(got), test.reward)
			}
		})
	}
}

// The demonstrator succeeds as rarely as the recipe wants, and never shows a held-out pair.
func TestDemos(t *testing.T) {
	const n = 10_000
	earned, shortcuts, skips, plurals, turns := 0.0, 0, 0, 0, 0
	for i := range n {
		said, reward := demonstrate(1, i)
		earned += reward
		if err := said.Validate(); err != nil {
			t.Fatal(err)
		}
		calls, text := 0, ""
		for _, m := range said.Messages {
			if m.Role == chat.Assistant {
				turns++
			}
			for _, call := range m.ToolCalls {
				calls++
				text += call.Arguments.String()
			}
			if strings.HasPrefix(m.Content, "error") {
				plurals++
				calls--
			}
		}
		if !strings.Contains(text, "expression") {
			shortcuts++
			calls++
		}
		if calls == 2 {
			skips++
		}
		asksForHeldOut(t, said.Messages[0].Content)
	}
	between := func(what string, got, low, high float64) {
		if got < low || got > high {
			t.Errorf("%s: %.4f; want %v to %v", what, got, low, high)
		}
	}
	between("success", earned/n, 0.27, 0.29)
	between("shortcuts", float64(shortcuts)/n, 0.64, 0.66)
	between("skipped lookups", float64(skips)/n, 0.045, 0.055)
	between("plurals", float64(plurals)/n, 0.185, 0.205) // 10 % of 1.95 lookups
	between("turns", float64(turns)/n, 3.4, 3.6)
}

func asksForHeldOut(t *testing.T, question string) {
	t.Helper()
	words := strings.Fields(strings.TrimSuffix(question, " cost?")) // What do 3 pens and 2 cups
	pair := [2]string{words[3], words[6]}
	for i := range pair {
		if !slices.Contains(items, pair[i]) {
			pair[i] = strings.TrimSuffix(pair[i], "s")
		}
	}
	slices.Sort(pair[:])
	if slices.Contains(heldOutPairs, pair) || !slices.Contains(trainPairs, pair) {
		t.Errorf("%q is about a held-out pair, or about none: %v", question, pair)
	}
}

func TestDemosRepeat(t *testing.T) {
	for i := range 20 {
		if !cmp.Equal(Demo(5, i), Demo(5, i), cmp.Comparer(chat.Value.Equal)) {
			t.Errorf("demonstration %d differs from itself", i)
		}
	}
	if cmp.Equal(Demo(5, 0), Demo(6, 0), cmp.Comparer(chat.Value.Equal)) || cmp.Equal(Demo(5, 0), Demo(5, 1), cmp.Comparer(chat.Value.Equal)) {
		t.Error("demonstrations do not differ")
	}
}

// What is imitated is, byte for byte, what a policy would have to say.
func TestADemoRendersAsItWasSaid(t *testing.T) {
	template := chat.Builtin()
	for i := range 50 {
		d := diceFor(2, forDemo, i)
		list := draw(&d, trainPairs)
		text, err := template.Render(Demo(2, i), false)
		if err != nil {
			t.Fatal(err)
		}
		for _, reply := range replies(&list, drawSlips(&d)) {
			said := "<|im_start|>assistant\n" + reply + "<|im_end|>\n"
			if !strings.Contains(text, said) {
				t.Errorf("demonstration %d does not contain %q:\n%s", i, said, text)
			}
			text = text[strings.Index(text, said)+len(said):]
		}
		if text != "" {
			t.Errorf("demonstration %d ends with %q", i, text)
		}
	}
}

func BenchmarkDemo(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		Demo(1, i)
	}
}
