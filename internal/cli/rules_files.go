package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tenet/internal/catalog"
	"tenet/internal/rule"
	"tenet/internal/rulefile"
	"tenet/internal/wire"
)

// ruleFiles are the rule files of a folder in the order of their paths, or one file.
type ruleFiles struct {
	paths   []string
	files   []*wire.RuleFile
	sources []*rulefile.Source
	checked []bool // whose rules were checked as their file was read, since values of it are wrong
}

// filesError lists the faults of rule files, with the lines that they are in.
type filesError struct {
	wrong    *rule.Error
	excerpts []string // of the fields; empty for those that no file has
	// Files with an error of form, and those beside them that could be read.
	broken []brokenFile
	intact *ruleFiles
}

// brokenFile is a file that cannot be read as rules.
type brokenFile struct {
	path string
	err  *rulefile.Error
}

// Error implements [error].
func (e *filesError) Error() string { return e.wrong.Error() }

// Unwrap returns the error without the lines.
func (e *filesError) Unwrap() error { return e.wrong }

// loadRules reads a rule file, all *.yaml, *.yml and *.json files below a folder, or stdin for -. It returns the files together with an error if only
// values of them are wrong.
func loadRules(ctx context.Context, path string, stdin io.Reader) (*ruleFiles, error) {
	paths := []string{path}
	if path != "-" {
		var err error
		if paths, err = rulePaths(path); err != nil {
			return nil, err
		}
	}
	r := &ruleFiles{}
	wrong := newFilesError()
	readable := true
	for _, p := range paths {
		data, err := readPath(ctx, p, stdin)
		if err != nil {
			return nil, err
		}
		added, err := r.add(p, data)
		if err := wrong.join(p, err); err != nil {
			return nil, err
		}
		if in, ok := errors.AsType[*rulefile.Error](err); ok && !added {
			wrong.broken = append(wrong.broken, brokenFile{p, in})
		}
		readable = readable && added
	}
	if len(wrong.wrong.Fields) == 0 {
		return r, nil
	}
	if !readable {
		wrong.merge(r.check())
		wrong.intact = r
		return nil, wrong
	}
	return r, wrong
}

func newFilesError() *filesError {
	return &filesError{wrong: rule.Errorf(rule.CodeInvalid, "the rule files are not valid")}
}

// add reads the content of a file. It is added if it can be read, even if values of it are wrong, which the error says.
func (r *ruleFiles) add(path string, data []byte) (bool, error) {
	f, source, err := rulefile.Parse(data)
	if e, ok := errors.AsType[*rulefile.Error](err); ok && e.File() != nil {
		f, source = e.File(), e.Source()
	} else if err != nil {
		return false, err
	}
	r.paths, r.files, r.sources, r.checked = append(r.paths, path), append(r.files, f), append(r.sources, source), append(r.checked, err != nil)
	return true, err
}

// join adds what is wrong with one file, and returns other errors as they are.
func (e *filesError) join(path string, err error) error {
	if err == nil {
		return nil
	}
	in, ok := errors.AsType[*rulefile.Error](err)
	if !ok {
		return fmt.Errorf("%s: %w", path, err)
	}
	problems := in.Problems
	rules, numbers := in.Rest()
	if others, ok := errors.AsType[*rule.Error](catalog.CheckFile(&wire.RuleFile{Rules: rules})); ok {
		back := func(m string) string {
			n, _ := strconv.Atoi(m[len("rules[") : len(m)-1])
			return fmt.Sprintf("rules[%d]", numbers[n])
		}
		var more []rule.FieldError
		for _, f := range others.Fields {
			f.Field, f.Message = numbered.ReplaceAllStringFunc(f.Field, back), numbered.ReplaceAllStringFunc(f.Message, back)
			if !in.Covers(f.Field) {
				more = append(more, f)
			}
		}
		problems = slices.Concat(problems, in.Source().With(more).Problems)
		slices.SortStableFunc(problems, func(a, b *rulefile.Problem) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
	}
	for _, p := range problems {
		e.add(path, in.Source(), p)
	}
	return nil
}

// numbered is a rule in an error about a file.
var numbered = regexp.MustCompile(`rules\[\d{1,9}\]`)

func (e *filesError) add(path string, source *rulefile.Source, p *rulefile.Problem) {
	field := fmt.Sprintf("%s:%d:%d", path, p.Line, p.Column)
	if p.Field != "" {
		field += ": " + p.Field
	}
	e.wrong.Fields = append(e.wrong.Fields, rule.FieldError{Field: field, Message: p.Message})
	e.excerpts = append(e.excerpts, source.Excerpt(p))
}

// merge adds the problems of another error that it does not have.
func (e *filesError) merge(other error) {
	o, ok := errors.AsType[*filesError](other)
	if !ok {
		return
	}
	for i, f := range o.wrong.Fields {
		if !slices.ContainsFunc(e.wrong.Fields, func(own rule.FieldError) bool { return own.Field == f.Field }) {
			e.wrong.Fields, e.excerpts = append(e.wrong.Fields, f), append(e.excerpts, o.excerpts[i])
		}
	}
}

// check returns all that is wrong with the rules of the files and can be said without the corpus, except for those that were checked before.
func (r *ruleFiles) check() error {
	wrong := newFilesError()
	for i, f := range r.files {
		if r.checked[i] {
			continue
		}
		if e, ok := errors.AsType[*rule.Error](catalog.CheckFile(f)); ok {
			for _, p := range r.sources[i].With(e.Fields).Problems {
				wrong.add(r.paths[i], r.sources[i], p)
			}
		}
	}
	if len(wrong.wrong.Fields) > 0 {
		return wrong
	}
	return nil
}

// isRuleFile reports whether a path below a folder of rules is a rule file: it ends like one and nothing of it is hidden.
func isRuleFile(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") {
			return false
		}
	}
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(path.Ext(name)))
}

