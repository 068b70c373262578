package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// completionCommand is `tenet completion`.
type completionCommand struct {
	Shell string   `arg:"" enum:"bash,zsh,fish,powershell,words" help:"bash, zsh, fish or powershell."`
	Words []string `arg:"" optional:"" passthrough:"" hidden:"" help:"Words of the command line so far; shells pass them."`
	JSON  bool     `name:"json" help:"Print the script as JSON."`
}

func (completionCommand) Help() string {
	return `Prints a script that has the shell complete commands, flags and their values. Put a line into the file that your shell reads at start:

    source <(tenet completion bash)                              # ~/.bashrc
    source <(tenet completion zsh)                               # ~/.zshrc, after compinit
    tenet completion fish | source                               # ~/.config/fish/config.fish
    tenet completion powershell | Out-String | Invoke-Expression # $PROFILE`
}

// scripts have a shell ask the program for the words that can follow.
var scripts = map[string]string{
	"bash": `_tenet() {
  local IFS=$'\n'
  COMPREPLY=($(tenet completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
  if [ ${#COMPREPLY[@]} -eq 0 ]; then COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")); fi
}
complete -o filenames -F _tenet tenet
`,
	"zsh": `_tenet() {
  local -a found
  local line
  while IFS=$'\t' read -r word text; do found+=("${word//:/\\:}:$text"); done < <(tenet completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( ${#found} )); then _describe tenet found; else _files; fi
}
compdef _tenet tenet
`,
	"fish": `function __tenet_words
  set -l words (commandline -opc) (commandline -ct)
  set -l found (tenet completion words -- $words[2..-1] 2>/dev/null)
  if set -q found[1]; printf '%s\n' $found; else; __fish_complete_path (commandline -ct); end
end
complete -c tenet -f -a '(__tenet_words)'
`,
	"powershell": `Register-ArgumentCompleter -Native -CommandName tenet -ScriptBlock {
  param($word, $ast, $cursor)
  $words = @($ast.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
  if ($word -eq '') { $words += '""' }
  tenet completion words '--' @words 2>$null | ForEach-Object {
    $found, $text = $_ -split "\t", 2
    if (-not $text) { $text = $found }
    [System.Management.Automation.CompletionResult]::new($found, $found, 'ParameterValue', $text)
  }
}
`,
}

// Run prints a script, or the words that can follow.
func (k *completionCommand) Run(s *session, app *kong.Kong) error {
	if k.Shell != "words" {
		return k.script(s)
	}
	words := k.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	for _, c := range complete(app.Model.Node, words) {
		if _, err := fmt.Fprintf(s.out, "%s\t%s\n", c.word, c.text); err != nil {
			return err
		}
	}
	return nil
}

// script prints the script of a shell. What follows the shell is read as words, flags too.
func (k *completionCommand) script(s *session) error {
	for _, word := range k.Words {
		if word != "--json" {
			return fmt.Errorf("completion takes one shell and no %s", word)
		}
		k.JSON = true
	}
	if k.JSON {
		return printJSON(s.out, struct {
			Shell  string `json:"shell"`
			Script string `json:"script"`
		}{k.Shell, scripts[k.Shell]})
	}
	_, err := fmt.Fprint(s.out, scripts[k.Shell])
	return err
}

// candidate is a word that can follow, with what it is for.
type candidate struct{ word, text string }

// complete returns the words that can take the place of the last one.
func complete(root *kong.Node, words []string) []candidate {
	if len(words) == 0 {
		words = []string{""}
	}
	node, last := root, strings.Trim(words[len(words)-1], `"'`)
	if last == "=" {
		last = ""
	}
	var open *kong.Flag // whose value follows
	for _, w := range words[:len(words)-1] {
		switch {
		case w == "--":
			return nil
		case w == "=" && open != nil: // bash takes --flag=value apart
		case open != nil:
			open = nil
		case strings.HasPrefix(w, "-"):
			if f := flagOf(node, w); f != nil && !strings.Contains(w, "=") && !f.IsBool() {
				open = f
			}
		default:
			if at := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == w }); at >= 0 {
				node = node.Children[at]
			}
		}
	}
	var found []candidate
	add := func(word, text string) {
		if strings.HasPrefix(word, last) {
			text, _, _ = strings.Cut(text, "\n")
			found = append(found, candidate{word, text})
		}
	}
	name, _, valued := strings.Cut(last, "=")
	switch {
	case open != nil:
		for _, v := range values(open) {
			add(v, "")
		}
	case valued && strings.HasPrefix(last, "--"):
		if f := flagOf(node, name); f != nil {
			for _, v := range values(f) {
				add(name+"="+v, "")
			}
		}
	case strings.HasPrefix(last, "-"):
		for _, group := range node.AllFlags(true) {
			for _, f := range group {
				add("--"+f.Name, f.Help)
			}
		}
	default:
		for _, child := range node.Children {
			if !child.Hidden {
				add(child.Name, child.Help)
			}
		}
		for _, p := range node.Positional {
			for v := range strings.SplitSeq(p.Enum, ",") {
				if v != "" && v != "words" {
					add(v, "")
				}
			}
		}
	}
	return found
}

// flagOf returns the flag of a word in a command or those above it; nil if there is none.
func flagOf(node *kong.Node, word string) *kong.Flag {
	word, _, _ = strings.Cut(word, "=")
	for _, group := range node.AllFlags(false) {
		for _, f := range group {
			if word == "--"+f.Name || f.Short != 0 && word == "-"+string(f.Short) {
				return f
			}
		}
	}
	return nil
}

// values are the values that a flag takes, if it names them.
func values(f *kong.Flag) []string {
	var list []string
	for v := range strings.SplitSeq(f.Enum, ",") {
		if v = strings.TrimSpace(v); v != "" {
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		list = wordsOf[f.Name]
	}
	return list
}

// wordsOf are the words of flags that mean the same in all commands, and whose values the server checks.
var wordsOf = map[string][]string{
	"environment":  texts(wire.Environments),
	"severity":     texts(rule.Severities),
	"severity-min": texts(rule.Severities),
	"verdict":      texts(rule.Verdicts),
}

func texts[T ~string](values []T) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	return list
}
