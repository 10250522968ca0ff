// Completion scripts for shells, made from kong's model of the command line and run's table of settings.

package cli

import (
	"fmt"
	"slices"
	"strings"

	"molt/run/recipe"

	"github.com/alecthomas/kong"
)

// completionCmd is `molt completion SHELL`.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish,powershell" help:"bash, zsh, fish or powershell."`
}

// Help shows where the script goes.
func (*completionCmd) Help() string {
	return "Examples:\n\n  source <(molt completion bash)\n  molt completion zsh > \"${fpath[1]}/_molt\"\n  molt completion fish > ~/.config/fish/completions/molt.fish"
}

func (c *completionCmd) Run(a *app) error {
	words := completionWords(a.model)
	switch c.Shell {
	case "bash":
		fmt.Fprintf(a.stdout, bashScript, cases(words, "    %s) words=%s ;;\n"), quoteWords(words[""]))
	case "zsh":
		fmt.Fprintf(a.stdout, zshScript, cases(words, "    %s) words=(%s) ;;\n"), strings.Join(words[""], " "))
	case "fish":
		fishScript(a, words)
	case "powershell":
		fmt.Fprintf(a.stdout, powershellScript, powershellTable(words))
	}
	return nil
}

// completionWords maps each command ("" for the top) to what may follow it.
func completionWords(app *kong.Application) map[string][]string {
	words := map[string][]string{}
	for _, command := range app.Children {
		words[""] = append(words[""], command.Name)
		list := flagNames(command)
		for _, sub := range command.Children {
			list = append(list, sub.Name)
			list = append(list, flagNames(sub)...)
		}
		words[command.Name] = append(list, settingFlags(command.Name)...)
		slices.Sort(words[command.Name])
		words[command.Name] = slices.Compact(words[command.Name])
	}
	return words
}

func flagNames(n *kong.Node) []string {
	var names []string
	for _, f := range n.Flags {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	}
	return names
}

// settingFlags lists the dotted flags that a command takes.
func settingFlags(command string) []string {
	var settings []*recipe.Setting
	switch command {
	case "rl", "eval":
		cfg := recipe.Defaults()
		settings = recipe.Settings(&cfg)
	case "sft":
		cfg := recipe.SFTDefaults()
		settings = recipe.Settings(&cfg)
	}
	var names []string
	for _, s := range settings {
		names = append(names, "--"+s.Name)
	}
	return names
}

func cases(words map[string][]string, format string) string {
	var b strings.Builder
	for _, command := range words[""] {
		list := strings.Join(words[command], " ")
		if strings.Contains(format, "words=%s") {
			list = quoteWords(words[command])
		}
		fmt.Fprintf(&b, format, command, list)
	}
	return b.String()
}

func quoteWords(words []string) string { return `"` + strings.Join(words, " ") + `"` }

const bashScript = `_molt() {
  local words current=${COMP_WORDS[COMP_CWORD]}
  case ${COMP_WORDS[1]} in
%s    *) words=%s ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [[ ${#COMPREPLY[@]} -eq 0 ]] && COMPREPLY=($(compgen -f -- "$current"))
}
complete -F _molt molt
`

const zshScript = `#compdef molt
_molt() {
  local -a words_here words
  words_here=("${(@)=BUFFER}")
  case ${words_here[2]} in
%s    *) words=(%s) ;;
  esac
  compadd -a words
  _files
}
compdef _molt molt
`

func fishScript(a *app, words map[string][]string) {
	fmt.Fprintf(a.stdout, "complete -c molt -n __fish_use_subcommand -f -a '%s'\n", strings.Join(words[""], " "))
	for _, command := range words[""] {
		fmt.Fprintf(a.stdout, "complete -c molt -n '__fish_seen_subcommand_from %s' -a '%s'\n", command, strings.Join(words[command], " "))
	}
}

const powershellScript = `Register-ArgumentCompleter -Native -CommandName molt -ScriptBlock {
  param($word, $ast, $position)
  $table = @{
%s  }
  $parts = $ast.CommandElements | ForEach-Object { $_.ToString() }
  $key = if ($parts.Count -gt 1 -and $table.ContainsKey($parts[1])) { $parts[1] } else { '' }
  $table[$key] | Where-Object { $_ -like "$word*" } | ForEach-Object { [System.Management.Automation.CompletionResult]::new($_) }
}
`

func powershellTable(words map[string][]string) string {
	var b strings.Builder
	for _, command := range append([]string{""}, words[""]...) {
		fmt.Fprintf(&b, "    '%s' = @('%s')\n", command, strings.Join(words[command], "','"))
	}
	return b.String()
}
