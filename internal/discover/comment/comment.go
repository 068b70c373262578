// Package comment finds rules in the comments of code: what callers must do, what nobody may do, and what values always are, such as
// "must hold the lock", "never log the token" and "amounts are stored in minor units". Comments that describe the code are none.
package comment

import (
	"bytes"
	"context"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"tenet/internal/blocks"
	"tenet/internal/discover/prose"
	"tenet/internal/discover/source"
	"tenet/internal/rule"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// Reader finds rules in comments. The zero value is ready; it is safe for concurrent use.
type Reader struct{}

var _ source.Reader = Reader{}

// Kind implements [source.Reader].
func (Reader) Kind() wire.SourceKind { return wire.CodePatterns }

// style is how a language writes comments.
type style struct {
	name  string // of the language
	line  string // what begins a comment to the end of the line
	block bool   // /* and */ too
	doc   bool   // strings in three quotes document
	raw   bool   // strings in backquotes go over lines
}

var (
	slashes = func(name string) style { return style{name: name, line: "//", block: true} }
	goStyle = style{name: "go", line: "//", block: true, raw: true}
	script  = style{name: "javascript", line: "//", block: true, raw: true}
	typed   = style{name: "typescript", line: "//", block: true, raw: true}
	pyStyle = style{name: "python", line: "#", doc: true}
	hashes  = func(name string) style { return style{name: name, line: "#"} }
	styles  = map[string]style{
		".go": goStyle, ".js": script, ".jsx": script, ".mjs": script, ".cjs": script, ".ts": typed, ".tsx": typed, ".mts": typed, ".cts": typed, ".py": pyStyle,
		".java": slashes("java"), ".kt": slashes("kotlin"), ".rs": slashes("rust"), ".c": slashes("c"), ".h": slashes("c"), ".cc": slashes("cpp"), ".cpp": slashes("cpp"),
		".hpp": slashes("cpp"), ".cs": slashes("csharp"), ".swift": slashes("swift"), ".scala": slashes("scala"), ".dart": slashes("dart"), ".php": slashes("php"),
		".rb": hashes("ruby"), ".tf": hashes("terraform"), ".ex": hashes("elixir"),
	}
)

// Reads implements [source.Reader]: code by its ending, without tests and files that programs write.
func (Reader) Reads(file string) bool {
	base := strings.ToLower(path.Base(file))
	if _, ok := styles[path.Ext(base)]; !ok || strings.Contains(base, ".min.") || strings.Contains(base, ".pb.") || strings.HasSuffix(base, ".d.ts") || strings.Contains(base, "_templ.go") {
		return false
	}
	stem := strings.TrimSuffix(base, path.Ext(base))
	if strings.HasSuffix(stem, "_test") || strings.HasSuffix(stem, ".test") || strings.HasSuffix(stem, ".spec") || strings.HasSuffix(stem, "_spec") || strings.HasPrefix(stem, "test_") {
		return false
	}
	return !slices.ContainsFunc(strings.Split(strings.ToLower(path.Dir(file)), "/"), func(part string) bool { return passed[part] })
}

// passed are folders whose code is of tests, or that programs write.
var passed = text.Words("test tests __tests__ e2e spec dist build coverage generated gen .git")

// Bounds of one file.
const (
	maxFile  = 1 << 20 // bytes
	maxFound = 200
)

// Read implements [source.Reader].
func (Reader) Read(ctx context.Context, files []source.File) (found []source.Found, problems []source.Problem) {
	for i := range files {
		if ctx.Err() != nil {
			break
		}
		f := &files[i]
		if len(f.Content) > maxFile || !utf8.Valid(f.Content) || bytes.IndexByte(f.Content, 0) >= 0 {
			continue // the reader of conventions reports those that it reads, too
		}
		s := styles[strings.ToLower(path.Ext(f.Path))]
		here := readFile(ctx, f, s)
		if len(here) > maxFound {
			problems = append(problems, source.Problem{File: f.Path, Line: here[maxFound].Line, Reason: "there are 200 statements in the comments above, and the rest of them is left out"})
			here = here[:maxFound]
		}
		found = append(found, here...)
	}
	return found, problems
}

// written is a mark of programs in the first comments of a file.
var written = regexp.MustCompile(`(?i)do not edit|@generated|code generated`)

func readFile(ctx context.Context, f *source.File, s style) []source.Found {
	src := string(f.Content)
	lines := strings.Split(src, "\n")
	if written.MatchString(strings.Join(lines[:min(len(lines), 15)], "\n")) {
		return nil
	}
	var found []source.Found
	for _, r := range remarks(lines, s) {
		if len(found) > maxFound || ctx.Err() != nil {
			break
		}
		list := blocks.Text(r.text, r.line)
		norms, _ := prose.Find(ctx, list, prose.Remarks)
		norms = append(norms, constants(list)...)
		slices.SortStableFunc(norms, func(a, b prose.Norm) int { return a.Line - b.Line })
		for k := range norms {
			if n := &norms[k]; regulates(n) && !documents(n.Statement, r.about) {
				found = append(found, candidate(f.Path, s, r, n, lines))
			}
		}
	}
	return found
}

// candidate makes a candidate of a norm in a comment.
func candidate(file string, s style, r remark, n *prose.Norm, lines []string) source.Found {
	statement := n.Statement
	if r.about != "" && needsSubject(statement) {
		statement = "`" + r.about + "`: " + strings.ToLower(statement[:1]) + statement[1:]
	}
	tags := n.Tags("")
	if !slices.Contains(tags, s.name) {
		tags = append([]string{s.name}, tags...)
	}
	return source.Found{
		Kind: wire.CodePatterns, Statement: text.FitRunes(statement, rule.MaxStatement, ""), Modality: n.Modality, Severity: n.Severity, Tags: tags,
		Exceptions: n.Exceptions, Rationale: n.Rationale, AppliesTo: appliesTo(file), File: file, Line: n.Line, EndLine: n.EndLine,
		Quote:   strings.TrimSpace(text.FitRunes(strings.Join(lines[n.Line-1:min(n.EndLine, len(lines))], "\n"), maxQuote, "")),
		Section: r.about, Method: "comment in the code: " + n.Method, Note: n.Why(), Confidence: n.Confidence, Signs: n.Signs,
	}
}

const maxQuote = 2000

// needsSubject reports whether a statement lacks what it is about: "Must hold the lock", "It must not be copied".
func needsSubject(statement string) bool {
	first, _, _ := strings.Cut(strings.ToLower(statement), " ")
	switch first {
	case "must", "may", "it", "this", "they", "these", "shall", "not":
		return true
	}
	return false
}

// appliesTo returns the files of the same language in the folder of a file and below it; nil where the path cannot be a glob.
func appliesTo(file string) *rule.AppliesTo {
	dir, glob := path.Dir(file), "**/*"+strings.ToLower(path.Ext(file))
	if dir != "." {
		glob = dir + "/" + glob
	}
	if len(glob) > rule.MaxLabel || strings.ContainsAny(dir, "*?[]{}\\!") {
		return nil
	}
	return &rule.AppliesTo{Paths: []string{glob}}
}

var (
	// describing is the wording of comments that explain how the code works or why it is so.
	describing = regexp.MustCompile(`(?i)^(?:if |when |since |because |so that |note that if |otherwise|this means|this is|we |i |here |there |the reason|in order|unlike|even if|although|for example|e\.g\.|see |returns? |reports? whether|panics? )`)
	// unsure is a wording of doubt.
	unsure = regexp.MustCompile(`(?i)\b(?:todo|fixme|xxx|hack|should never happen|must be (?:a|an|the) (?:bug|error|mistake)|must have|must already|must mean|presumably|probably|maybe|perhaps|cannot|can't|couldn't|may not|might)\b|\?$`)
	// related is a duty in a clause that says which thing is meant: "the hooks that a commit must pass".
	related = regexp.MustCompile(`(?i)\b(?:that|which|whose|who|whom|what|how|where|whether|if|unless)\b[^,:;.]*\b(?:must|may|shall|never|not to|required|only)\b`)
	// able is an ability, and no permission.
	able = regexp.MustCompile(`(?i)\bcan only\b|\bonly\b[^.]*\bcan\b|\bat most\b|\bup to\b|\bnot ok\b|\bbut not\b|\bmay have\b|^don.?t\b|^never \w+s\b|^not \w+ed\b|\.\.\.|…|\b(?:must|shall|should|may|never),`)
	// codelike is text that is code rather than words.
	codelike = regexp.MustCompile(`[{};]|\w\(.*\)\s*[=:]|==|&&|\|\||^\s*(?:return|if \(|for \(|var |let |const |import )`)
)

// regulates reports whether a norm in a comment binds those who change or call the code.
func regulates(n *prose.Norm) bool {
	s := n.Statement
	words := strings.Count(s, " ") + 1
	if words < 3 || words > 60 || strings.HasSuffix(n.Quote, ":") || strings.HasSuffix(s, " contain") || describing.MatchString(s) || related.MatchString(s) || able.MatchString(s) || unsure.MatchString(s) || codelike.MatchString(s) {
		return false
	}
	switch n.Means {
	case prose.ByBinding, prose.ByRestraint, prose.ByNegation, prose.ByStatement:
		return true
	case prose.ByItem, prose.BySentence, prose.ByAdvice, prose.ByPractice, prose.ByPermission, prose.ByLead, prose.ByLabel, prose.ByBox:
		return n.Means != prose.ByLead && n.Means != prose.ByLabel && n.Means != prose.ByBox && ordered.MatchString(s)
	}
	return false
}

// documents reports whether a statement says what the thing it is written at does: "Open returns ...".
func documents(statement, about string) bool {
	first, rest, _ := strings.Cut(statement, " ")
	second, _, _ := strings.Cut(rest, " ")
	switch second {
	case "must", "may", "shall", "never", "is", "are", "has":
		return false
	}
	return about != "" && strings.EqualFold(first, about)
}

// ordered is an order that binds the people who change the code.
var ordered = regexp.MustCompile(`(?i)^(?:always\b|(?:please )?(?:keep|update|add|remember|make sure|ensure|be sure)\b.*\b(?:sync|sorted|order|alphabetical|together|updated?|up to date|too|also|aligned|match|consistent|stable|compatible)\b)`)

// fixed is a statement of what values always are: "Amounts are stored in minor units."
var fixed = regexp.MustCompile(`(?i)\b(?:amounts?|prices?|balances?|totals?|fees?|costs?|money|times?|timestamps?|dates?|durations?|timeouts?|intervals?|sizes?|lengths?|distances?|weights?|angles?|ids?|identifiers?|keys?|names?|paths?|values?|coordinates?|currenc(?:y|ies)|rates?|percentages?|scores?|offsets?|indices|indexes|lines?|columns?|emails?|strings?)\b[^.;:()]{0,40} (?:is|are) (?:(?:always|only|all|also) )?(?:stored |kept |held |expressed |measured |given |encoded |represented |normali[sz]ed |recorded |written |counted |compared |sorted )?(?:in |as |from |with |by )(?:UTC|(?:the )?(?:minor|smallest) (?:currency )?units?|cents|pence|(?:whole )?(?:milli|micro|nano)?seconds|minutes|bytes|(?:k|kilo|mega|m)bytes|bits|basis points|per ?cent|lower ?case|upper ?case|metres|meters|millimetres|degrees|radians|ISO|RFC|UTF-8|base64|hex|Unix|integers|strings|slashes|forward slashes|zero|one|0|1)\b`)

// constants finds statements of what values always are.
func constants(list []blocks.Block) []prose.Norm {
	var out []prose.Norm
	for i := range list {
		b := &list[i]
		for _, at := range prose.Sentences(b.Text) {
			raw := b.Text[at[0]:at[1]]
			if len(raw) > 300 || !fixed.MatchString(strings.ReplaceAll(raw, "\n", " ")) || unsure.MatchString(raw) {
				continue
			}
			out = append(out, prose.Constant(b, at))
		}
	}
	return out
}
