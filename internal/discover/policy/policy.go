// Package policy finds rules in documents for people: policies, standards, handbooks, contracts. It reads Markdown,
// reStructuredText, AsciiDoc, text, HTML, Word (docx) and PDF.
package policy

import (
	"context"
	"path"
	"slices"
	"strings"
	"unicode"

	"tenet/internal/blocks"
	"tenet/internal/discover/assistant"
	"tenet/internal/discover/prose"
	"tenet/internal/discover/source"
	"tenet/internal/document/extract"
	"tenet/internal/rule"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// Formats that [extract.Run] has no need of.
const (
	rst      extract.Format = "rst"
	asciiDoc extract.Format = "asciidoc"
)

// formats are the endings of file names that are read. A template of a document is read like the document.
var formats = map[string]extract.Format{
	".md": extract.Markdown, ".markdown": extract.Markdown, ".mdown": extract.Markdown, ".mdx": extract.Markdown, ".txt": extract.Text, ".text": extract.Text,
	".html": extract.HTML, ".htm": extract.HTML, ".xhtml": extract.HTML, ".rst": rst, ".rest": rst, ".adoc": asciiDoc, ".asciidoc": asciiDoc, ".docx": extract.DOCX, ".pdf": extract.PDF,
}

// others are files of these formats that hold no rules for people, by the name without its ending.
var others = text.Words(`
license licence copying notice authors contributors cmakelists robots humans requirements
requirements-dev third_party_notices
`)

// Reader reads policy documents. The zero value is ready; it is safe for concurrent use.
type Reader struct {
	// Limits bound the reading of a docx or PDF file; zero fields take the defaults.
	Limits extract.Limits
}

var _ source.Reader = Reader{}

// Kind implements [source.Reader].
func (Reader) Kind() wire.SourceKind { return wire.PolicyDocument }

// Reads implements [source.Reader]: documents that are neither instructions to assistants nor licences.
func (Reader) Reads(file string) bool {
	format, stem := formatOf(file)
	return format != "" && !others[stem] && !assistant.Instructions(file)
}

// formatOf returns the format of a file by its name, and the name without its ending, in lower case.
func formatOf(file string) (f extract.Format, stem string) {
	base := strings.ToLower(path.Base(file))
	for _, template := range []string{".tmpl", ".tpl", ".j2", ".jinja", ".erb", ".liquid", ".hbs", ".in"} {
		base = strings.TrimSuffix(base, template)
	}
	ext := path.Ext(base)
	return formats[ext], strings.TrimSuffix(base, ext)
}

// Read implements [source.Reader].
func (r Reader) Read(ctx context.Context, files []source.File) (found []source.Found, problems []source.Problem) {
	for _, f := range files {
		if ctx.Err() != nil {
			break
		}
		list, title, err := r.blocks(ctx, f)
		if err != nil {
			if ctx.Err() == nil {
				problems = append(problems, source.Problem{File: f.Path, Reason: err.Error()})
			}
			continue
		}
		scope := scopeOf(f.Path)
		if title == "" && len(list) > 0 && list[0].Kind == blocks.Heading {
			title = lastWord(list[0].Text)
		}
		norms, gaps := prose.Find(ctx, list, genre(f.Path, title))
		for _, g := range gaps {
			problems = append(problems, source.Problem{File: f.Path, Line: g.Line, Reason: g.Reason})
		}
		for _, n := range norms {
			found = append(found, source.Found{
				Kind: wire.PolicyDocument, Statement: n.Statement, Modality: n.Modality, Severity: n.Severity, Scope: scope, Tags: n.Tags(f.Path),
				Exceptions: n.Exceptions, Rationale: n.Rationale, File: f.Path, Line: n.Line, EndLine: n.EndLine, Quote: n.Quote,
				Section: strings.Join(n.Section, " > "), Method: n.Method, Note: n.Why(), Confidence: n.Confidence, Signs: n.Signs,
			})
		}
	}
	return found, problems
}

// blocks cuts a file into blocks, and finds its title.
func (r Reader) blocks(ctx context.Context, f source.File) (list []blocks.Block, title string, err error) {
	format, _ := formatOf(f.Path)
	if format == extract.DOCX || format == extract.PDF {
		return r.extracted(ctx, format, f.Content)
	}
	text, ok := blocks.Decode(f.Content)
	if !ok {
		return nil, "", rule.Errorf(rule.CodeInvalid, "it holds binary data, not text; save it as UTF-8 text")
	}
	switch format {
	case extract.HTML:
		if list, _, err = blocks.HTML(text, blocks.Sentences); err != nil {
			return nil, "", rule.Errorf(rule.CodeTooLarge, "%s", err)
		}
	case extract.Text:
		if !records(text) {
			list = blocks.Text(text, 1)
		}
	case rst:
		list = blocks.RST(text, 1)
	case asciiDoc:
		list = blocks.Adoc(text, 1)
	default:
		matter, rest, first := blocks.FrontMatter(text)
		list, title = blocks.Markdown(rest, first, blocks.Sentences), matterTitle(matter)
	}
	return list, title, nil
}

// extracted reads a docx or PDF file. Its lines are those of its text: headings and paragraphs with an empty line between them.
func (r Reader) extracted(ctx context.Context, format extract.Format, content []byte) ([]blocks.Block, string, error) {
	result, err := extract.Run(ctx, format, content, r.Limits)
	if err != nil {
		return nil, "", err
	}
	var text strings.Builder
	for _, b := range result.Blocks {
		if b.Heading > 0 {
			text.WriteString(strings.Repeat("#", b.Heading) + " ")
		}
		text.WriteString(b.Text + "\n\n")
	}
	return blocks.Text(text.String(), 1), result.Title, nil
}

// records reports whether a text is data with one record in each line, whose fields are parted by bars, tabs or semicolons.
// Sentences in it are values.
func records(text string) bool {
	lines, parted := 0, map[byte]int{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		lines++
		for _, sign := range []byte("|\t;") {
			if at := strings.IndexByte(line, sign); at > 0 && at < len(line)-1 {
				parted[sign]++
			}
		}
	}
	return lines >= 3 && 10*max(parted['|'], parted['\t'], parted[';']) >= 9*lines
}

// matterTitle returns the title that front matter gives.
func matterTitle(matter string) string {
	for line := range strings.Lines(matter) {
		if title, ok := strings.CutPrefix(line, "title:"); ok {
			return title
		}
	}
	return ""
}

// regulating are words in a path or title of a document that is there to regulate.
var regulating = text.Words(`
policy policies standard standards guideline guidelines handbook rules rule conduct security contributing compliance terms
convention conventions styleguide style governance procedure procedures regulation regulations agreement requirements checklist
code-of-conduct controls directive law act statute playbook responsibilities expectations etiquette obligations bylaws charter charters
practices guidance
richtlinie richtlinien leitlinie leitlinien regeln ordnung satzung verhaltenskodex vorgaben vorgabe anweisung betriebsvereinbarung
politique politiques charte chartes règlement reglement consignes règles regles
política politica políticas politicas norma normas reglamento lineamientos directrices estándares estandares reglas
`)

// compounds are the ends of German words for documents that regulate, and the manuals among those that end so.
var (
	compounds = []string{"richtlinie", "richtlinien", "leitlinie", "leitlinien", "vorschrift", "vorschriften", "hausordnung", "nutzungsordnung", "satzung", "handbuch"}
	manuals   = text.Words("handbuch benutzerhandbuch anwenderhandbuch installationshandbuch bedienungshandbuch administrationshandbuch administratorhandbuch referenzhandbuch programmierhandbuch " +
		"entwicklerhandbuch wartungshandbuch")
)

// compound reports whether a word is a German one for a document that regulates: "Mitarbeiterhandbuch", "Passwortrichtlinie".
func compound(w string) bool {
	return !manuals[w] && slices.ContainsFunc(compounds, func(end string) bool { return strings.HasSuffix(w, end) })
}

// lastWord returns the last word of a heading, which says what the text is: a security policy, but not the "Open Policy Agent".
func lastWord(heading string) string {
	words := strings.Fields(heading)
	if len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
}

// genre returns how to read a document, by its path and title.
func genre(file, title string) prose.Genre {
	if Regulates(file + " " + title) {
		return prose.Policy
	}
	return prose.Document
}

// Regulates reports whether a path or title is that of a document that is there to regulate.
func Regulates(name string) bool {
	last := ""
	for w := range strings.FieldsFuncSeq(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if regulating[w] || compound(w) || last == "code" && w == "reviews" {
			return true
		}
		last = w
	}
	return false
}

// homes are folders that hold policies by the part of the organisation they are for.
var homes = text.Words("policy policies standards handbook regulations compliance")

// scopeOf returns the scope of the rules of a file: the folders between the one that holds policies and the file. A policy in
// policies/finance/payments.md holds in finance.
func scopeOf(file string) []string {
	parts := strings.Split(strings.ToLower(file), "/")
	for i, p := range parts[:len(parts)-1] {
		if !homes[p] {
			continue
		}
		scope := rule.CleanScope(strings.Join(parts[i+1:len(parts)-1], "/"))
		if scope == "" || len(scope) > rule.MaxLabel || strings.Contains(scope, "//") {
			return nil
		}
		return []string{scope}
	}
	return nil
}
