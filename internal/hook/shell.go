package hook

import (
	"regexp"
	"slices"
	"strings"
)

// Words of a shell command by which it writes text that it holds into a file. They are found as they are commonly written: a command
// has endless other ways, and what they write is judged at the commit.
var (
	shellWord = `('[^'\n]*'|"[^"\n]*"|[^\s'"<>|&;()]+)`
	hereDoc   = regexp.MustCompile(`(?:^|[^<])<<(-?)[ \t]*\\?('[^'\n]+'|"[^"\n]+"|\w+)`)
	redirect  = regexp.MustCompile(`(?:^|[^0-9&>]|\b1)>{1,2}\|?[ \t]*` + shellWord)
	tee       = regexp.MustCompile(`\btee[ \t]+(?:-a[ \t]+|--append[ \t]+)?` + shellWord)
	echo      = regexp.MustCompile(`(?:^|[\n;&|({][ \t]*)(?:echo|printf)[ \t]+(?:-[neE]+[ \t]+)*('[^']*'|"(?:[^"\\]|\\.)*"|[^\n'"<>|&;]*)[ \t]*>{1,2}\|?[ \t]*` + shellWord)
	patched   = regexp.MustCompile(`^\*\*\* (?:Add|Update) File: (.+)$`)
)

// written is a text and the file that a command writes it into.
type written struct{ name, text string }

// writes finds what a shell command writes into files: here-documents, echo and printf with a redirection, and patches for
// apply_patch.
func writes(command string) []written {
	var list []written
	add := func(name, text string) {
		if name = bare(name); name != "" && !strings.HasPrefix(name, "/dev/") && strings.TrimSpace(text) != "" {
			list = append(list, written{name, strings.TrimSuffix(text, "\n") + "\n"})
		}
	}
	for _, m := range echo.FindAllStringSubmatch(command, -1) {
		add(m[2], strings.NewReplacer(`\n`, "\n", `\"`, `"`).Replace(bare(m[1])))
	}
	lines := strings.Split(strings.ReplaceAll(command, "\r\n", "\n"), "\n")
	for at := 0; at < len(lines); at++ {
		line := lines[at]
		var names []string
		for _, m := range slices.Concat(redirect.FindAllStringSubmatch(line, -1), tee.FindAllStringSubmatch(line, -1)) {
			names = append(names, m[1])
		}
		for _, m := range hereDoc.FindAllStringSubmatch(line, -1) {
			var text []string
			for at++; at < len(lines); at++ {
				body := lines[at]
				if m[1] != "" {
					body = strings.TrimLeft(body, "\t")
				}
				if body == bare(m[2]) {
					break
				}
				text = append(text, body)
			}
			for _, name := range names {
				add(name, strings.Join(text, "\n"))
			}
			for name, added := range patches(text) {
				add(name, added)
			}
		}
	}
	return list
}

// patches goes through the files of a patch in the form of apply_patch, and what it adds to each.
func patches(lines []string) func(yield func(name, added string) bool) {
	return func(yield func(name, added string) bool) {
		name, added := "", ""
		for _, line := range lines {
			if m := patched.FindStringSubmatch(line); m != nil {
				if name != "" && !yield(name, added) {
					return
				}
				name, added = m[1], ""
			} else if text, ok := strings.CutPrefix(line, "+"); ok {
				added += text + "\n"
			}
		}
		if name != "" {
			yield(name, added)
		}
	}
}

// bare is a word without its quotes.
func bare(word string) string {
	if n := len(word); n >= 2 && (word[0] == '\'' || word[0] == '"') && word[n-1] == word[0] {
		return word[1 : n-1]
	}
	return strings.TrimSpace(word)
}
