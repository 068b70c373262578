package git

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// Root returns the folder of the working tree, and false outside of one.
func (r Repository) Root(ctx context.Context) (string, bool) {
	root, err := r.Output(ctx, "rev-parse", "--show-toplevel")
	if root = strings.TrimRight(root, "\r\n"); err != nil || root == "" {
		return "", false
	}
	return filepath.FromSlash(root), true
}

// Commit returns the full name of the commit that a revision names.
func (r Repository) Commit(ctx context.Context, revision string) (string, error) {
	name, err := r.Output(ctx, "rev-parse", "--quiet", "--verify", "--end-of-options", revision+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("%q is no commit of this repository; a shallow clone lacks older ones (in CI: fetch-depth: 0)", revision)
	}
	return strings.TrimSpace(name), nil
}

// MergeBase returns the commit where two revisions have parted.
func (r Repository) MergeBase(ctx context.Context, a, b string) (string, error) {
	name, err := r.Output(ctx, "merge-base", "--end-of-options", a, b)
	if err != nil {
		return "", fmt.Errorf("cannot find where %q and %q have parted; a shallow clone lacks older commits (in CI: fetch-depth: 0)", b, a)
	}
	return strings.TrimSpace(name), nil
}

// RangeBase returns the old side of what git diff shows for a range: of A..B it is A, of A...B their merge base, and of a commit
// the commit itself.
func (r Repository) RangeBase(ctx context.Context, revisions string) (string, error) {
	out, err := r.Output(ctx, "rev-parse", "--revs-only", "--end-of-options", revisions)
	if err != nil {
		return "", err
	}
	names := strings.Fields(out)
	if len(names) > 0 && names[0] == "--end-of-options" {
		names = names[1:]
	}
	for _, name := range names {
		if old, ok := strings.CutPrefix(name, "^"); ok {
			return old, nil
		}
	}
	if len(names) == 0 {
		return "", fmt.Errorf("%q names no commit", revisions)
	}
	return names[0], nil
}

// maxTree bounds the contents that Tree reads together, in bytes.
const maxTree = 64 << 20

// Tree returns the files of a commit at or below a path that counts from the root, as far as want takes them. It returns none if the
// commit has no such path. A symbolic link, or a submodule on the way, is an error: its content is not that of the commit.
func (r Repository) Tree(ctx context.Context, commit, name string, want func(name string) bool) ([]File, error) {
	var ways []string
	for way := name; way != "." && way != "/"; way = path.Dir(way) {
		ways = append(ways, way)
	}
	for _, recursive := range []bool{false, true} {
		args := []string{"ls-tree", "-z", "--full-tree"}
		if recursive {
			args, ways = append(args, "-r"), ways[:min(1, len(ways))]
		}
		out, err := r.Output(ctx, append(append(args, commit, "--"), ways...)...)
		if err != nil {
			return nil, err
		}
		var parts []*part
		for line := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
			about, at, ok := strings.Cut(line, "\t")
			fields := strings.Fields(about)
			switch {
			case line == "":
			case !ok || len(fields) != 3:
				return nil, fmt.Errorf("git ls-tree answers %.100q", line)
			case !recursive && fields[0] == symlink, recursive && fields[0] == symlink && want(at):
				return nil, fmt.Errorf("%s is a symbolic link in %.12s; name the files themselves", at, commit)
			case !recursive && fields[0] == submodule:
				return nil, fmt.Errorf("%s is a submodule; check the files out by their own commit, outside of this repository", at)
			case recursive && fields[1] == "blob" && want(at):
				parts = append(parts, &part{entry: entry{path: at, blob: fields[2]}})
			}
		}
		if recursive {
			return r.contents(ctx, parts)
		}
	}
	return nil, nil
}

// contents reads all of the parts, or fails.
func (r Repository) contents(ctx context.Context, parts []*part) ([]File, error) {
	o := &objects{Repository: r}
	if err := o.find(ctx, parts); err != nil {
		return nil, err
	}
	var size int64
	for _, p := range parts {
		if size += p.size; p.unread != "" {
			return nil, fmt.Errorf("%s cannot be read: %s", p.path, p.unread)
		}
	}
	if size > maxTree {
		return nil, fmt.Errorf("the files have more than %d MiB", maxTree>>20)
	}
	var files []File
	err := o.read(ctx, parts, maxTree, func(p *part, content []byte) {
		files = append(files, File{p.path, p.blob, content})
	})
	return files, err
}

// Tracked reports whether git tracks files at or below a path that counts from the root of the working tree.
func (r Repository) Tracked(ctx context.Context, name string) (bool, error) {
	out, err := r.Output(ctx, "ls-files", "-z", "--", ":(top,literal)"+name)
	return out != "", err
}

// Untracked returns how many files, and folders without a file that git tracks, are in the working tree and neither tracked nor ignored.
func (r Repository) Untracked(ctx context.Context) (int, error) {
	out, err := r.Output(ctx, "ls-files", "-z", "--others", "--exclude-standard", "--directory", "--no-empty-directory", "--", ":(top)")
	return strings.Count(out, "\x00"), err
}
