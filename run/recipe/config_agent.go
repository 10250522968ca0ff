// Agents that are not environments of this program: Python files and whole programs.

package recipe

import "molt/agent"

// AgentConfig says what acts on a prompt: an environment or chat agent of this program (name), a Python file (path), a program (command) or
// a harness that is known by name (preset).
type AgentConfig struct {
	Name        string  `yaml:"name" help:"the environment or chat agent"` // one of agent.Kinds, whose settings are agent.NAME.KEY; see agents.go
	Path        string  `yaml:"path" alias:"train.agent_path" help:"Python file with a class AgentRunner, or hub:reasoning_gym, hub:verifiers"`
	Command     string  `yaml:"command" help:"program that is the agent, with placeholders such as {prompt_file}; it finds the policy in OPENAI_BASE_URL or ANTHROPIC_BASE_URL"`
	Preset      string  `yaml:"preset" help:"harness that is the agent: claude, codex, opencode, pi, qwen, cline, mini-swe-agent"`
	MaxTurns    int     `yaml:"max_turns" help:"most calls of the policy in a rollout" unit:"turns" range:">=1"`
	StepTimeout float64 `yaml:"step_timeout" help:"longest one environment step may take" unit:"s" range:"(0,1000000]"`
	Timeout     float64 `yaml:"timeout" help:"longest one rollout may take, generation included" unit:"s" range:"(0,1000000]"`

	Python  PythonConfig  `yaml:"python"`
	Program ProgramConfig `yaml:"program"`
	Reward  GradeConfig   `yaml:"reward"`
	Capture CaptureConfig `yaml:"capture"`

	own map[string]any // settings of environments, by kind, as agent.Kind.Settings made them
}

// PythonConfig says in which Python an agent's file runs.
type PythonConfig struct {
	Interpreter string  `yaml:"interpreter" help:"its Python; without one that of $VIRTUAL_ENV, else python3"`
	Processes   int     `yaml:"processes" help:"processes, each of which runs many rollouts side by side" range:"[1,1024]"`
	Recycle     int     `yaml:"recycle" help:"rollouts after which a process is replaced; 0 keeps it" unit:"rollouts" range:">=0"`
	Start       float64 `yaml:"start_timeout" help:"longest the file may take to load" unit:"s" range:"(0,1000000]"`
}

// ProgramConfig says how an agent that is a program runs.
type ProgramConfig struct {
	Workspace string   `yaml:"workspace" help:"folder that is copied for each rollout; without one it begins in an empty folder"`
	Stdin     bool     `yaml:"stdin" help:"the prompt is also what the program reads"`
	Inherit   []string `yaml:"inherit" help:"variables of this shell that the program also gets; without it PATH, LANG and a few others"`
	Keep      bool     `yaml:"keep" help:"leave the folders of rollouts behind"`
	MemoryMiB int      `yaml:"memory_mib" help:"address space of each of its processes; 0 sets no limit" unit:"MiB" range:"[0,1048576]"`
	CPU       int      `yaml:"cpu_seconds" help:"processor time of each of its processes; 0 sets no limit" unit:"s" range:">=0"`
	FileMiB   int      `yaml:"file_mib" help:"largest file it may write; 0 sets no limit" unit:"MiB" range:"[0,1048576]"`
	Files     int      `yaml:"open_files" help:"files that each of its processes may have open; 0 sets no limit" range:">=0"`
}

// GradeConfig says who grades a program's work.
type GradeConfig struct {
	From   string      `yaml:"from" enum:"output,file,grader,url,judge" help:"where the reward of a program comes from: its last line (output), the file $MOLT_RESULT_FILE, a command, an HTTP address, or a language model"`
	Grader string      `yaml:"grader" help:"command that grades, in the rollout's folder; $MOLT_GRADE_FILE holds task, label and output"`
	URL    string      `yaml:"url" help:"address that is sent the task and the output"`
	Limit  float64     `yaml:"timeout" help:"longest that grading may take" unit:"s" range:"(0,1000000]"`
	Judge  JudgeConfig `yaml:"judge"`
}

