package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"tenet/internal/client"
	"tenet/internal/discover/assistant"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// written marks files that were exported before, and so may be written over.
var written = []byte("Written by `tenet rules export`")

// instructions writes the rules that hold as instructions to an assistant.
func (k *rulesExportCommand) instructions(ctx context.Context, s *session, format assistant.Format) error {
	return s.with(ctx, readsData, func(c *client.Client) error {
		rules, err := k.inForce(ctx, c)
		if err != nil {
			return err
		}
		if len(rules) == 0 {
			return errors.New("there are no rules in force to write; --status names those of another status")
		}
		files, left, err := assistant.WriteWithin(format, rules, k.MaxSize)
		if err != nil {
			return err
		}
		if left > 0 {
			s.note("left out, because a file may have %d bytes: %d of %d rules, the least severe; see --max-size, --severity, --tag, --scope and --node", k.MaxSize, left, len(rules))
		}
		if k.Output != "" && k.Output != "-" {
			return k.writeFiles(s, files)
		}
		if len(files) > 1 {
			return fmt.Errorf("the rules make %d files; name the folder of the repository with --output", len(files))
		}
		for _, content := range files {
			if err := pagedText(s, string(content)); err != nil {
				return err
			}
		}
		return nil
	})
}

// inForce are the rules that the flags select and that hold now: at a node, or in the whole project.
func (k *rulesExportCommand) inForce(ctx context.Context, c *client.Client) ([]rule.Rule, error) {
	rules, err := c.AllRules(ctx, k.filter())
	if err != nil {
		return nil, err
	}
	now := time.Now()
	rules = slices.DeleteFunc(rules, func(r rule.Rule) bool { return k.Status == "" && !r.InForce(now) })
	if k.Node == "" {
		return rules, nil
	}
	node, err := findNode(ctx, c, k.Node)
	if err != nil {
		return nil, err
	}
	effective, err := client.Get(ctx, c, op.EffectiveRules.At(node.ID))
	if err != nil {
		return nil, err
	}
	scopes := map[string][]string{} // as they hold at the node
	for _, e := range effective.Rules {
		scopes[e.Rule.ID] = e.Rule.Scope
	}
	for _, r := range effective.Everywhere.Rules {
		scopes[r.ID] = r.Scope
	}
	if effective.Everywhere.Total > len(effective.Everywhere.Rules) {
		applicable, err := client.Call(ctx, c, op.ApplicableRules, wire.ApplicableRequest{NodeID: node.ID})
		if err != nil {
			return nil, err
		}
		for i := range applicable {
			if _, ok := scopes[applicable[i].ID]; !ok {
				scopes[applicable[i].ID] = applicable[i].Scope
			}
		}
	}
	rules = slices.DeleteFunc(rules, func(r rule.Rule) bool { _, holds := scopes[r.ID]; return !holds })
	for i := range rules {
		rules[i].Scope = scopes[rules[i].ID]
	}
	return rules, nil
}

// writeFiles writes files below a folder: all, or none if one is there that somebody else has written.
func (k *rulesExportCommand) writeFiles(s *session, files map[string][]byte) error {
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		have, err := os.ReadFile(filepath.Join(k.Output, filepath.FromSlash(name)))
		switch {
		case errors.Is(err, fs.ErrNotExist), k.Force:
		case err != nil:
			return err
		case !bytes.Contains(have, written):
			return fmt.Errorf("%s was not written by tenet; scan it first (tenet scan), and then give --force to write over it", filepath.Join(k.Output, filepath.FromSlash(name)))
		}
	}
	for _, name := range names {
		to := filepath.Join(k.Output, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { //nolint:gosec // the folders of a repository are for all
			return err
		}
		err := writeFile(to, func(w io.Writer) error {
			_, err := w.Write(files[name])
			return err
		})
		if err != nil {
			return err
		}
		s.note("wrote %s", to)
	}
	return k.noteOlder(s, names)
}

// noteOlder notes files of earlier exports beside those of this one, since assistants read them too.
func (k *rulesExportCommand) noteOlder(s *session, names []string) error {
	for _, pattern := range []string{".cursor/rules/tenet-*.mdc", ".github/instructions/tenet-*.instructions.md"} {
		if !slices.ContainsFunc(names, func(name string) bool { return path.Dir(name) == path.Dir(pattern) }) {
			continue
		}
		dir := filepath.Join(k.Output, filepath.FromSlash(path.Dir(pattern)))
		files, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, file := range files {
			older, err := path.Match(path.Base(pattern), file.Name())
			if err != nil {
				return err
			}
			if !older || slices.Contains(names, path.Join(path.Dir(pattern), file.Name())) {
				continue
			}
			name := filepath.Join(dir, file.Name())
			if have, err := os.ReadFile(name); err == nil && bytes.Contains(have, written) {
				s.note("%s is of an earlier export, and assistants read it too; delete it if its rules are elsewhere now", name)
			}
		}
	}
	return nil
}
