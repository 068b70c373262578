package cli

import (
	"context"
	"fmt"
	"strings"

	"tenet/internal/git"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// change is a change to judge: its diff, and the contents of the files that the diff does not show as a whole.
type change struct {
	diff  string
	files []wire.InputFile
	// unread names the files whose contents are in neither, with the reason.
	unread []git.Unread
}

func (c *change) empty() bool { return strings.TrimSpace(c.diff) == "" && len(c.files) == 0 }

// add adds another change.
func (c *change) add(other *change) {
	c.diff += other.diff
	c.files = append(c.files, other.files...)
	c.unread = append(c.unread, other.unread...)
}

// changeOf makes a change of what git gives.
func changeOf(g *git.Change) *change {
	c := &change{diff: g.Diff, unread: g.Unread}
	for _, f := range g.Files {
		c.files = append(c.files, inputFile(f.Path, f.Content))
	}
	return c
}

// maxUnread is how many files that are not examined stderr names.
const maxUnread = 10

// tellUnread names on stderr the files that no rule about content can judge.
func (c *change) tellUnread(s *session) {
	for i, u := range c.unread {
		if i == maxUnread {
			s.note("%s more are not examined", text.Plural(len(c.unread)-i, "file"))
			return
		}
		s.note("%s is not examined: %s", line(u.Path), u.Reason)
	}
}

// stagedChange returns the changes of the next commit.
func stagedChange(ctx context.Context) (*change, error) {
	return gitChange(ctx, []string{"--cached"})
}

// gitChange returns the change that git diff shows for revisions and options, limited to pathspecs.
func gitChange(ctx context.Context, revisions []string, paths ...string) (*change, error) {
	g, err := git.Repository{}.Diff(ctx, revisions, paths)
	if err != nil {
		return nil, err
	}
	return changeOf(g), nil
}

// baseChange returns the changes since a commit: the staged ones, or else those of all commits since HEAD left it.
func baseChange(ctx context.Context, base string, staged bool) (*change, error) {
	if staged {
		return gitChange(ctx, []string{"--cached", base})
	}
	return rangeChange(ctx, base+"...HEAD")
}

// rangeChange returns what git diff shows for a range or commit.
func rangeChange(ctx context.Context, revisions string) (*change, error) {
	if strings.HasPrefix(revisions, "-") || strings.ContainsAny(revisions, "\x00\n") {
		return nil, fmt.Errorf("%q is not a git range; use one such as main..HEAD, or - for a diff on stdin", revisions)
	}
	c, err := gitChange(ctx, []string{revisions})
	if err != nil {
		return nil, fmt.Errorf("cannot diff %q: %w", revisions, err)
	}
	return c, nil
}

// givenChange returns a diff from stdin, with the contents that it names and the repository around the current folder holds, if
// there is one.
func givenChange(ctx context.Context, diff []byte) (*change, error) {
	g, err := git.Repository{}.Contents(ctx, diff)
	if err != nil {
		return nil, err
	}
	return changeOf(g), nil
}
