package answer

import (
	"bufio"
	"encoding/json/v2"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"molt/agent"
	"molt/chat"
	"molt/traj"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCorrect(t *testing.T) {
	tests := []struct {
		reply, label string
		want         bool
	}{
		// Where the answer is.
		{"<answer>72</answer>", "72", true},
		{"<answer>71</answer> no, <answer>72</answer>", "72", true},
		{"<answer>72</answer> no, <answer>71</answer>", "72", false},
		{"<answer>71<answer>72</answer>", "72", true},
		{"<answer>72</answer> or 71", "72", true},
		{"<answer>72</answer> \\boxed{71} #### 71", "72", true},
		{"</answer>72<answer>", "72", true}, // no pair: the last number
		{"<answer>72", "72", true},
		{`\boxed{71} so \boxed{72}`, "72", true},
		{`\boxed{72} then \boxed{71`, "72", true},
		{`\boxed{72} #### 71`, "72", true},
		{`\boxed{\frac{1}{2}}`, `\frac{1}{2}`, true},
		{`\boxed{\frac{1}{2}`, `\frac{1}{2}`, false},
		{`\boxed{1} \boxed{\boxed{2}}`, `2`, true},
		{"#### 71\n#### 72\nThat was easy.", "72", true},
		{"48/2 = 24, 48+24 = 72.", "72", true},
		{"It is 72, I think.", "72", true},
		{"It is 72, not 71.", "72", false},
		{"seventy-two", "72", false},
		{"", "72", false},
		{"Paris", "Paris", true},
		{" Paris.\n", "Paris", true},
		{"It is Paris", "Paris", false},
		{"paris", "Paris", false},
		{"<answer>Paris</answer>", "Paris", true},
		{"<answer></answer>", "Paris", false},

		// Where the label's answer is.
		{"72", "48/2 = <<48/2=24>>24\n48+24 = 72\n#### 72", true},
		{"71", "48/2 = <<48/2=24>>24\n48+24 = 72\n#### 72", false},
		{"24", "#### 72 of 24", false},
		{"5", `so \boxed{5}`, true},
		{"b", "<answer>b</answer>", true},
		{"", "#### ", false},

		// Numbers.
		{"12", "12.0", true},
		{"12.50", "12.5", true},
		{"12.", "12", true},
		{"0.5", ".5", true},
		{"1,234,567", "1234567", true},
		{"<answer>12,34</answer>", "1234", false},
		{"<answer>1,2</answer>", "12", false},
		{"<answer>12 </answer>", "012", true},
		{"<answer>+12</answer>", "12", true},
		{"<answer>-0</answer>", "0", true},
		{"<answer>-5</answer>", "5", false},
		{"$72", "72", true},
		{"$72.00.", "72", true},
		{"<answer>$72$</answer>", "72", true},
		{`\boxed{\$72}`, "72", true},
		{`<answer>$1,200.50</answer>`, "$1200.5", true},
		{"<answer>72%</answer>", "72", false},
		{"<answer>7e1</answer>", "70", false},
		{"<answer>1e999999999</answer>", "1e999999999", true}, // as text: nothing is computed
		{"it fell by -$5", "-5", true},
		{"it fell to -5", "-5", true},
		{"8-5", "5", true},
		{"8-5", "-5", false},
		{"(3+5)-2", "2", true},
		{"COVID-19", "19", true},
		{"1,000 or 2", "2", true},
		{"pay 1,000.", "1000", true},
		{"72 clips", "72", true},
		{strings.Repeat("9", 400), strings.Repeat("9", 400) + ".0", true},
		{strings.Repeat("9", 400), strings.Repeat("9", 399) + "8", false},
	}
	for _, test := range tests {
		if got := Correct(test.reply, test.label); got != test.want {
			t.Errorf("Correct(%q, %q) = %v", test.reply, test.label, got)
		}
	}
}

func TestEnv(t *testing.T) {
	task := agent.Task{ID: "3", Messages: []chat.Message{{Role: chat.User, Content: "48+24?"}}, Label: "#### 72"}
	tests := []struct {
		name, reply    string
		reward, marked float64
	}{
		{"right", "It is <answer>72</answer>.", 1, 1},
		{"right without a mark", "It is 72.", 1, 0},
		{"wrong", "It is 71.", 0, 0},
		{"only thought of", "<think>72</think>Hm.", 0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, _ := agent.Rehearse(t.Context(), New, task, test.reply)
			if got.Outcome != traj.Completed || got.Reward != test.reward || got.Score != test.reward || got.Info["marked"] != test.marked {
				t.Errorf("%+v", got)
			}
		})
	}
	task.Label = " \n"
	got, _ := agent.Rehearse(t.Context(), New, task, "72")
	if got.Outcome != traj.Harness || got.Detail != "Reset: answer: there is no label to compare with" {
		t.Errorf("without a label: %s, %s", got.Outcome, got.Detail)
	}
}

