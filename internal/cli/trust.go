package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tenet/internal/git"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// Where the rules and the settings of a judged repository are taken from: the flag --rules-from.
const (
	rulesFromBase     = "base"
	rulesFromWorktree = "worktree"
)

// trust says which commit the rules and the settings in a judged repository are taken from. A change must not choose what it is judged
// by, so that is the commit before the change. A nil trust takes everything as it is on disk.
type trust struct {
	git.Repository

	root string // of the working tree
	base string // name of the commit; empty if the repository has none yet
	// piped means that the change comes from a pipe, and its base is not known.
	piped bool
	// names are the paths of rules and settings that were taken from the base, counted from the root.
	names []string
}

// newTrust returns the trust for a change in the repository around the current folder; nil outside of one. baseOf gives the commit
// before the change.
func newTrust(ctx context.Context, baseOf func(git.Repository) (string, error)) (*trust, error) {
	t := &trust{}
	var ok bool
	if t.root, ok = t.Root(ctx); !ok {
		return nil, nil
	}
	var err error
	if _, errHead := t.Commit(ctx, "HEAD"); errHead == nil {
		t.base, err = baseOf(t.Repository)
	}
	return t, err
}

// trust returns where the rules and settings of this check come from. It asks git only if a flag, a variable or a setting names a
// file that could be in the repository.
func (k *checkCommand) trust(ctx context.Context, s *session) (*trust, error) {
	from := k.origin(s)
	if k.RulesFrom == rulesFromWorktree || from == fromNowhere && len(k.File) == 0 || k.Rules == "" && !namesFiles(s) {
		return nil, nil
	}
	t, err := newTrust(ctx, func(r git.Repository) (string, error) {
		switch {
		case from == fromBase && k.Staged:
			return r.Commit(ctx, k.Base)
		case from == fromBase:
			return r.MergeBase(ctx, k.Base, "HEAD")
		case from == fromRange && !strings.HasPrefix(k.Range, "-"):
			return r.RangeBase(ctx, k.Range)
		}
		return r.Commit(ctx, "HEAD")
	})
	if t != nil {
		t.piped = from == fromStdin
	}
	return t, err
}

// namesFiles reports whether a settings file or a folder of the database is named.
func namesFiles(s *session) bool {
	return cmp.Or(s.globals.Config, s.env("TENET_CONFIG"), s.globals.Data, s.env("TENET_DATA")) != ""
}

// inside returns a path as it counts from the root, if it is in the working tree: as it is written, or where symbolic links lead.
func (t *trust) inside(name string) (string, bool) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", false
	}
	tries := []string{abs}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		tries = append(tries, filepath.Join(folder, filepath.Base(abs)))
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		tries = append(tries, real)
	}
	root, err := filepath.EvalSymlinks(t.root)
	if err != nil {
		root = t.root
	}
	for _, try := range tries {
		if rel, err := filepath.Rel(root, try); err == nil && (rel == "." || filepath.IsLocal(rel)) {
			return filepath.ToSlash(rel), true
		}
	}
	return "", false
}

