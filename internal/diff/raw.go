package diff

import (
	"regexp"
	"strings"
)

// rawLine matches a line of git diff --raw, which --patch-with-raw writes before the patch: colons, modes, names of contents, kinds
// of change, and the paths of the file behind a tab.
var rawLine = regexp.MustCompile(`^:+(?:[0-7]{6} )+(?:[0-9a-f]{4,64}(?:\.\.\.)? )+([A-Z]+)[0-9]*\t(.+)$`)

// noteRaw notes the file of a raw line. Of a deleted file, no content is missing.
func noteRaw(p *parser) error {
	if p.line == "" || p.line[0] != ':' || len(p.named) > MaxFiles {
		return nil
	}
	m := rawLine.FindStringSubmatch(p.line)
	if m == nil || strings.Trim(m[1], "D") == "" {
		return nil
	}
	name := m[2][strings.LastIndexByte(m[2], '\t')+1:] // the new name of a renamed file is behind the old one
	name, ok := wholeName(name)
	if !ok {
		return brokenAt(p.no, "cannot read the file name in %s", excerpt(p.line))
	}
	path, err := CleanPath(name)
	if err != nil {
		return brokenAt(p.no, "%s: %s", excerpt(p.line), err.Error())
	}
	p.named = append(p.named, path)
	return nil
}

// addNamed adds the files that raw lines name and no patch shows: the diff was cut, or limited to a part.
func addNamed(p *parser) {
	if len(p.named) == 0 {
		return
	}
	shown := map[string]bool{}
	for i := range p.files {
		shown[p.files[i].Path] = true
		for _, path := range p.files[i].Others {
			shown[path] = true
		}
	}
	for _, path := range p.named {
		if !shown[path] && len(p.files) < MaxFiles {
			shown[path] = true
			p.files = append(p.files, File{
				Path: path, Change: Modified, Missing: true, Unseen: "the diff names it and does not show its change",
			})
		}
	}
}
