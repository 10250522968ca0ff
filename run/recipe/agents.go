// The environments and chat agents that are registered in this program: their names are the words of agent.name, and their own settings stand
// beside the others, so that flags, recipes, --dry-run and config.yaml treat them alike.

package recipe

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"molt/agent"
)

// Own is the struct of settings of the environment that was chosen, for agent.Kind.Open.
func (c *AgentConfig) Own(k agent.Kind) any {
	if c.own == nil {
		c.own = map[string]any{}
	}
	if c.own[k.Name] == nil {
		c.own[k.Name] = k.Settings()
	}
	return c.own[k.Name]
}

// withAgents completes the settings of a run: the words of agent.name, and the settings of each environment behind those of
// all.
func withAgents(list []*Setting, c *AgentConfig) []*Setting {
	name := Find(list, "agent.name")
	var help []string
	var own []*Setting
	for _, k := range agent.Kinds() {
		if taken(list, k.Name) {
			panic(fmt.Sprintf("recipe: no environment can be called %s: agent.%s is a setting, or has some", k.Name, k.Name))
		}
		name.Enum = append(name.Enum, k.Name)
		help = append(help, fmt.Sprintf("%s (%s)", k.Name, k.Does))
		own = append(own, settingsOf(reflect.ValueOf(c.Own(k)).Elem(), ownPrefix(k))...)
	}
	if len(help) > 0 {
		name.Help += ": " + strings.Join(help, ", ")
	}
	last := 0
	for i, s := range list {
		if strings.HasPrefix(s.Name, "agent.") {
			last = i
		}
	}
	return slices.Insert(list, last+1, own...)
}

// taken reports whether settings of all environments have the name that those of one would have.
func taken(list []*Setting, name string) bool {
	return slices.ContainsFunc(list, func(s *Setting) bool {
		return s.Name == "agent."+name || strings.HasPrefix(s.Name, "agent."+name+".")
	})
}

func ownPrefix(k agent.Kind) string { return "agent." + k.Name + "." }

// unreadOwn refuses settings of environments that were not chosen.
func (c *Config) unreadOwn(changed *Setting, refuse func(setting, why, fix string)) {
	for _, k := range agent.Kinds() {
		if k.Name != c.Agent.Name && strings.HasPrefix(changed.Name, ownPrefix(k)) {
			refuse(changed.Name, "it has no effect: nothing but agent.name "+k.Name+" reads it", "choose that, or leave it out")
		}
	}
}
