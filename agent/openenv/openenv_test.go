package openenv

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"molt/agent"
	"molt/chat"
	"molt/traj"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// play opens the settings and plays one rollout in which the policy says the replies.
func play(t *testing.T, s Settings, label string, replies ...string) (*traj.Rollout, []string) {
	t.Helper()
	create, err := Open(s)
	if err != nil {
		t.Fatal(err)
	}
	task := agent.Task{ID: "1", Messages: []chat.Message{{Role: chat.User, Content: "Go."}}, Label: label, Seed: 7}
	r, said := agent.Rehearse(t.Context(), create, task, replies...)
	var heard []string
	for _, m := range said.Messages {
		if m.Role != chat.Assistant {
			heard = append(heard, m.Content)
		}
	}
	return r, heard
}

const (
	add    = "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 2, \"b\": 3}}\n</tool_call>"
	divide = "<tool_call>\n{\"name\": \"divide\", \"arguments\": {}}\n</tool_call>"
	five   = "<tool_call>\n{\"name\": \"answer\", \"arguments\": {\"value\": 5}}\n</tool_call>"
)

// episodes are played against the recorded servers and, on request, against the real ones.
var episodes = []struct {
	name    string
	server  string
	s       Settings
	replies []string
	outcome traj.Outcome
	reward  float64
	heard   []string
}{
	{
		"a text is the action", "echo", Settings{Observation: "It says: {echoed_message}"}, []string{"hi", "hello, you there"},
		traj.Truncated, 1.2, []string{"Go.\n\nIt says: Echo World environment ready!", "It says: hi"},
	},
	{
		"the action is a part of the reply", "echo", Settings{Action: `{"message": "{reply}"}`, Take: `<say>(.*?)</say>`},
		[]string{"<say>no</say> rather <say>hi</say>", "nothing", "<say>hi</say>"}, traj.Truncated, 0.4,
		[]string{"Go.\n\n" + `{"echoed_message":"Echo World environment ready!","message_length":0}`, `{"echoed_message":"hi","message_length":2}`, "error: the reply does not hold what matches <say>(.*?)</say>"},
	},
	{
		"the reply holds the action", "echo", Settings{Action: "json", Observation: "{echoed_message}"}, []string{`I say {"message": "hi"}!`, `{"massage": "hi"}`, "hi", `{"message": "hi"}`},
		traj.Truncated, 0.4, []string{"Go.\n\nEcho World environment ready!", "hi", "error: Invalid message; message: Field required; massage: Extra inputs are not permitted", "error: the reply must hold a JSON object: no JSON object"},
	},
	{
		"tools", "tools", Settings{Reset: `{"sum": "{label}"}`}, []string{add, divide, five}, traj.Completed, 1,
		[]string{"Go.", "5", "error: Unknown tool: 'divide'"},
	},
	{"an end without a reward", "tools", Settings{Reset: `{"sum": "{label}"}`}, []string{add, "I give up."}, traj.Grader, 0, []string{"Go.", "5"}},
}

