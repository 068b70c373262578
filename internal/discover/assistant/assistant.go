// Package assistant finds rules in the instructions that people give to coding assistants, such as AGENTS.md, CLAUDE.md and the
// rules of Cursor and Copilot, and writes rules as such instructions.
package assistant

import (
	"context"
	"path"
	"slices"
	"strings"

	"tenet/internal/blocks"
	"tenet/internal/discover/prose"
	"tenet/internal/discover/source"
	"tenet/internal/rule"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// names are files with instructions, in lower case.
var names = text.Words(`
agents.md agent.md agents.override.md claude.md claude.local.md gemini.md conventions.md .cursorrules .windsurfrules .clinerules .rules
copilot-instructions.md skill.md review.md pr_compliance_checklist.yaml pr_compliance_checklist.yml
`)

// spoken are names of instructions that are ordinary words too. In small letters among documents they name a page, such as
// docs/agents.md.
var spoken = text.Words("agents.md agent.md claude.md gemini.md conventions.md skill.md review.md")

// documents are folders of pages for people.
var documents = text.Words("docs doc documentation site website content pages guide guides wiki blog")

// folders hold files with instructions.
var folders = []string{".cursor/rules/", ".windsurf/rules/", ".continue/rules/", ".clinerules/", ".github/instructions/", ".claude/rules/", ".roo/rules/"}

// Instructions reports whether a file is made for assistants, by its path alone.
func Instructions(file string) bool {
	if dir, name := path.Split(file); spoken[name] && slices.ContainsFunc(strings.Split(dir, "/"), func(part string) bool { return documents[part] }) {
		return false
	}
	file = strings.ToLower(file)
	base := path.Base(file)
	if names[base] || strings.HasSuffix(base, ".mdc") || strings.HasSuffix(base, ".instructions.md") {
		return true
	}
	if !strings.HasSuffix(base, ".md") {
		return false
	}
	return slices.ContainsFunc(folders, func(folder string) bool { return strings.HasPrefix(file, folder) || strings.Contains(file, "/"+folder) })
}

// Reader reads instructions to assistants. The zero value is ready; it is safe for concurrent use.
type Reader struct{}

var _ source.Reader = Reader{}

// Kind implements [source.Reader].
func (Reader) Kind() wire.SourceKind { return wire.AssistantMD }

// Reads implements [source.Reader]; see [Instructions].
func (Reader) Reads(file string) bool { return Instructions(file) }

// Read implements [source.Reader].
func (Reader) Read(ctx context.Context, files []source.File) (found []source.Found, problems []source.Problem) {
	for _, f := range files {
		if ctx.Err() != nil {
			break
		}
		rules, wrong := read(ctx, f)
		found, problems = append(found, rules...), append(problems, wrong...)
	}
	return found, problems
}

// read reads one file.
func read(ctx context.Context, f source.File) ([]source.Found, []source.Problem) {
	text, ok := blocks.Decode(f.Content)
	if !ok {
		return nil, []source.Problem{{File: f.Path, Reason: "it holds binary data, not text; save it as UTF-8 text"}}
	}
	if ext := strings.ToLower(path.Ext(f.Path)); ext == ".yaml" || ext == ".yml" {
		return readChecklist(f.Path, text)
	}
	matter, rest, first := blocks.FrontMatter(text)
	about := readMatter(f.Path, matter)
	lines := splitLines(rest)
	items := taggedItems(lines)
	for _, t := range items { // what is read is not read again
		clear(lines[t.line+1 : t.last+1])
		lines[t.line] = ""
	}
	if len(items) > 0 {
		rest = strings.Join(lines, "\n")
	}
	if quoted := unquoted(lines); quoted {
		rest = strings.Join(lines, "\n")
	}
	list := blocks.Markdown(rest, first, blocks.Sentences)
	found := about.tagged(f.Path, items, list, first, text)
	norms, gaps := prose.Find(ctx, list, prose.Instructions)
	for _, g := range gaps {
		about.problems = append(about.problems, source.Problem{File: f.Path, Line: g.Line, Reason: g.Reason})
	}
	for _, n := range norms {
		found = append(found, about.found(f.Path, n))
	}
	slices.SortStableFunc(found, func(a, b source.Found) int { return a.Line - b.Line })
	return found, about.problems
}

// leastQuoted is how many lines of a file must be strings of a script for them to be read as rules.
const leastQuoted = 3

// unquoted makes items of a list of the lines that are strings in an array of a script, as some files hold their rules, and reports whether
// there are any.
func unquoted(lines []string) bool {
	var at []int
	fenced := false
	for i, line := range lines {
		if s := strings.TrimSpace(line); strings.HasPrefix(s, "```") {
			fenced = !fenced
		} else if _, ok := quotedLine(s); ok && !fenced {
			at = append(at, i)
		}
	}
	if len(at) < leastQuoted {
		return false
	}
	for _, i := range at {
		s, _ := quotedLine(strings.TrimSpace(lines[i]))
		lines[i] = "- " + s
	}
	for i, line := range lines {
		if script(strings.TrimSpace(line)) {
			lines[i] = ""
		}
	}
	return true
}

// script reports whether a line is of the script around its strings.
func script(line string) bool {
	switch line {
	case "[", "]", "];", "],", "(", ")", ");", "`", "`;", "{", "}", "};", "},":
		return true
	}
	first, _, _ := strings.Cut(line, " ")
	return (first == "const" || first == "let" || first == "var" || first == "export" || first == "module.exports" || first == "//") && strings.ContainsAny(line, "=[{`/")
}

// quotedLine returns the words of a line that is nothing but a string in quotation marks, of more than two words.
func quotedLine(s string) (string, bool) {
	s = strings.TrimSuffix(s, ",")
	if len(s) < 3 || !strings.ContainsRune("\"'`", rune(s[0])) || s[len(s)-1] != s[0] || strings.IndexByte(s[1:len(s)-1], s[0]) >= 0 && s[0] != '\'' {
		return "", false
	}
	s = s[1 : len(s)-1]
	return s, strings.Count(s, " ") > 1 && !strings.ContainsAny(s, "<>{};=")
}

// splitLines cuts a text into lines without their ends.
func splitLines(text string) []string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	return lines
}

