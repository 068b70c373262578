package discover

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tenet/internal/discover/archive"
	"tenet/internal/discover/exclude"
	"tenet/internal/discover/source"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// StartArchive asks for a scan of the files in an archive, as Start does for files. Only those are stored that a reader of the sources reads.
// The error is invalid for what is no archive, too_large beyond the limits of one scan.
func (d *Discovery) StartArchive(ctx context.Context, projectID string, r wire.ArchiveScan) (wire.Scan, error) {
	request := r.Request()
	request.Files = map[string]string{"x": ""}
	if err := checkRequest(&request); err != nil { // of all but the files
		return wire.Scan{}, err
	}
	readers := d.readers(request.Sources)
	reads := func(path string) bool {
		return slices.ContainsFunc(readers, func(r source.Reader) bool { return r.Reads(path) })
	}
	about := storedRequest{
		Archive: clean(r.Filename, maxRepository), Exclude: request.Exclude, Include: request.Include, NoDefaultExcludes: request.NoDefaultExcludes,
	}
	byPath, err := exclude.New(about.selection(), nil) // what a path alone says; the rest follows when all paths are known
	if err != nil {
		return wire.Scan{}, err
	}
	read, err := archive.Read(ctx, r.Filename, r.Content, func(path string) bool { return reads(path) && byPath.Reason(path) == "" },
		archive.Limits{Files: MaxFiles, Kept: MaxBytes})
	if err != nil {
		return wire.Scan{}, err
	}
	filter, err := exclude.New(about.selection(), read.Paths)
	if err != nil {
		return wire.Scan{}, err
	}
	var left exclude.Tally
	for _, path := range read.Paths {
		if reason := filter.Reason(path); reason != "" && reads(path) {
			left.Add(reason, path)
			delete(read.Files, path)
		}
	}
	about.Excluded = left.List()
	if len(read.Files) == 0 {
		return wire.Scan{}, nothingToRead(read, about.Excluded)
	}
	request.Files = make(map[string]string, len(read.Files))
	for path, content := range read.Files {
		request.Files[path] = string(content)
	}
	parts, err := pack(request.Files)
	if err != nil {
		return wire.Scan{}, err
	}
	slices.Sort(request.Sources)
	about.Sources, about.Files, about.LeftTotal = slices.Compact(request.Sources), len(request.Files), read.LeftOutTotal
	for _, l := range read.LeftOut {
		about.Left = append(about.Left, source.Problem{File: clean(l.Path, MaxPath), Reason: clean(l.Reason, 500)})
	}
	return d.start(ctx, store.Scan{ProjectID: projectID, Repository: strings.TrimSpace(r.Repository)}, about, parts)
}

// nothingToRead is the error for an archive without a file to read.
func nothingToRead(read *archive.Result, excluded []wire.Excluded) error {
	why := ""
	switch {
	case len(excluded) > 0:
		why = fmt.Sprintf("; %d are left out as %s, and no_default_excludes reads them", excluded[0].Files, excluded[0].Reason)
	case read.LeftOutTotal > 0:
		why = fmt.Sprintf("; the first that was left out is %s: %s", read.LeftOut[0].Path, read.LeftOut[0].Reason)
	}
	return rule.Errorf(rule.CodeInvalid, "none of the %d files in the archive is one that rules are found in%s", len(read.Paths), why)
}