func playAll(t *testing.T, address func(server string) string) {
	for _, e := range episodes {
		t.Run(e.name, func(t *testing.T) {
			e.s.URL = address(e.server)
			r, heard := play(t, e.s, "5", e.replies...)
			if r.Outcome != e.outcome || r.Reward != e.reward {
				t.Errorf("%s with reward %v: %s", r.Outcome, r.Reward, r.Detail)
			}
			if diff := cmp.Diff(e.heard, heard); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEpisodes(t *testing.T) {
	playAll(t, func(server string) string { return newFake(t, server).URL })
}

var servers = flag.String("servers", "", "the command that serves environments, as scripts/goldens/openenv/run.sh gives it")

// TestServers plays the same against the servers of the package.
func TestServers(t *testing.T) {
	if *servers == "" {
		t.Skip("SKIPPED: scripts/goldens/openenv/run.sh starts the servers")
	}
	running := map[string]string{}
	playAll(t, func(server string) string {
		if running[server] == "" {
			words := strings.Fields(*servers)
			command := exec.Command(words[0], append(words[1:], server)...)
			out, err := command.StdoutPipe()
			if err == nil {
				err = command.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
			line, _ := bufio.NewReader(out).ReadString('\n')
			running[server] = strings.TrimSpace(line)
		}
		return running[server]
	})
}

// What goes wrong has its outcome.
func TestFailures(t *testing.T) {
	s := Settings{Action: `{"message": "{reply}"}`}
	for name, c := range map[string]struct {
		change  func(*fake)
		outcome traj.Outcome
		detail  string
	}{
		"the environment fails": {func(f *fake) {
			f.answers["step"] = `{"type":"error","data":{"message":"boom","code":"EXECUTION_ERROR"}}`
		}, traj.Harness, "EXECUTION_ERROR: boom"},
		"the environment cannot be made": {func(f *fake) {
			f.answers["reset"] = `{"type":"error","data":{"message":"no disk","code":"FACTORY_ERROR"}}`
		}, traj.Harness, "FACTORY_ERROR: no disk"},
		"the connection breaks": {func(f *fake) { f.answers["step"] = "break" }, traj.Infrastructure, "the environment is lost"},
		"the server closes":     {func(f *fake) { f.answers["step"] = "close" }, traj.Infrastructure, "code 1011 restarting"},
		"it is over when it begins": {func(f *fake) {
			f.answers["reset"] = `{"type":"observation","data":{"observation":{},"reward":null,"done":true}}`
		}, traj.Harness, "was over when it began"},
		"the reward is a word": {func(f *fake) {
			f.answers["step"] = `{"type":"observation","data":{"observation":{},"reward":"much","done":true}}`
		}, traj.Harness, `reward is "\"much\""`},
		"the episode has no reward": {func(f *fake) {
			f.answers["step"] = `{"type":"observation","data":{"observation":{},"reward":null,"done":true}}`
		}, traj.Grader, "never named a reward"},
		"it answers with something else":   {func(f *fake) { f.answers["step"] = `{"type":"state","data":{}}` }, traj.Harness, "want an observation"},
		"it does not answer with JSON":     {func(f *fake) { f.answers["step"] = `{"type":` }, traj.Harness, "the environment's answer"},
		"a message is longer than allowed": {func(f *fake) { f.answers["step"] = "endless" }, traj.Infrastructure, "a message has more than"},
		"it is full": {func(f *fake) {
			f.answers["connect"] = `{"type":"error","data":{"message":"2 of 2","code":"CAPACITY_REACHED"}}`
		}, traj.Infrastructure, "lower engine.in_flight"},
		"it never answers": {func(f *fake) { f.answers["step"] = "silence" }, traj.Timeout, "Step of turn 0 did not return within"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, "echo")
			c.change(f)
			s.URL = f.URL
			create, err := Open(s)
			if err != nil {
				t.Fatal(err)
			}
			config := agent.Defaults()
			config.Reset, config.Step = config.Step/60, config.Step/60
			runner := agent.EnvRunner{Config: config, New: create, Open: func(agent.Job) (agent.Policy, error) { return agent.NewScripted("hi"), nil }}
			r := runner.Run(t.Context(), agent.Job{Task: agent.Task{Messages: say("Go."), Seed: 7}})
			if r.Outcome != c.outcome || !strings.Contains(r.Detail, c.detail) {
				t.Errorf("%s: %s; want %s with %q", r.Outcome, r.Detail, c.outcome, c.detail)
			}
		})
	}
}

// While the server is full a rollout waits; pings are answered while the policy thinks; the token goes nowhere else.
func TestPatience(t *testing.T) {
	t.Setenv("ENV_TOKEN", "secret")
	f := newFake(t, "echo")
	f.fullFor, f.pings = 2, true
	r, _ := play(t, Settings{URL: f.URL, Token: "ENV_TOKEN"}, "", "hi")
	if r.Reward != 0.2 {
		t.Errorf("%+v", r)
	}
	if f.ponged != "are you there" || f.token != "Bearer secret" || f.redirected {
		t.Errorf("answered a ping with %q, sent the token %q, was led elsewhere: %v", f.ponged, f.token, f.redirected)
	}
}

func TestOpenRefuses(t *testing.T) {
	f := newFake(t, "echo")
	for _, c := range []struct {
		s    Settings
		want string
	}{
		{Settings{}, "want the address of an environment"},
		{Settings{URL: "ftp://127.0.0.1"}, "want the address of an environment"},
		{Settings{URL: "http://127.0.0.1:1"}, "asking http://127.0.0.1:1 for its schema"},
		{Settings{URL: f.URL + "/elsewhere"}, "answered 302 Found; want an OpenEnv server"},
		{Settings{URL: f.URL, Action: "{reply}"}, "want a JSON object"},
		{Settings{URL: f.URL, Action: `{"message": "hi"}`}, "every reply would be the same action"},
		{Settings{URL: f.URL, Action: `{"massage": "{reply}"}`}, "it has no massage, it needs message; its actions have message (string)"},
		{Settings{URL: f.URL, Observation: "{text}"}, "observation names {text}; the environment's observations have echoed_message, message_length"},
		{Settings{URL: f.URL, Take: "x"}, "want a group in it"},
		{Settings{URL: f.URL, Reset: "[]"}, "reset is"},
		{Settings{URL: f.URL, Token: "NO_SUCH_TOKEN"}, "NO_SUCH_TOKEN is empty"},
	} {
		if _, err := Open(c.s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v; want %q", c.s, err, c.want)
		}
	}
}

// An action of several fields is the user's to describe.
func TestGuess(t *testing.T) {
	schema, err := chat.ParseValue([]byte(`{"properties": {"metadata": {"type": "object"}, "row": {"type": "integer"}, "say": {"type": "string"}}, "required": ["row"], "additionalProperties": false}`))
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = chooseAction("", schema)
	if err == nil || err.Error() != `say with action how a reply becomes an action, such as {"row": "{reply}"}: the environment's actions have row (integer); say (string), which may be left out` {
		t.Error(err)
	}
}

// A rollout that is cancelled while the environment thinks ends at once.
func TestCancelled(t *testing.T) {
	f := newFake(t, "echo")
	f.answers["step"] = "silence"
	f.asked = make(chan struct{})
	create, err := Open(Settings{URL: f.URL})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { // ends with the first step
		<-f.asked
		cancel(errors.New("the user left"))
	}()
	r, _ := agent.Rehearse(ctx, create, agent.Task{Messages: say("Go."), Seed: 7}, "hi")
	if r.Outcome != traj.Cancelled {
		t.Errorf("%+v", r)
	}
}
