// Package archive reads the files of archives from outside: zip and tar, the latter compressed by gzip or not. Archives are hostile: they
// may be bombs, name files outside of their folder, or hold links. Nothing is written anywhere, and what is read is bounded.
package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tenet/internal/rule"
)

// Limits bound what is read of an archive. Zero fields take the defaults.
type Limits struct {
	Entries  int   // files, folders and links; 100,000
	Files    int   // files that are kept; 10,000
	FileSize int64 // bytes of one of them; 2 MiB. Larger ones are left out
	Kept     int64 // bytes of all of them; 64 MiB
	Unpacked int64 // bytes that are unpacked, kept or not; 1 GiB
	Ratio    int64 // bytes unpacked from one byte of the archive, on average; 200. The first 16 MiB are free
	Depth    int   // folders above a file; 64
}

const free = 16 << 20

func (l Limits) withDefaults() Limits {
	return Limits{
		Entries: cmp.Or(l.Entries, 100_000), Files: cmp.Or(l.Files, 10_000), FileSize: cmp.Or(l.FileSize, 2<<20), Kept: cmp.Or(l.Kept, 64<<20),
		Unpacked: cmp.Or(l.Unpacked, 1<<30), Ratio: cmp.Or(l.Ratio, 200), Depth: cmp.Or(l.Depth, 64),
	}
}

// maxPath bounds the path of an entry, in bytes.
const maxPath = 1_000

// LeftOut is an entry that is not read although it is wanted.
type LeftOut struct{ Path, Reason string }

// maxLeftOut bounds the entries that are listed as left out.
const maxLeftOut = 1_000

// Result holds the files of an archive.
type Result struct {
	Files map[string][]byte // by path, with slashes, relative to the root of what the archive holds
	// LeftOut lists entries in the order of the archive, up to 1,000; LeftOutTotal counts all.
	LeftOut      []LeftOut
	LeftOutTotal int
	Paths        []string // of all files in the archive, wanted or not, without those that lead out of it
}

// Is reports whether content begins like an archive that [Read] can read.
func Is(content []byte) bool { return kindOf(content) != "" }

func kindOf(content []byte) string {
	switch {
	case bytes.HasPrefix(content, []byte("PK\x03\x04")) || bytes.HasPrefix(content, []byte("PK\x05\x06")):
		return "zip"
	case bytes.HasPrefix(content, []byte("\x1f\x8b")):
		return "gzip"
	case len(content) > 262 && string(content[257:262]) == "ustar":
		return "tar"
	}
	return ""
}

// others are formats that people may try.
var others = []struct{ begin, name string }{
	{"BZh", "bzip2"}, {"\xfd7zXZ\x00", "xz"}, {"7z\xbc\xaf\x27\x1c", "7-Zip"}, {"Rar!", "RAR"}, {"\x28\xb5\x2f\xfd", "Zstandard"},
}

// Read reads those files of an archive that want asks for by their paths. name is that of the archive. Links, devices and archives within
// the archive are not followed; encrypted entries, large files and paths that lead out of the archive are left out. A single folder that
// holds everything is left out of the paths where it is the wrapper of a repository: in archives that git has made, and where it is named
// like the archive. The error is invalid for what is no archive or is damaged, too_large beyond the limits.
func Read(ctx context.Context, name string, content []byte, want func(path string) bool, l Limits) (*Result, error) {
	r := &reader{ctx: ctx, limits: l.withDefaults(), want: want, size: int64(len(content)), files: map[string][]byte{}}
	var err error
	switch kindOf(content) {
	case "zip":
		err = r.zip(content)
	case "gzip":
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(content)); err == nil {
			err = r.tar(r.metered(z))
		}
	case "tar":
		err = r.tar(r.metered(bytes.NewReader(content)))
	default:
		for _, o := range others {
			if bytes.HasPrefix(content, []byte(o.begin)) {
				return nil, rule.Errorf(rule.CodeInvalid, "%s archives are not read; send a zip or a tar.gz", o.name)
			}
		}
		return nil, rule.Errorf(rule.CodeInvalid, "it is no archive; send a zip or a tar.gz")
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		if _, ok := errors.AsType[*rule.Error](err); ok {
			return nil, err
		}
		return nil, rule.Errorf(rule.CodeInvalid, "the archive is damaged, or no zip or tar.gz: %w", err)
	}
	r.unwrap(name)
	return &Result{Files: r.files, LeftOut: r.left, LeftOutTotal: r.leftTotal, Paths: r.paths}, nil
}

