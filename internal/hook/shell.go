package hook

import (
	"regexp"
	"slices"
	"strings"
)

// Expressions for the common ways in which a shell command writes its own text into a file. A command has endless other ways;
// Tenet judges their results at the commit.
var (
	shellWord = `('[^'\n]*'|"[^"\n]*"|[^\s'"<>|&;()]+)`
	hereDoc   = regexp.MustCompile(`(?:^|[^<])<<(-?)[ \t]*\\?('[^'\n]+'|"[^"\n]+"|\w+)`)
	redirect  = regexp.MustCompile(`(?:^|[^0-9&>]|\b1)>{1,2}\|?[ \t]*` + shellWord)
	tee       = regexp.MustCompile(`\btee[ \t]+(?:-a[ \t]+|--append[ \t]+)?` + shellWord)
	echo      = regexp.MustCompile(`(?:^|[\n;&|({][ \t]*)(?:echo|printf)[ \t]+(?:-[neE]+[ \t]+)*('[^']*'|"(?:[^"\\]|\\.)*"|[^\n'"<>|&;]*)[ \t]*>{1,2}\|?[ \t]*` + shellWord)
	// arithmetic has << for a shift, as in n=$((1 << 2)), where no here-document begins.
	arithmetic = regexp.MustCompile(`\(\([^;|&<>]*(?:<<[^;|&<>]*)+\)\)`)
	patched    = regexp.MustCompile(`^\*\*\* (?:Add|Update) File: (.+)$`)
)

// write is a text and the file that a command writes it into.
type write struct{ name, text string }

// writes returns the texts that a shell command writes into files: here-documents, echo and printf with a redirection, and
// patches for apply_patch.
func writes(command string) []write {
	var list []write
	add := func(name, text string) {
		if name = bare(name); name != "" && !strings.HasPrefix(name, "/dev/") && strings.TrimSpace(text) != "" {
			list = append(list, write{name, strings.TrimSuffix(text, "\n") + "\n"})
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
		for _, m := range hereDoc.FindAllStringSubmatch(arithmetic.ReplaceAllString(line, ""), -1) {
			var text []string
			end := at + 1
			for ; end < len(lines); end++ {
				body := lines[end]
				if m[1] != "" {
					body = strings.TrimLeft(body, "\t")
				}
				if body == bare(m[2]) {
					break
				}
				text = append(text, body)
			}
			if end < len(lines) { // else it may be no here-document, and commands follow
				at = end
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

// patches yields the files of a patch in the form of apply_patch, and the lines that it adds to each.
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

// bare returns a word without its quotes.
func bare(word string) string {
	if n := len(word); n >= 2 && (word[0] == '\'' || word[0] == '"') && word[n-1] == word[0] {
		return word[1 : n-1]
	}
	return strings.TrimSpace(word)
}