// read returns the files at or below a path as they were before the change. It returns false for a path that is taken as it is on disk:
// it is outside of the repository, or git does not know it in the base nor now, so that no commit can have brought it. A path that
// the change brings is an error.
func (t *trust) read(ctx context.Context, name string, want func(name string) bool) ([]git.File, bool, error) {
	if t == nil {
		return nil, false, nil
	}
	rel, ok := t.inside(name)
	if !ok {
		return nil, false, nil
	}
	var files []git.File
	if t.base != "" {
		var err error
		if files, err = t.Tree(ctx, t.base, rel, want); err != nil {
			return nil, false, fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(files) > 0 {
		t.names = append(t.names, rel)
		return files, true, nil
	}
	tracked, err := t.Tracked(ctx, rel)
	switch {
	case err != nil:
		return nil, false, err
	case tracked:
		return nil, false, fmt.Errorf("%s is new in this repository: %s does not have it, and a change must not bring the rules that judge it. "+
			"Once it is in the base it judges; keep it outside of the repository until then, or take the working tree's by --rules-from=worktree",
			name, t.baseName())
	}
	return nil, false, nil
}

// baseName names the base for people.
func (t *trust) baseName() string {
	if t.base == "" {
		return "the repository has no commit yet and"
	}
	return fmt.Sprintf("commit %.12s", t.base)
}

// settings takes the settings file that a flag or a variable names from the base, if it is in the repository, and refuses a database
// that git tracks there: a change could bring its own.
func (t *trust) settings(ctx context.Context, s *session) error {
	if t == nil {
		return nil
	}
	if name := cmp.Or(s.globals.Config, s.env("TENET_CONFIG")); name != "" {
		files, ok, err := t.read(ctx, name, func(string) bool { return true })
		switch {
		case err != nil:
			return err
		case ok && len(files) == 1:
			s.note("the settings in %s are those of %s, not of the change", name, t.baseName())
			s.settings = &settingsText{name, files[0].Content}
		}
	}
	cfg, err := s.configure("", nil)
	if err != nil || cfg.Data == "" || s.globals.Server != "" {
		return err
	}
	rel, ok := t.inside(cfg.Data)
	if !ok {
		return nil
	}
	if tracked, err := t.Tracked(ctx, rel); err != nil || tracked {
		return errors.Join(err, fmt.Errorf("git tracks the database in %s, so a change could bring its own rules; keep it outside of the repository", cfg.Data))
	}
	return nil
}

// rules reads rule files as they were before the change, or as they are on disk if they are not in the repository.
func (t *trust) rules(ctx context.Context, s *session, name string) (*ruleFiles, error) {
	var root string
	if t != nil {
		root, _ = t.inside(name)
	}
	files, ok, err := t.read(ctx, name, func(at string) bool { return at == root || isRuleFile(strings.TrimPrefix(at, root+"/")) })
	if err != nil {
		return nil, err
	}
	if !ok {
		return loadRules(ctx, name, s.in)
	}
	s.note("the rules in %s are those of %s, not of the change", name, t.baseName())
	r := &ruleFiles{}
	for _, f := range files {
		if _, err := r.add(f.Path, f.Content); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// changes looks for changes of the rules and settings that judge. They are reported; with a diff from a pipe they are an error, for
// nobody knows which version was there before.
func (t *trust) changes(s *session, c *change) error {
	if t == nil || len(t.names) == 0 || c.diff == "" {
		return nil
	}
	built, err := subject.Build(wire.RecordedSubject{Diff: c.diff})
	if err != nil {
		return nil //nolint:nilerr // the evaluation reports the error, with its line
	}
	for i := range built.Files {
		f := &built.Files[i]
		for _, at := range append([]string{f.Path, f.OldPath}, f.Others...) {
			if !t.judgesBy(at) {
				continue
			}
			if t.piped {
				return fmt.Errorf("the diff changes %s, by which it is judged, and a diff from a pipe does not say what was there before; "+
					"name the change to Tenet (--base, --staged or a range), or take the working tree's by --rules-from=worktree", line(at))
			}
			s.note("the change alters %s; it is judged by what %s has there", line(at), t.baseName())
			break
		}
	}
	return nil
}

// judgesBy reports whether a path is one of the rules and settings, or below one.
func (t *trust) judgesBy(at string) bool {
	for _, name := range t.names {
		if at != "" && (name == "." || strings.EqualFold(at, name) || len(at) > len(name) && at[len(name)] == '/' && strings.EqualFold(at[:len(name)], name)) {
			return true
		}
	}
	return false
}

// settingsText is a settings file that was read elsewhere than on disk.
type settingsText struct {
	name string
	data []byte
}

// settingsFolder returns the user's configuration folder; empty without a home.
func settingsFolder(env func(string) string) string {
	if folder := env("XDG_CONFIG_HOME"); filepath.IsAbs(folder) {
		return folder
	}
	if env("HOME") == "" {
		return ""
	}
	return filepath.Join(env("HOME"), ".config")
}

// userSettings returns the settings file in the user's configuration folder; empty if there is none.
func userSettings(env func(string) string) string {
	folder := settingsFolder(env)
	if folder == "" {
		return ""
	}
	name := filepath.Join(folder, "tenet", settingsFile)
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
		return name
	}
	return ""
}