// reader reads one archive.
type reader struct {
	ctx    context.Context //nolint:containedctx // of one call
	limits Limits
	want   func(string) bool
	size   int64 // of the archive

	files          map[string][]byte
	left           []LeftOut
	leftTotal      int
	entries        int
	paths          []string
	kept, unpacked int64
	top            string // first folder of the entries so far
	mixed          bool   // not all of them are in one folder
	byGit          bool   // git has made it
}

// metered counts what is unpacked.
func (r *reader) metered(from io.Reader) io.Reader { return &meter{r, from} }

type meter struct {
	r    *reader
	from io.Reader
}

// Read implements [io.Reader].
func (m *meter) Read(p []byte) (int, error) {
	if err := m.r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := m.from.Read(p)
	m.r.unpacked += int64(n)
	if over := m.r.over(); over != nil {
		return n, over
	}
	return n, err
}

// over is the error for a bomb.
func (r *reader) over() error {
	l := r.limits
	switch {
	case r.unpacked > l.Unpacked:
		return rule.Errorf(rule.CodeTooLarge, "the archive unpacks to more than %d MiB; send a part of it", l.Unpacked>>20)
	case r.unpacked > free && r.unpacked/max(r.size, 1) > l.Ratio:
		return rule.Errorf(rule.CodeTooLarge, "the archive unpacks to more than %d times its size, which archives of source files do not; it is refused as a bomb", l.Ratio)
	}
	return nil
}

// entry counts an entry, and refuses archives of too many.
func (r *reader) entry() error {
	if r.entries++; r.entries > r.limits.Entries {
		return rule.Errorf(rule.CodeTooLarge, "the archive has more than %d entries; send a part of it", r.limits.Entries)
	}
	return r.ctx.Err()
}

func (r *reader) leave(name, reason string, args ...any) {
	if r.leftTotal++; len(r.left) < maxLeftOut {
		r.left = append(r.left, LeftOut{name, fmt.Sprintf(reason, args...)})
	}
}

// admit returns the path of a file to read, or false for one that is left out. The caller has counted the entry.
func (r *reader) admit(name string, size int64) (string, bool) {
	clean, reason := safe(name, r.limits.Depth)
	if reason != "" {
		r.leave(shown(name), "%s", reason)
		return "", false
	}
	r.note(clean)
	r.paths = append(r.paths, clean)
	switch _, have := r.files[clean]; {
	case !r.want(r.below(clean)) && !r.want(clean):
		return "", false
	case have:
		r.leave(clean, "the archive has two files of this name; the first is read")
		return "", false
	case size > r.limits.FileSize:
		r.leave(clean, "it has %d KiB; files of at most %d KiB are read", size>>10, r.limits.FileSize>>10)
		return "", false
	}
	return clean, true
}

// note remembers whether all entries are in one folder.
func (r *reader) note(clean string) {
	top, _, inFolder := strings.Cut(clean, "/")
	switch {
	case !inFolder:
		r.mixed = true
	case r.top == "":
		r.top = top
	case r.top != top:
		r.mixed = true
	}
}

// below is a path without its first folder.
func (r *reader) below(clean string) string {
	if _, rest, ok := strings.Cut(clean, "/"); ok {
		return rest
	}
	return clean
}

// take reads a file.
func (r *reader) take(clean string, from io.Reader) error {
	content, err := io.ReadAll(io.LimitReader(from, r.limits.FileSize+1))
	if err != nil {
		return err
	}
	if int64(len(content)) > r.limits.FileSize {
		r.leave(clean, "it has more than %d KiB, whatever the archive says", r.limits.FileSize>>10)
		return nil
	}
	if Is(content) && !strings.HasSuffix(strings.ToLower(clean), ".docx") {
		r.leave(clean, "an archive within the archive is not opened")
		return nil
	}
	if r.kept += int64(len(content)); r.kept > r.limits.Kept {
		return rule.Errorf(rule.CodeTooLarge, "the files to read have more than %d MiB; send a part of the archive", r.limits.Kept>>20)
	}
	if len(r.files) == r.limits.Files {
		return rule.Errorf(rule.CodeTooLarge, "the archive has more than %d files to read; send a part of it", r.limits.Files)
	}
	r.files[clean] = content
	return nil
}