func TestAReplyThatWasCutOff(t *testing.T) {
	for reply, want := range map[string]float64{"48+24 is 72": 0, "<answer>72</answer> because": 1} {
		env := New()
		if _, err := env.Reset(t.Context(), agent.Task{Label: "72"}); err != nil {
			t.Fatal(err)
		}
		cut := chat.Reply{Message: chat.Message{Role: chat.Assistant, Content: reply}, Finish: traj.FinishLength}
		got, err := env.Step(t.Context(), agent.Action{Reply: cut})
		if err != nil || !got.Truncated || got.Terminated || got.Reward != want {
			t.Errorf("%q: %+v, %v", reply, got, err)
		}
	}
}

// Hostile replies are read in linear time: a million brackets take no longer than a million letters.
func TestLongReplies(t *testing.T) {
	begin := time.Now()
	for _, unit := range []string{`\boxed{`, "<answer>", "</answer>", "#### ", "1,", "-$", "$", `\$`, "}"} {
		if Correct(strings.Repeat(unit, 1<<20/len(unit)), "72") {
			t.Errorf("%q is right", unit)
		}
	}
	if took := time.Since(begin); took > 5*time.Minute { // what is not linear takes days
		t.Errorf("it took %v", took)
	}
}

// The worked solutions of GSM8K answer their own questions, and not those of their neighbours.
func TestGSM8K(t *testing.T) {
	solutions := gsm8k(t)
	wrong, neighbours, unmarked := 0, 0, 0
	for i, s := range solutions {
		if !Correct(s, s) {
			wrong++
			t.Errorf("row %d: %q", i, s)
		}
		if Correct(solutions[(i+1)%len(solutions)], s) {
			neighbours++
		}
		reasoning, _, _ := strings.Cut(s, "####")
		if Correct(reasoning, s) {
			unmarked++
		}
	}
	t.Logf("%d of %d wrong; %d neighbours agree; %d found without the mark", wrong, len(solutions), neighbours, unmarked)
	if len(solutions) != 7473 || neighbours > len(solutions)/20 || unmarked < len(solutions)*9/10 {
		t.Error("that is not what GSM8K is like")
	}
}

func gsm8k(t *testing.T) (solutions []string) {
	file, err := os.Open("../../../shared/data/gsm8k/train.jsonl")
	if os.IsNotExist(err) {
		t.Skip("SKIPPED: needs ../shared/data/gsm8k/train.jsonl beside the repository")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var row struct {
			Answer string `json:"answer"`
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		solutions = append(solutions, row.Answer)
	}
	return solutions
}

func FuzzCorrect(f *testing.F) {
	f.Add("<answer>72</answer>", "72")
	f.Add(`\boxed{\frac{1}{2}}`, "#### 1,200.50")
	f.Fuzz(func(t *testing.T, reply, label string) {
		Correct(reply, label)
		if n := normal(label); normal(n) != n {
			t.Errorf("%q is normally %q, which is normally %q", label, n, normal(n))
		}
	})
}
