package discover

import (
	"context"
	"slices"
	"strings"

	"tenet/internal/discover/archive"
	"tenet/internal/discover/source"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// StartArchive asks for a scan of the files in an archive, as Start does for files. Only those are stored that a reader of the sources reads.
// The error is invalid for what is no archive, too_large beyond the limits of one scan.
func (d *Discovery) StartArchive(ctx context.Context, projectID string, r wire.ArchiveScan) (wire.Scan, error) {
	request := wire.ScanRequest{Sources: r.Sources, Repository: r.Repository, Files: map[string]string{"x": ""}}
	if err := checkRequest(&request); err != nil { // of all but the files
		return wire.Scan{}, err
	}
	readers := d.readers(request.Sources)
	read, err := archive.Read(ctx, r.Filename, r.Content, func(path string) bool {
		return slices.ContainsFunc(readers, func(r source.Reader) bool { return r.Reads(path) })
	}, archive.Limits{Files: MaxFiles, Kept: MaxBytes})
	if err != nil {
		return wire.Scan{}, err
	}
	if len(read.Files) == 0 {
		why := ""
		if read.LeftOutTotal > 0 {
			why = "; the first that was left out is " + read.LeftOut[0].Path + ": " + read.LeftOut[0].Reason
		}
		return wire.Scan{}, rule.Errorf(rule.CodeInvalid, "none of the %d files in the archive is one that rules are found in%s", read.Seen, why)
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
	about := storedRequest{Sources: slices.Compact(request.Sources), Files: len(request.Files), Archive: clean(r.Filename, maxRepository), LeftTotal: read.LeftOutTotal}
	for _, l := range read.LeftOut {
		about.Left = append(about.Left, source.Problem{File: clean(l.Path, MaxPath), Reason: clean(l.Reason, 500)})
	}
	return d.start(ctx, store.Scan{ProjectID: projectID, Repository: strings.TrimSpace(r.Repository)}, about, parts)
}
