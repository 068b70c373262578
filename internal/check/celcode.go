package check

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"tenet/internal/code"
	"tenet/internal/diff"
	"tenet/internal/subject"
)

// codeVar is the variable with the files of source code, read for calls, imports and the like.
const codeVar = "code"

var (
	codeType      = newObjectType("Code")
	callType      = newObjectType("Call")
	importType    = newObjectType("Import")
	assignType    = newObjectType("Assignment")
	stringType    = newObjectType("String")
	decoratorType = newObjectType("Decorator")
)

// codeLists are the fields of Code that are lists of facts.
var codeLists = []string{"calls", "imports", "assignments", "strings", "decorators"}

func init() {
	texts := types.NewListType(types.StringType)
	field(codeType, "path", types.StringType, func(c *celCode) ref.Val { return c.path })
	field(codeType, "language", types.StringType, func(c *celCode) ref.Val { return types.String(c.language) })
	field(codeType, "package", types.StringType, func(c *celCode) ref.Val { return c.pkg })
	for i, t := range []*objectType{callType, importType, assignType, stringType, decoratorType} {
		field(codeType, codeLists[i], types.NewListType(t.cel), func(c *celCode) ref.Val { return c.lists[i].whole() })
	}

	field(callType, "name", types.StringType, func(c *code.Call) ref.Val { return types.String(c.Name) })
	field(callType, "targets", texts, func(c *code.Call) ref.Val { return stringList(c.Targets) })
	field(callType, "args", texts, func(c *code.Call) ref.Val { return stringList(c.Args) })
	field(callType, "constant", types.BoolType, func(c *code.Call) ref.Val { return types.Bool(c.Constant) })
	field(callType, "line", types.IntType, func(c *code.Call) ref.Val { return types.Int(c.Line) })

	field(importType, "path", types.StringType, func(i *code.Import) ref.Val { return types.String(i.Path) })
	field(importType, "module", types.StringType, func(i *code.Import) ref.Val { return types.String(i.Module) })
	field(importType, "name", types.StringType, func(i *code.Import) ref.Val { return types.String(i.Name) })
	field(importType, "alias", types.StringType, func(i *code.Import) ref.Val { return types.String(i.Alias) })
	field(importType, "line", types.IntType, func(i *code.Import) ref.Val { return types.Int(i.Line) })

	field(assignType, "name", types.StringType, func(a *code.Assignment) ref.Val { return types.String(a.Name) })
	field(assignType, "value", types.StringType, func(a *code.Assignment) ref.Val { return types.String(a.Value) })
	field(assignType, "constant", types.BoolType, func(a *code.Assignment) ref.Val { return types.Bool(a.Constant) })
	field(assignType, "line", types.IntType, func(a *code.Assignment) ref.Val { return types.Int(a.Line) })

	field(stringType, "value", types.StringType, func(s *code.String) ref.Val { return types.String(s.Value) })
	field(stringType, "line", types.IntType, func(s *code.String) ref.Val { return types.Int(s.Line) })

	field(decoratorType, "name", types.StringType, func(d *code.Decorator) ref.Val { return types.String(d.Name) })
	field(decoratorType, "args", texts, func(d *code.Decorator) ref.Val { return stringList(d.Args) })
	field(decoratorType, "line", types.IntType, func(d *code.Decorator) ref.Val { return types.Int(d.Line) })

	for _, t := range []*objectType{codeType, callType, importType, assignType, stringType, decoratorType} {
		slices.Sort(t.names)
		objectTypes[t.cel.TypeName()] = t
	}
}

// maxCode is how many bytes of source code of one subject are read.
const maxCode = 4 << 20

// celCodes holds the variable code in the readings of parts of files; see [code.Fragment].
type celCodes struct {
	normal, least, most []*celCode
	// parts reports whether the readings may differ.
	parts bool
	gaps  gaps
}

// celCode is a file of source code.
type celCode struct {
	file      int // its number in the subject
	path, pkg ref.Val
	language  string
	lists     [5]openList
	facts     []codeFact
}

// codeFact is a fact of a file: its list, its object, and its lines.
type codeFact struct {
	list  int
	value ref.Val
	span  code.Span
}

