package facts

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// known are the templates that docs/templates.md lists, by their names in the cache of scripts/goldens/chat/wild.sh, with the
// families that their models speak.
var known = []struct{ model, file, family string }{
	{"Qwen2.5", "ollama-utils--qwen2.5-0.5b", "hermes"}, {"QwQ", "llama-cpp-python--Qwen-QwQ-32B", "hermes"}, {"Qwen3", "llama-cpp-python--Qwen-Qwen3-0.6B", "hermes"},
	{"Qwen3 Instruct 2507", "trl--qwen3_instruct_2507", "hermes"}, {"Qwen3-Coder", "llama-cpp-python--Qwen3-Coder", "qwen3-coder"}, {"Qwen3-VL", "trl--qwen3_vl", "hermes"}, {"Qwen3.5", "llama-cpp-python--Qwen3.5-4B", "qwen3-coder"},
	{"Qwen3.6", "trl--qwen3_6", "qwen3-coder"}, {"Qwen3.8", "trl--qwen3_8", "qwen3-coder"}, {"Llama 3", "trl--llama3", "plain"}, {"Llama 3.1", "llama-cpp-python--meta-llama-Llama-3.1-8B-Instruct", "llama3-json"},
	{"Llama 3.2", "llama-cpp-python--meta-llama-Llama-3.2-3B-Instruct", "llama3-json"}, {"Llama 4", "ollama-utils--llama4-latest", "llama-pythonic"}, {"Hermes 3", "ollama-utils--hermes3-70b", "plain"}, {"Mistral 7B", "ollama-utils--mistral-7b-instruct-fp16", "plain"},
	{"Mistral Nemo", "llama-cpp-python--mistralai-Mistral-Nemo-Instruct-2407", "mistral"}, {"Mistral Small 3.2", "llama-cpp-python--Mistral-Small-3.2-24B-Instruct-2506", "mistral"},
	{"Ministral 3 Reasoning", "llama-cpp-python--mistralai-Ministral-3-14B-Reasoning-2512", "mistral"}, {"Mistral Medium 3.5", "ardanlabs-jinja--Mistral-Medium-3.5-128B-GGUF", "mistral"},
	{"DeepSeek-V3", "trl--deepseekv3", "deepseek"}, {"DeepSeek-R1 distilled", "llama-cpp-python--deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "deepseek"}, {"DeepSeek-V3.1", "llama-cpp-python--deepseek-ai-DeepSeek-V3.1", "deepseek"},
	{"DeepSeek-V3.2", "llama-cpp-python--deepseek-ai-DeepSeek-V3.2", "deepseek-dsml"}, {"DeepSeek-V4", "llama-cpp-python--deepseek-ai-DeepSeek-V4", "deepseek-dsml"}, {"DeepSeek-V4.1-Flash", "ardanlabs-jinja--DeepSeek-V4.1-Flash", "deepseek-v4.1"},
	{"gpt-oss", "llama-cpp-python--openai-gpt-oss-120b", "harmony"}, {"Gemma 2", "llama-cpp-python--google-gemma-2-2b-it", "plain"}, {"Gemma 3", "trl--gemma3", "plain"}, {"Gemma 4", "llama-cpp-python--google-gemma-4-31B-it", "gemma4"},
	{"GLM-4", "ollama-utils--glm4-9b", "plain"}, {"GLM-4.6", "llama-cpp-python--GLM-4.6", "glm"}, {"GLM-4.7-Flash", "llama-cpp-python--GLM-4.7-Flash", "glm"}, {"GLM-5.2", "ardanlabs-jinja--GLM-5.2", "glm"},
	{"Kimi-K2", "llama-cpp-python--Kimi-K2-Instruct", "kimi-k2"}, {"Kimi-K2 Thinking", "llama-cpp-python--Kimi-K2-Thinking", "kimi-k2"}, {"Kimi-K3", "llama-cpp-python--Kimi-K3", "kimi-k3"},
	{"SmolLM2", "ollama-utils--smollm2-135m", "plain"}, {"SmolLM3", "llama-cpp-python--HuggingFaceTB-SmolLM3-3B", "plain"}, {"Phi-3.5", "llama-cpp-python--microsoft-Phi-3.5-mini-instruct", "plain"}, {"Phi-4", "ollama-utils--phi4-14b", "plain"},
	{"Phi-4-mini", "ollama-utils--phi4-mini-3.8b", "phi4-mini"}, {"Granite 3.3", "llama-cpp-python--ibm-granite-granite-3.3-2B-Instruct", "granite"}, {"Granite 4.0", "llama-cpp-python--ibm-granite-granite-4.0", "hermes"},
	{"Command R7B", "ollama-utils--command-r7b-7b", "command"}, {"Command A (tool use)", "axolotl--command_a_tool_use", "command"}, {"OLMo 2", "ollama-utils--olmo2-7b", "plain"}, {"Nemotron Nano 2", "llama-cpp-python--NVIDIA-Nemotron-Nano-v2", "nemotron"},
	{"Nemotron 3", "llama-cpp-python--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "qwen3-coder"}, {"MiniMax-M2", "llama-cpp-python--MiniMax-M2", "minimax"}, {"Seed-OSS", "llama-cpp-python--ByteDance-Seed-OSS", "seed-oss"},
	{"LFM2", "llama-cpp-python--LFM2-8B-A1B", "lfm2"}, {"LFM2.5", "llama-cpp-python--LFM2.5-8B-A1B", "lfm2"}, {"Hunyuan Hy3", "llama-cpp-python--tencent-Hy3", "plain"}, {"Apertus", "llama-cpp-python--Apertus-8B-Instruct", "plain"},
}

// TestWildFacts describes every gathered template. With -rewrite it writes the table of docs/templates.md.
func TestWildFacts(t *testing.T) {
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	files, _ := filepath.Glob(filepath.Join(cache, "molt-oracles", "templates", "*.jinja"))
	if len(files) == 0 {
		t.Skip("no templates in the cache; gather them with scripts/goldens/chat/wild.sh")
	}
	all := map[string]Facts{}
	for _, file := range files {
		f := describeFile(t, file)
		all[strings.TrimSuffix(filepath.Base(file), ".jinja")] = f
		for _, turn := range f.Turns {
			if turn.Reads == Different {
				t.Logf("%s, %s: %s", filepath.Base(file), turn.Name, turn.Read)
			}
		}
	}
	table := families(all) + "\n" + models(t, all)
	t.Log(table)
	if *rewrite {
		replaceTable(t, table)
	}
}

func families(all map[string]Facts) string {
	count, same, different := map[string]int{}, map[string]int{}, map[string]int{}
	for _, f := range all {
		count[f.Family.Name]++
		for _, turn := range f.Turns {
			if turn.Reads == Same && strings.Contains(turn.Name, "call") {
				same[f.Family.Name]++
			}
			if turn.Reads == Different {
				different[f.Family.Name]++
			}
		}
	}
	var names []string
	for name := range count {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		return count[names[i]] > count[names[j]] || count[names[i]] == count[names[j]] && names[i] < names[j]
	})
	var b strings.Builder
	b.WriteString("| family | templates | turns with calls that read back | turns read differently |\n|---|---|---|---|\n")
	for _, name := range names {
		fmt.Fprintf(&b, "| %s | %d | %d | %d |\n", name, count[name], same[name], different[name])
	}
	return b.String()
}

func models(t *testing.T, all map[string]Facts) string {
	var b strings.Builder
	b.WriteString("| model | family | a call reads back | after an answer | after thinking and an answer | after a call | after thinking and a call | local |\n|---|---|---|---|---|---|---|---|\n")
	for _, m := range known {
		f, ok := all[m.file]
		if !ok {
			t.Errorf("%s: the cache has no %s", m.model, m.file)
			continue
		}
		if f.Family.Name != m.family {
			t.Errorf("%s is taken for %s; want %s", m.model, f.Family.Name, m.family)
		}
		local := "yes"
		if !f.Local {
			local = "no"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", m.model, f.Family.Name, f.Turns[2].Reads, f.Turns[0].Growth, f.Turns[1].Growth, f.Turns[2].Growth, f.Turns[3].Growth, local)
	}
	return b.String()
}

func replaceTable(t *testing.T, table string) {
	const file, from, to = "../../docs/templates.md", "<!-- tables -->\n", "<!-- end of tables -->\n"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), from)
	_, after, okToo := strings.Cut(rest, to)
	if !ok || !okToo {
		t.Fatalf("%s has no place for tables", file)
	}
	if err := os.WriteFile(file, []byte(before+from+table+to+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