// JudgeConfig says which language model judges.
type JudgeConfig struct {
	URL    string `yaml:"url" help:"its OpenAI-compatible address; without one the policy judges itself, and those replies are not trained on"`
	Model  string `yaml:"model" help:"its name at that address"`
	KeyVar string `yaml:"key_variable" help:"environment variable that holds its key"`
	Rubric string `yaml:"rubric" help:"file with the question to it, with {question}, {answer} and {label}; it must ask for a last line Score: x"`
}

// CaptureConfig says how the conversations of agents over HTTP become segments.
type CaptureConfig struct {
	Mode       string `yaml:"mode" enum:"append,faithful" help:"append keeps a conversation one segment; faithful begins another where the template would show an earlier turn differently"`
	Sampling   string `yaml:"sampling" enum:"honour,keep,refuse" help:"a request for other sampling than the run's: is followed, is answered with the run's, or is an error"`
	SubAgents  bool   `yaml:"sub_agents" help:"train the turns of sub-agents"`
	Background bool   `yaml:"background" help:"train side errands, such as naming the conversation"`
}

// agentDefaults are those of runs and evaluations.
func agentDefaults() AgentConfig {
	return AgentConfig{
		Name: "answer", MaxTurns: 8, StepTimeout: 30, Timeout: 600,
		Python: PythonConfig{Processes: 2, Start: 60}, Reward: GradeConfig{From: "output", Limit: 60},
		Capture: CaptureConfig{Mode: "append", Sampling: "honour", SubAgents: true},
	}
}

// IsPython reports whether the agent is a Python file, IsProgram whether it is a program of its own.
func (c *AgentConfig) IsPython() bool  { return c.Path != "" }
func (c *AgentConfig) IsProgram() bool { return c.Command != "" || c.Preset != "" }
func (c *AgentConfig) isOther() bool   { return c.IsPython() || c.IsProgram() }

// IsChat reports whether the agent is one of this program that talks to the policy over HTTP.
func (c *AgentConfig) IsChat() bool {
	k, ok := agent.KindOf(c.Name)
	return ok && k.IsChat() && !c.isOther()
}

// readersOfAgent are settings that only some agents read.
var readersOfAgent = []readBy{
	{"agent.python.", "agent.path", func(c *Config) bool { return c.Agent.IsPython() }},
	{"agent.program.", "agent.command or agent.preset", func(c *Config) bool { return c.Agent.IsProgram() }},
	{"agent.reward.", "agent.command or agent.preset", func(c *Config) bool { return c.Agent.IsProgram() }},
	{"agent.reward.grader", "agent.reward.from grader", func(c *Config) bool { return c.Agent.Reward.From == "grader" }},
	{"agent.reward.url", "agent.reward.from url", func(c *Config) bool { return c.Agent.Reward.From == "url" }},
	{"agent.reward.timeout", "agent.reward.from grader, url or judge", func(c *Config) bool { return c.Agent.Reward.From != "output" && c.Agent.Reward.From != "file" }},
	{"agent.reward.judge.", "agent.reward.from judge", func(c *Config) bool { return c.Agent.Reward.From == "judge" }},
	{"agent.program.stdin", "agent.command: a preset knows", func(c *Config) bool { return c.Agent.Preset == "" }},
	{"agent.capture.", "an agent that talks to the policy over HTTP", func(c *Config) bool { return c.Agent.isOther() || c.Agent.IsChat() }},
	{"agent.name", "a run without agent.path, agent.command and agent.preset", func(c *Config) bool { return !c.Agent.isOther() }},
}

// checkAgent refuses two agents at once.
func (c *Config) checkAgent(refuse func(setting, why, fix string)) {
	a := &c.Agent
	switch {
	case a.Preset != "" && (a.Path != "" || a.Command != ""):
		refuse("agent.preset", "agent.path or agent.command already says what the agent is", "choose one")
	case a.Path != "" && a.Command != "":
		refuse("agent.path", "agent.command already says what the agent is", "choose one")
	case a.Preset != "" && a.Reward.From == "output":
		refuse("agent.reward.from", "a harness prints no reward", "choose grader, url or judge, or file if it is asked to write $MOLT_RESULT_FILE")
	}
}