// newCELCodes reads the files of a subject whose language is known. Unit returns the unit of a file that the reading of it is about.
func newCELCodes(s *subject.Subject, files *celFiles, unit func(file int) int) *celCodes {
	out := &celCodes{gaps: gaps{base: codeGaps}}
	left := maxCode
	for i := range s.Files {
		f := &s.Files[i]
		language, sure := languageOf(f)
		embedded := "" // how a file of another form holds code
		if language == "" {
			language, embedded = embeddedIn(f)
		}
		if language == "" || f.Change == diff.Deleted {
			continue
		}
		c := celCode{file: i, path: files.all[i].path, language: language, pkg: types.String("")}
		size := 0
		for _, h := range f.Hunks {
			for _, l := range h.Lines {
				size += len(l.Text) + 1
			}
		}
		left -= size
		switch {
		case files.all[i].unseen != nil:
			u, _ := files.all[i].unseen.(*types.Unknown)
			out.put(c.unknown(u))
		case embedded != "":
			out.put(c.unknown(out.gaps.add(unit(i), "%s: %s", f.Path, embedded)))
		case !sure:
			out.put(c.unknown(out.gaps.add(unit(i), "%s: its language is not certain, because its path may also be read as %s", f.Path, strings.Join(f.Others, " or "))))
		case left < 0:
			out.put(c.unknown(out.gaps.add(unit(i), "%s: the subject has more than 4 MB of source code", f.Path)))
		case shownWhole(f):
			out.whole(&c, f, unit(i))
		default:
			out.part(&c, f, unit(i))
		}
	}
	return out
}

// languageOf returns the language of a file, and whether all readings of its path have it.
func languageOf(f *diff.File) (language string, sure bool) {
	first := ""
	if len(f.Hunks) > 0 && f.Hunks[0].NewStart <= 1 {
		for _, l := range f.Hunks[0].Lines {
			if l.Op != diff.OpDelete {
				first = l.Text
				break
			}
		}
	}
	language, sure = code.LanguageOf(f.Path, first), true
	for _, other := range f.Others {
		if l := code.LanguageOf(other, first); l != language {
			sure = false
			if language == "" {
				language = l
			}
		}
	}
	return language, sure
}

// embeddedIn returns the language whose code a file of another form may hold, and how it holds it; empty if it holds none that is read.
func embeddedIn(f *diff.File) (language, how string) {
	page := false
	f.AnyPath(func(path string) bool {
		page = page || code.IsPage(path)
		language = code.EmbeddedIn(path)
		return language != ""
	})
	changed := f.Unseen != "" || len(f.Hunks) > 0
	switch {
	case language != "":
		return language, "it holds " + language + " in another form than that of a source file, which is not read"
	case !page || !changed:
		return "", ""
	case !shownWhole(f):
		return code.JavaScript, "it may hold " + code.JavaScript + ", because only a part of the page is shown"
	}
	if src, _, _ := source(&f.Hunks[0]); !code.HoldsScript(src) {
		return "", ""
	}
	return code.JavaScript, "it is a page with " + code.JavaScript + ", which is not read"
}

// shownWhole reports whether all new lines of a file are shown.
func shownWhole(f *diff.File) bool {
	return f.Unseen == "" && len(f.Hunks) <= 1 && (f.Change == diff.Whole || f.Change == diff.Added)
}

// put adds a file that all readings share.
func (out *celCodes) put(c *celCode) {
	out.normal, out.least, out.most = append(out.normal, c), append(out.least, c), append(out.most, c)
}

// unknown returns the file with nothing known of its code.
func (c *celCode) unknown(u *types.Unknown) *celCode {
	for i := range c.lists {
		c.lists[i].lacks(u)
	}
	c.pkg = u
	return c
}

// source joins the new lines of a hunk, and lists those that are added.
func source(h *diff.Hunk) (src string, first int, added []bool) {
	var b strings.Builder
	for _, l := range h.Lines {
		if l.Op == diff.OpDelete {
			continue
		}
		if len(added) == 0 {
			first = l.New
		}
		added = append(added, l.Op == diff.OpAdd)
		b.WriteString(l.Text)
		b.WriteByte('\n')
	}
	return b.String(), first, added
}

