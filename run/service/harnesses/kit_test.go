package harnesses

// What is particular to each harness: the names of its tools, its side errands, and what makes it compact.

import (
	"encoding/json"
	"fmt"

	"molt/gateway/script"
)

// kit is a harness as the cases see it.
type kit struct {
	preset  string
	program string                     // its command, when it is no preset
	title   string                     // text of the request that names the conversation; "" when it makes none
	spoken  string                     // the same at a terminal
	shell   func(line string) string   // a call that runs a line
	final   string                     // its last turn, when that must be more than text
	helper  func(prompt string) string // a call that starts a sub-agent; nil when it has none
	wait    string                     // seconds until the sub-agent is done, when its call does not wait for it
	summary string                     // text of the request that compacts; "" when it never does
	short   int                        // length of a conversation that makes it compact
	room    int                        // or how much it may grow before the server refuses
	rounds  int                        // of small results that must follow the large ones
	lasting string                     // why it never compacts here

	ready string // what the screen says when it listens
	greet string // keys that it wants before; "" for none
	allow string // what it asks before it runs a call; "" when it does not
	enter string // sends what was typed; "" is return
	ended string // what it asks when a turn of kit.final has run
	leave string // ends it
	calls string // whom it calls there, in spite of its settings
	shy   bool   // it does not end there when strace watches it

	both   string // what it does when it asks again and goes on from what it had
	breaks string // what a broken stream does to it, when it does not ask again
}

var kits = []*kit{
	{preset: "claude", shell: tool("Bash", "command", "description", "x"), helper: tool("Agent", "prompt", "description", "look", "subagent_type", "general-purpose"),
		summary: "create a detailed summary", room: 34_000,
		spoken: "sentence-case title", ready: "? for shortcuts", allow: "Do you want to proceed?", leave: "/exit\r",
		breaks: "it may end its run when a stream breaks behind a whole block; an engine that is resumed hides that from it"},
	{preset: "codex", shell: tool("exec_command", "cmd"), helper: tool("multi_agent_v1.spawn_agent", "message"), wait: "4",
		summary: "CONTEXT CHECKPOINT COMPACTION", short: 48_000, ready: "policy default", shy: true, leave: "/quit\r"},
	opencode("opencode"),
	opencode("opencode-responses"),
	opencode("opencode-anthropic"),
	{preset: "pi", shell: tool("bash", "command"), lasting: "it compacts between prompts, and a run without a person has one",
		ready: "0.0%/", leave: "\x04"},
	{preset: "qwen", shell: tool("run_shell_command", "command", "description", "x"), helper: tool("agent", "prompt", "description", "look", "subagent_type", "general-purpose"),
		summary: "state_snapshot", short: 97_000, rounds: 4, ready: "Type your message", allow: "Yes, allow once", leave: "/quit\r",
		breaks: "it ends its run when a stream breaks; an engine that is resumed hides that from it"},
	{preset: "cline", shell: tool("run_commands", "command"), helper: tool("spawn_agent", "task", "systemPrompt", "You look at things."),
		lasting: "it takes no length for a model that it does not know", ready: "any other key to close", greet: " ", leave: "\x03\x03", calls: "at a terminal it asks its maker and a public list of models, and needs no answer",
		breaks: "it takes a call whose reply lacks its end for one without arguments, and goes on from that edit or ends its run"},
	{preset: "mini-swe-agent", shell: tool("bash", "command"), final: tool("bash", "command")("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"),
		ready: "What do you want to do?", enter: "\x1b\r", allow: "to confirm", ended: "Type new task", leave: "\r"},
}

func opencode(preset string) *kit {
	return &kit{preset: preset, title: "Generate a title for this conversation", shell: tool("bash", "command", "description", "x"),
		helper: tool("task", "prompt", "description", "look", "subagent_type", "general"), summary: "anchored summary", short: 60_000,
		spoken: "Generate a title for this conversation", ready: "Ask anything", leave: "/exit\r",
		both: "when a reply lacks its end it may keep the items that were whole, ask again, and later show both; what is shown again does not train again"}
}

// tool makes calls of a tool: one argument that varies, and others that do not.
func tool(name, argument string, fixed ...string) func(string) string {
	return func(value string) string {
		arguments := fmt.Sprintf("%q: %s", argument, quote(value))
		for i := 0; i < len(fixed); i += 2 {
			arguments += fmt.Sprintf(", %q: %s", fixed[i], quote(fixed[i+1]))
		}
		return "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": {" + arguments + "}}\n</tool_call>"
	}
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// end is the last turn.
func (k *kit) end() string {
	if k.final != "" {
		return k.final
	}
	return "All done."
}

// play are lines for the main conversation, behind those for its side errands.
func (k *kit) play(texts ...string) (lines []script.Line) {
	if k.title != "" {
		lines = append(lines, script.Line{Match: k.title, Text: "A name", Loop: true})
	}
	for _, text := range texts {
		lines = append(lines, script.Line{Text: text})
	}
	return lines
}
