package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tenet/internal/discover/archive"
	"tenet/internal/discover/exclude"
	"tenet/internal/discover/source"
)

// maxArchive bounds an archive that is scanned, in bytes.
const maxArchive = 256 << 20

// isFile reports whether a path names a file, such as an archive, rather than a folder.
func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// gatherArchive is gather for the files in an archive.
func gatherArchive(ctx context.Context, name string, readers []source.Reader, wanted exclude.Selection) (*artifacts, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxArchive {
		return nil, fmt.Errorf("%s has %d MiB; archives of at most %d MiB are read: unpack it and scan the folder", name, info.Size()>>20, maxArchive>>20)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if !archive.Is(content) {
		return nil, fmt.Errorf("%s is neither a folder nor a zip or tar.gz archive", name)
	}
	reads := func(path string) bool {
		return slices.ContainsFunc(readers, func(r source.Reader) bool { return r.Reads(path) })
	}
	byPath, err := exclude.New(wanted, nil)
	if err != nil {
		return nil, err
	}
	read, err := archive.Read(ctx, name, content, func(path string) bool { return reads(path) && byPath.Reason(path) == "" }, archive.Limits{FileSize: maxScanFile})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	filter, err := exclude.New(wanted, read.Paths)
	if err != nil {
		return nil, err
	}
	a := &artifacts{files: map[string]string{}, seen: len(read.Paths)}
	for _, path := range read.Paths {
		if !reads(path) {
			continue
		}
		if reason := filter.Reason(path); reason != "" {
			a.excluded.Add(reason, path)
			continue
		}
		content, ok := read.Files[path]
		if !ok {
			continue
		}
		switch text, reason := textOf(path, content); {
		case reason != "":
			a.left = append(a.left, leftOut{path, reason})
		case text != "":
			a.files[path] = text
		}
	}
	for _, l := range read.LeftOut {
		a.left = append(a.left, leftOut{line(l.Path), line(l.Reason)})
	}
	return a, nil
}

// archiveName is the name of an archive without its ending.
func archiveName(name string) string {
	base := filepath.Base(name)
	for _, ending := range []string{".tar.gz", ".tgz", ".tar", ".zip"} {
		if short, ok := strings.CutSuffix(base, ending); ok && short != "" {
			return short
		}
	}
	return base
}