// whole reads a file that is shown as a whole.
func (out *celCodes) whole(c *celCode, f *diff.File, unit int) {
	src, first := "", 1
	var added []bool
	if len(f.Hunks) == 1 {
		src, first, added = source(&f.Hunks[0])
	}
	facts := code.Read(f.Path, c.language, src)
	c.pkg = types.String(facts.Package)
	c.take(facts, first, added)
	out.doubt(c, f, facts, unit)
	out.put(c)
}

// part reads what a diff shows of a file. Its facts are those on added lines.
func (out *celCodes) part(c *celCode, f *diff.File, unit int) {
	out.parts = true
	readings := [3]*celCode{c, new(celCode), new(celCode)}
	*readings[1], *readings[2] = *c, *c
	pkg := ""
	for i := range f.Hunks {
		src, first, added := source(&f.Hunks[i])
		if !slices.Contains(added, true) {
			continue
		}
		fragment := code.ReadFragment(f.Path, c.language, src, first <= 1)
		for k, facts := range []*code.Facts{fragment.Normal, fragment.Least, fragment.Most} {
			readings[k].take(facts, first, added)
			out.doubt(readings[k], f, facts, unit)
		}
		if pkg == "" {
			pkg = fragment.Normal.Package
		}
	}
	for _, r := range readings {
		if r.pkg = types.String(pkg); pkg == "" && (c.language == code.Go || c.language == code.Java) {
			r.pkg = out.gaps.add(unit, "%s: the diff does not show its package", f.Path)
		}
	}
	out.normal, out.least, out.most = append(out.normal, readings[0]), append(out.least, readings[1]), append(out.most, readings[2])
}

// doubt notes what may be absent.
func (out *celCodes) doubt(c *celCode, f *diff.File, facts *code.Facts, unit int) {
	switch {
	case facts.Doubt != "":
		u := out.gaps.add(unit, "%s cannot be read as %s: %s", f.Path, c.language, facts.Doubt)
		for i := range c.lists {
			c.lists[i].lacks(u)
		}
	case facts.ImportDoubt != "":
		c.lists[slices.Index(codeLists, "imports")].lacks(out.gaps.add(unit, "%s: %s", f.Path, facts.ImportDoubt))
	}
}

// take adds the facts of a text whose first line has a number. With added it takes those that touch an added line.
func (c *celCode) take(facts *code.Facts, first int, added []bool) {
	takeFacts(c, 0, callType, facts.Calls, func(f *code.Call) *code.Span { return &f.Span }, first, added)
	takeFacts(c, 1, importType, facts.Imports, func(f *code.Import) *code.Span { return &f.Span }, first, added)
	takeFacts(c, 2, assignType, facts.Assignments, func(f *code.Assignment) *code.Span { return &f.Span }, first, added)
	takeFacts(c, 3, stringType, facts.Strings, func(f *code.String) *code.Span { return &f.Span }, first, added)
	takeFacts(c, 4, decoratorType, facts.Decorators, func(f *code.Decorator) *code.Span { return &f.Span }, first, added)
}

func takeFacts[T any](c *celCode, list int, typ *objectType, facts []T, spanOf func(*T) *code.Span, first int, added []bool) {
	for i := range facts {
		fact := facts[i]
		span := spanOf(&fact)
		from, to := max(1, min(span.Line, len(added))), max(1, min(span.End, len(added)))
		if len(added) == 0 || !slices.Contains(added[from-1:max(from, to)], true) {
			continue
		}
		span.Line, span.End = from+first-1, to+first-1
		value := &object{typ: typ, native: &fact}
		c.lists[list].add(value)
		c.facts = append(c.facts, codeFact{list, value, *span})
	}
}

// only returns the file with one of its facts.
func (c *celCode) only(f *codeFact) *celCode {
	out := *c
	out.lists = [5]openList{}
	if f != nil {
		out.lists[f.list].add(f.value)
	}
	out.facts = nil
	return &out
}

// codeList returns the value of the variable code.
func codeList(files []*celCode) ref.Val {
	values := make([]ref.Val, len(files))
	for i, c := range files {
		values[i] = &object{typ: codeType, native: c}
	}
	return refList(values)
}