// found makes a candidate of a norm.
func (m *matter) found(file string, n prose.Norm) source.Found {
	f := source.Found{
		Kind: wire.AssistantMD, Statement: n.Statement, Modality: n.Modality, Severity: n.Severity, Tags: n.Tags(tagPath(file)), Exceptions: n.Exceptions,
		AppliesTo: m.appliesTo(), Rationale: n.Rationale, File: file, Line: n.Line, EndLine: n.EndLine, Quote: n.Quote,
		Section: strings.Join(n.Section, " > "), Method: n.Method, Note: strings.TrimSpace(m.note + " " + n.Why()), Confidence: n.Confidence, Signs: n.Signs,
	}
	if f.AppliesTo == nil {
		f.AppliesTo = m.below(headingGlobs(n.Section))
	}
	return f
}

// tagPath returns the part of the path of instructions that says what they are about: the name of a file of rules, not AGENTS.md.
func tagPath(file string) string {
	base := strings.ToLower(path.Base(file))
	if names[base] {
		return path.Dir(file)
	}
	return base
}

// maxQuote bounds a quote, in bytes, and so in characters.
const maxQuote = 2000

// tagged makes candidates of items with a tag.
func (m *matter) tagged(file string, items []tagged, list []blocks.Block, first int, text string) []source.Found {
	if len(items) == 0 {
		return nil
	}
	lines := splitLines(text)
	out := make([]source.Found, 0, len(items))
	var section []string
	next := 0
	for _, t := range items {
		line, end := t.line+first, t.end+first
		for ; next < len(list) && list[next].Line < line; next++ {
			section = list[next].Section
			if list[next].Kind == blocks.Heading {
				section = append(slices.Clip(section), list[next].Text)
			}
		}
		f := source.Found{
			Kind: wire.AssistantMD, Statement: t.statement, Modality: t.tag.modality, Severity: t.tag.severity, Scope: t.tag.scope, Tags: t.tag.tags,
			Exceptions: t.exceptions, Rationale: t.rationale, File: file, Line: line, EndLine: end, Quote: quoteOf(lines[line-1 : end]),
			Section: strings.Join(section, " > "), Method: "item of a list with a tag", Note: m.note, Confidence: 1,
			AppliesTo: t.tag.appliesTo(m),
		}
		if err := valid(&f, t.tag.slug); err != nil {
			m.problems = append(m.problems, source.Problem{File: file, Line: line, Reason: "its tag gives no rule: " + err.Error()})
			continue
		}
		if t.tag.slug != "" {
			f.Note = strings.TrimSpace(f.Note + " Its tag names rule " + t.tag.slug + ".")
		}
		out = append(out, f)
	}
	return out
}

// valid checks what a tag says, which anybody may have written.
func valid(f *source.Found, slug string) error {
	r := rule.Rule{
		Statement: f.Statement, Modality: f.Modality, Severity: f.Severity, Slug: slug, Scope: f.Scope, Tags: f.Tags, Exceptions: f.Exceptions,
		Rationale: f.Rationale, AppliesTo: f.AppliesTo,
	}
	r.Normalize()
	return r.Validate()
}

// appliesTo returns the files that the tag narrows a rule to, or those of the front matter where the tag names no paths.
func (t *tag) appliesTo(m *matter) *rule.AppliesTo {
	a := &rule.AppliesTo{Paths: t.paths, ExcludePaths: t.exclude, Repositories: t.repos, Kinds: t.kinds, Tools: t.tools}
	if about := m.appliesTo(); len(a.Paths) == 0 && about != nil {
		a.Paths = about.Paths
		a.ExcludePaths = append(slices.Clone(about.ExcludePaths), t.exclude...)
	}
	if a.Empty() {
		return nil
	}
	return a
}

// quoteOf joins lines to a quote.
func quoteOf(lines []string) string {
	return text.Clip(strings.Join(lines, "\n"), maxQuote, "")
}