// rulePaths lists the rule files below a folder; of a file, itself. Hidden files and folders are left out.
func rulePaths(root string) ([]string, error) {
	var paths []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == root:
			if !d.IsDir() {
				paths = append(paths, path)
			}
		case strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
		case !d.IsDir() && isRuleFile(d.Name()):
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s holds no rule files (*.yaml, *.yml, *.json)", root)
	}
	slices.Sort(paths)
	return paths, nil
}

// join makes one file of all, each with its own defaults applied.
func (r *ruleFiles) join() (*wire.RuleFile, error) {
	if len(r.files) == 1 {
		return r.files[0], nil
	}
	f, err := catalog.Join(r.files)
	return f, r.locate(err)
}

// effective gives the files with EFFECTIVE as the status of rules that have none: a caller who judges by files means them.
func (r *ruleFiles) effective() []*wire.RuleFile {
	for _, f := range r.files {
		d := wire.RuleInput{}
		if f.Defaults != nil {
			d = *f.Defaults
		}
		d.Status = cmp.Or(d.Status, rule.Effective)
		f.Defaults = &d
	}
	return r.files
}

// place is a rule or a test case of the joined file in an error's field.
var place = regexp.MustCompile(`(rules|cases)\[(\d+)\]`)

// locate puts, into the field errors of err, the file and the number in it of a rule or case instead of its number in the
// joined file.
func (r *ruleFiles) locate(err error) error {
	e, ok := errors.AsType[*rule.Error](err)
	if !ok || len(e.Fields) == 0 {
		return err
	}
	moved := *e
	moved.Fields = slices.Clone(e.Fields)
	out := &filesError{wrong: &moved, excerpts: make([]string, len(moved.Fields))}
	for i := range moved.Fields {
		f := &moved.Fields[i]
		out.excerpts[i] = r.excerpt(*f)
		f.Field = r.place(*f)
		f.Message = place.ReplaceAllStringFunc(f.Message, func(field string) string { return r.place(rule.FieldError{Field: field}) })
	}
	return out
}

// excerpt shows the line of a field of the joined file, or nothing.
func (r *ruleFiles) excerpt(f rule.FieldError) string {
	i, inFile := r.find(f.Field)
	if i < 0 || i >= len(r.sources) {
		return ""
	}
	p := r.sources[i].Place(rule.FieldError{Field: inFile, Message: f.Message})
	return r.sources[i].Excerpt(&p)
}

// place rewrites the first rules[N] or cases[N] of a field.
func (r *ruleFiles) place(f rule.FieldError) string {
	field := f.Field
	i, inFile := r.find(field)
	if i < 0 {
		return field
	}
	if i >= len(r.sources) {
		return r.paths[i] + ": " + inFile
	}
	before := field[:place.FindStringIndex(field)[0]]
	p := r.sources[i].Place(rule.FieldError{Field: strings.TrimPrefix(inFile, before), Message: f.Message})
	return fmt.Sprintf("%s%s:%d:%d: %s", before, r.paths[i], p.Line, p.Column, strings.TrimPrefix(inFile, before))
}

// find returns the file of a field of the joined file, and the field there; a negative number if no file has it.
func (r *ruleFiles) find(field string) (int, string) {
	m := place.FindStringSubmatchIndex(field)
	if m == nil {
		return -1, field
	}
	list := field[m[2]:m[3]]
	n, err := strconv.Atoi(field[m[4]:m[5]])
	if err != nil {
		return -1, field
	}
	for i, f := range r.files {
		count := len(f.Rules)
		if list == "cases" {
			count = len(f.Cases)
		}
		if n < count {
			return i, fmt.Sprintf("%s%s[%d]%s", field[:m[0]], list, n, field[m[1]:])
		}
		n -= count
	}
	return -1, field
}

// unnamed counts the rules that have neither id nor slug.
func (r *ruleFiles) unnamed() int {
	n := 0
	for _, f := range r.files {
		for _, in := range f.Rules {
			if in.ID == "" && (in.Slug == nil || *in.Slug == "") {
				n++
			}
		}
	}
	return n
}