func (r *reader) zip(content []byte) error {
	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return err
	}
	r.byGit = commit.MatchString(z.Comment)
	packed := uint64(0)
	for _, f := range z.File {
		if err := r.entry(); err != nil {
			return err
		}
		if f.CompressedSize64 > uint64(len(content)) || packed+f.CompressedSize64 > uint64(len(content)) {
			return rule.Errorf(rule.CodeTooLarge, "the entries of the archive overlap; it is refused as a bomb")
		}
		packed += f.CompressedSize64
		if strings.HasSuffix(f.Name, "/") || !f.Mode().IsRegular() {
			continue
		}
		clean, ok := r.admit(f.Name, int64(min(f.UncompressedSize64, 1<<62)))
		if !ok {
			continue
		}
		if f.Flags&1 != 0 {
			r.leave(clean, "it is encrypted; send the archive without a password")
			continue
		}
		if err := r.unzip(clean, f); err != nil {
			return err
		}
	}
	return nil
}

// unzip reads an entry of a zip archive. One that is damaged, or packed in an unknown way, is left out.
func (r *reader) unzip(clean string, f *zip.File) error {
	from, err := f.Open()
	if err == nil {
		err = r.take(clean, r.metered(from))
		_ = from.Close() // it was read
	}
	if _, known := errors.AsType[*rule.Error](err); known || r.ctx.Err() != nil {
		return err
	}
	if err != nil {
		r.leave(clean, "it cannot be unpacked: %s", err)
	}
	return nil
}

func (r *reader) tar(from io.Reader) error {
	t := tar.NewReader(from)
	for {
		h, err := t.Next()
		if err == io.EOF {
			if r.entries == 0 {
				return rule.Errorf(rule.CodeInvalid, "the archive is empty, or what is compressed is no tar")
			}
			return nil
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return err
		}
		if err := r.entry(); err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeXGlobalHeader:
			r.byGit = r.byGit || commit.MatchString(h.PAXRecords["comment"])
			continue
		case tar.TypeReg, tar.TypeGNUSparse:
		default:
			continue
		}
		if clean, ok := r.admit(h.Name, h.Size); ok {
			if err := r.take(clean, t); err != nil {
				return err
			}
		}
	}
}

// commit is the form of the comment that git writes into an archive: the id of a commit.
var commit = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// endings are those of archives.
var endings = []string{".zip", ".tar.gz", ".tgz", ".tar"}

// unwrap takes the folder round a repository out of the paths.
func (r *reader) unwrap(name string) {
	base := path.Base(strings.ReplaceAll(name, `\`, "/"))
	for _, e := range endings {
		if cut := len(base) - len(e); cut > 0 && strings.EqualFold(base[cut:], e) {
			base = base[:cut]
			break
		}
	}
	wrapped := r.top != "" && !r.mixed && (r.byGit || r.top == base)
	files := make(map[string][]byte, len(r.files))
	for p, content := range r.files {
		if wrapped {
			p = r.below(p)
		}
		if r.want(p) { // by the path that it has now
			files[p] = content
		}
	}
	r.files = files
	if !wrapped {
		return
	}
	for i := range r.paths {
		r.paths[i] = r.below(r.paths[i])
	}
	for i := range r.left {
		r.left[i].Path = strings.TrimPrefix(r.left[i].Path, r.top+"/")
	}
}

// safe returns the path of an entry in its plain form, or why it is left out.
func safe(name string, depth int) (clean, reason string) {
	switch {
	case name == "" || len(name) > maxPath:
		return "", "its path is empty or too long"
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return "", "its path holds control characters, or is not UTF-8"
	}
	name = strings.ReplaceAll(name, `\`, "/")
	if strings.HasPrefix(name, "/") || len(name) > 1 && name[1] == ':' || slices.Contains(strings.Split(name, "/"), "..") {
		return "", "its path leads out of the archive"
	}
	if clean = path.Clean(name); clean == "." {
		return "", "its path is empty or too long"
	}
	if strings.Count(clean, "/") > depth {
		return "", fmt.Sprintf("it lies more than %d folders deep", depth)
	}
	return clean, ""
}

// shown is a path for a list.
func shown(name string) string {
	name = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return utf8.RuneError
		}
		return c
	}, strings.ToValidUTF8(name, "\ufffd"))
	if len(name) > maxPath {
		name = strings.ToValidUTF8(name[:maxPath], "")
	}
	return name
}
