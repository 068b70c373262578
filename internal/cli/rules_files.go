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
	"tenet/internal/wire"
)

// ruleFiles are the rule files of a folder in the order of their paths, or one file.
type ruleFiles struct {
	paths []string
	files []*wire.RuleFile
}

// loadRules reads a rule file, all *.yaml, *.yml and *.json files below a folder, or stdin for -.
func loadRules(ctx context.Context, path string, stdin io.Reader) (*ruleFiles, error) {
	paths := []string{path}
	if path != "-" {
		var err error
		if paths, err = rulePaths(path); err != nil {
			return nil, err
		}
	}
	r := &ruleFiles{}
	for _, p := range paths {
		data, err := readPath(ctx, p, stdin)
		if err != nil {
			return nil, err
		}
		if err := r.add(p, data); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// add reads the content of a file.
func (r *ruleFiles) add(path string, data []byte) error {
	f, err := catalog.ParseYAML(data)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	r.paths, r.files = append(r.paths, path), append(r.files, f)
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
	for i := range moved.Fields {
		f := &moved.Fields[i]
		f.Field, f.Message = r.place(f.Field), place.ReplaceAllStringFunc(f.Message, r.place)
	}
	return &moved
}

// place rewrites the first rules[N] or cases[N] of a field.
func (r *ruleFiles) place(field string) string {
	m := place.FindStringSubmatchIndex(field)
	if m == nil {
		return field
	}
	list := field[m[2]:m[3]]
	n, err := strconv.Atoi(field[m[4]:m[5]])
	if err != nil {
		return field
	}
	for i, f := range r.files {
		count := len(f.Rules)
		if list == "cases" {
			count = len(f.Cases)
		}
		if n < count {
			return fmt.Sprintf("%s%s: %s[%d]%s", field[:m[0]], r.paths[i], list, n, field[m[1]:])
		}
		n -= count
	}
	return field
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
