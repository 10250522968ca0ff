// The harnesses that people already have: how each is started without a person, and what makes it talk to the session.
// scripts/harnesses/install.sh installs the versions that were run.

package command

import (
	"fmt"
	"slices"
	"strings"
)

// Preset starts one harness.
type Preset struct {
	Name    string
	Program string // what must be on the path
	Install string // how people get it
	Wire    string // openai, responses or anthropic

	Command     string // without a person
	Stdin       bool   // of Command: the prompt is read from standard input
	Interactive string // with a person
	Files       []File // in its home
	Environ     []string
}

// Presets are the harnesses by name.
func Presets() []Preset {
	return []Preset{
		{
			Name: "claude", Program: "claude", Install: "npm install -g @anthropic-ai/claude-code", Wire: "anthropic",
			Command: "claude -p --output-format json --permission-mode bypassPermissions", Stdin: true,
			Interactive: "claude",
			Files:       []File{{".claude.json", `{"hasCompletedOnboarding": true, "theme": "dark", "projects": {"{workspace}": {"hasTrustDialogAccepted": true}}}`}},
			Environ: []string{"ANTHROPIC_AUTH_TOKEN={api_key}", "ANTHROPIC_API_KEY=", "ANTHROPIC_SMALL_FAST_MODEL={model}",
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "CLAUDE_CODE_ATTRIBUTION_HEADER=0", "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL=1", "DISABLE_AUTOUPDATER=1", "IS_SANDBOX=1"},
		},
		{
			Name: "codex", Program: "codex", Install: "npm install -g @openai/codex", Wire: "responses",
			Command: "codex exec --skip-git-repo-check --json -", Stdin: true,
			Interactive: "codex",
			Files:       []File{{".codex/config.toml", codexConfig}},
			Environ:     []string{"CODEX_HOME={home}/.codex"},
		},
		opencode("opencode", "openai", "@ai-sdk/openai-compatible", "{base_url}"),
		opencode("opencode-responses", "responses", "@ai-sdk/openai", "{base_url}"),
		opencode("opencode-anthropic", "anthropic", "@ai-sdk/anthropic", "{base_url}"),
		{
			Name: "pi", Program: "pi", Install: "npm install -g @mariozechner/pi-coding-agent", Wire: "openai",
			Command:     "pi -p --no-session --provider molt --model {model} {prompt}",
			Interactive: "pi --provider molt --model {model}",
			Files:       []File{{".pi/agent/models.json", piModels}},
			Environ:     []string{"PI_OFFLINE=1"},
		},
		{
			Name: "qwen", Program: "qwen", Install: "npm install -g @qwen-code/qwen-code", Wire: "openai",
			Command:     "qwen --yolo -p {prompt}",
			Interactive: "qwen",
			Files:       []File{{".qwen/settings.json", qwenSettings}},
		},
		{
			Name: "cline", Program: "cline", Install: "npm install -g cline", Wire: "openai",
			Command:     "cline --json -P openai-compatible -m {model} -k {api_key} {prompt}",
			Interactive: "cline",
			Files:       []File{{".cline/data/settings/providers.json", clineProviders}, {".cline/data/settings/global-settings.json", clineSettings}},
			Environ:     []string{"E2E_TEST=true"}, // nothing else keeps it from asking its maker for feature flags
		},
		{
			Name: "mini-swe-agent", Program: "mini", Install: "pip install mini-swe-agent", Wire: "openai",
			Command:     "mini --yolo --exit-immediately --model openai/{model} --task {prompt}",
			Interactive: "mini --model openai/{model}",
			Environ:     []string{"MSWEA_CONFIGURED=true", "MSWEA_COST_TRACKING=ignore_errors", "MSWEA_SILENT_STARTUP=1", "LITELLM_LOCAL_MODEL_COST_MAP=True"},
		},
	}
}

const codexConfig = `model = "{model}"
model_provider = "molt"
model_context_window = {max_length}
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[feedback]
enabled = false

[otel]
metrics_exporter = "none"

[features]
apps = false
plugins = false
remote_plugin = false

[model_providers.molt]
name = "molt"
base_url = "{base_url}"
env_key = "OPENAI_API_KEY"
wire_api = "responses"

[projects."{workspace}"]
trust_level = "trusted"
`

const piModels = `{"providers": {"molt": {"baseUrl": "{base_url}", "apiKey": "{api_key}", "api": "openai-completions",
 "models": [{"id": "{model}", "name": "{model}", "reasoning": false, "input": ["text"], "contextWindow": {max_length}, "maxTokens": 4096,
  "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}]}}}
`

const qwenSettings = `{"security": {"auth": {"selectedType": "openai"}}, "privacy": {"usageStatisticsEnabled": false},
 "general": {"enableAutoUpdate": false}, "memory": {"enableManagedAutoMemory": false}, "model": {"generationConfig": {"contextWindowSize": {max_length}}}}
`

const clineProviders = `{"version": 1, "lastUsedProvider": "openai-compatible", "modes": {}, "providers": {"openai-compatible": {"tokenSource": "manual",
 "updatedAt": "2026-01-01T00:00:00.000Z", "settings": {"provider": "openai-compatible", "apiKey": "{api_key}", "model": "{model}", "baseUrl": "{base_url}"}}}}
`

const clineSettings = `{"telemetryOptOut": true, "autoUpdateEnabled": false}
`

// opencodeInstalled makes opencode believe that the package for its plugins, of which there are none, is installed.
const opencodeInstalled = `{"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}
`

// opencode speaks any of the three wires, by the package of its provider.
func opencode(name, wire, provider, url string) Preset {
	config := `{"autoupdate": false, "share": "disabled", "permission": {"edit": "allow", "bash": "allow", "webfetch": "deny"},
 "provider": {"molt": {"npm": "` + provider + `", "name": "molt", "options": {"baseURL": "` + url + `", "apiKey": "{api_key}"},
  "models": {"{model}": {"name": "{model}", "tool_call": true, "limit": {"context": {max_length}, "output": 4096}}}}}}
`
	return Preset{
		Name: name, Program: "opencode", Install: "npm install -g opencode-ai", Wire: wire,
		Command:     "opencode run -m molt/{model} --format json {prompt}",
		Interactive: "opencode -m molt/{model}",
		Files:       []File{{".config/opencode/opencode.json", config}, {".config/opencode/package-lock.json", opencodeInstalled}, {".config/opencode/node_modules/.keep", ""}},
		Environ:     []string{"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1"},
	}
}

// FindPreset is the preset of a name; the error lists those that there are.
func FindPreset(name string) (Preset, error) {
	presets := Presets()
	if i := slices.IndexFunc(presets, func(p Preset) bool { return p.Name == name }); i >= 0 {
		return presets[i], nil
	}
	var names []string
	for _, p := range presets {
		names = append(names, p.Name)
	}
	return Preset{}, fmt.Errorf("command: no harness is called %q; there are %s", name, strings.Join(names, ", "))
}

// Apply fills in what the preset knows.
func (p *Preset) Apply(c *Config) {
	c.Command, c.Stdin = p.Command, p.Stdin
	c.Files = slices.Concat(p.Files, c.Files)
	c.Environ = slices.Concat(p.Environ, c.Environ)
}
