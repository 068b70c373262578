package discover

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/discover/exclude"
	"tenet/internal/discover/source"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// Bounds of one scan.
const (
	MaxFiles      = 10_000
	MaxPath       = 1_000    // bytes
	MaxBytes      = 64 << 20 // of all files; the size of a request has a limit of its own
	MaxDocument   = 64 << 20 // bytes of an uploaded document
	maxRepository = 256      // characters
	maxCandidates = 10_000
	maxProblems   = 1_000
)

// storedRequest is the part of a request that is stored with its scan.
type storedRequest struct {
	Sources []wire.SourceKind `json:"sources"`
	Files   int               `json:"files"`
	Archive string            `json:"archive,omitempty"` // name of the archive that held them
	// Left lists the first entries of the archive that were left out, LeftTotal counts all.
	Left      []source.Problem `json:"left,omitempty"`
	LeftTotal int              `json:"left_total,omitempty"`

	Exclude           []string        `json:"exclude,omitempty"`
	Include           []string        `json:"include,omitempty"`
	NoDefaultExcludes bool            `json:"no_default_excludes,omitempty"`
	Excluded          []wire.Excluded `json:"excluded,omitempty"` // by the caller
}

// selection returns which files the request wants.
func (r *storedRequest) selection() exclude.Selection {
	return exclude.Selection{Exclude: r.Exclude, Include: r.Include, All: r.NoDefaultExcludes}
}

func checkRequest(r *wire.ScanRequest) error {
	var p rule.Problems
	if len(r.Sources) == 0 {
		p.Add("sources", "is empty; name one or more of %s", rule.Names(wire.SourceKinds))
	}
	for i, k := range r.Sources {
		kind, ok := rule.Parse(string(k), wire.SourceKinds)
		if !ok {
			p.Add("sources", "%q is unknown; use one or more of %s", string(k), rule.Names(wire.SourceKinds))
			continue
		}
		r.Sources[i] = kind
	}
	switch {
	case len(r.Files) == 0:
		p.Add("file_contents", `is empty; send the texts of the files by their paths, such as {"docs/policy.md": "..."}, or let tenet scan do it`)
	case len(r.Files) > MaxFiles:
		p.Add("file_contents", "has %d files; at most %d are allowed in one scan: divide them", len(r.Files), MaxFiles)
	}
	total := 0
	for path, s := range r.Files {
		total += len(s)
		if reason := badPath(path); reason != "" && p.Len() < 20 {
			p.Add("file_contents", "the path %q %s", text.FitRunes(path, 80, "…"), reason)
		}
	}
	if total > MaxBytes {
		p.Add("file_contents", "has %d bytes; at most %d are allowed in one scan: divide them", total, MaxBytes)
	}
	if !plain(r.Repository) || utf8.RuneCountInString(r.Repository) > maxRepository {
		p.Add("repository", "must be a name of at most %d characters without control characters", maxRepository)
	}
	s := exclude.Selection{Exclude: r.Exclude, Include: r.Include}
	s.Check(&p)
	checkExcluded(&p, r.Excluded)
	return p.Err("the scan is invalid")
}

// Bounds of what a caller says that it has left out.
const (
	maxReasons  = 20
	maxWhy      = 200 // characters
	maxExamples = 5
)

func checkExcluded(p *rule.Problems, list []wire.Excluded) {
	if len(list) > maxReasons {
		p.Add("excluded", "has %d reasons; at most %d are allowed", len(list), maxReasons)
		return
	}
	for _, e := range list {
		bad := slices.ContainsFunc(e.Examples, func(path string) bool { return badPath(path) != "" })
		if e.Reason == "" || !plain(e.Reason) || utf8.RuneCountInString(e.Reason) > maxWhy || e.Files < 0 || len(e.Examples) > maxExamples || bad {
			p.Add("excluded", "needs a reason of at most %d characters, a number of files, and at most %d paths each", maxWhy, maxExamples)
			return
		}
	}
}

func badPath(path string) string {
	switch {
	case path == "":
		return "is empty"
	case len(path) > MaxPath:
		return "is too long"
	case !plain(path):
		return "holds control characters or is not valid UTF-8"
	}
	return ""
}

// plain reports whether a text can be stored and shown on one line.
func plain(s string) bool { return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl) }

// Start asks for a scan of files. It goes on in the background. The error is invalid for a bad request, not_found without
// the project.
func (d *Discovery) Start(ctx context.Context, projectID string, r wire.ScanRequest) (wire.Scan, error) {
	if err := checkRequest(&r); err != nil {
		return wire.Scan{}, err
	}
	slices.Sort(r.Sources)
	r.Sources = slices.Compact(r.Sources)
	parts, err := pack(r.Files)
	if err != nil {
		return wire.Scan{}, err
	}
	return d.start(ctx, store.Scan{ProjectID: projectID, Repository: strings.TrimSpace(r.Repository)}, storedRequest{
		Sources: r.Sources, Files: len(r.Files), Exclude: r.Exclude, Include: r.Include, NoDefaultExcludes: r.NoDefaultExcludes, Excluded: r.Excluded,
	}, parts)
}

// StartDocument asks for a scan of an uploaded document; not_found without it.
func (d *Discovery) StartDocument(ctx context.Context, projectID, id string) (wire.Scan, error) {
	document, err := d.store.Documents.Get(ctx, projectID, id)
	if err != nil {
		return wire.Scan{}, err
	}
	if document.SizeBytes > MaxDocument {
		return wire.Scan{}, rule.Errorf(rule.CodeTooLarge, "the document has %d bytes; rules are found in those of at most %d: split it", document.SizeBytes, MaxDocument)
	}
	return d.start(ctx, store.Scan{ProjectID: projectID, DocumentID: document.ID}, storedRequest{Sources: []wire.SourceKind{wire.PolicyDocument}, Files: 1}, nil)
}

func (d *Discovery) start(ctx context.Context, s store.Scan, about storedRequest, parts [][]byte) (wire.Scan, error) {
	var err error
	if s.Request, err = json.Marshal(about); err != nil {
		return wire.Scan{}, err
	}
	s.ID, s.CreatedAt, s.CreatedBy, s.State = audit.NewID(), d.instant(), auth.ActorFrom(ctx).Name, store.ScanOpen
	err = d.store.Update(ctx, func(tx store.Tx) (err error) {
		if _, err := tx.Projects.Get(ctx, s.ProjectID); err != nil {
			return err
		}
		if s.JobID, err = d.cfg.Queue.Enqueue(ctx, tx, ScanKind, s.ProjectID, scanArgs{s.ID}, job.Options{MaxAttempts: scanAttempts}); err != nil {
			return err
		}
		if err := tx.Scans.Insert(ctx, s, parts); err != nil {
			return err
		}
		return d.note(ctx, tx, s.ProjectID, map[string]any{
			"action": "scan started", "scan_id": s.ID, "sources": about.Sources, "files": about.Files, "archive": about.Archive, "repository": s.Repository, "document_id": s.DocumentID,
		})
	})
	if err != nil {
		return wire.Scan{}, err
	}
	return scanOf(&s, wire.Pending, wire.Progress{}, nil)
}

// note records what was done in the audit chain.
func (d *Discovery) note(ctx context.Context, tx store.Tx, projectID string, body map[string]any) error {
	return audit.Append(ctx, tx, projectID, audit.Record{
		Kind: audit.KindDiscovery, At: d.instant(), Actor: auth.ActorFrom(ctx).Name, Body: audit.JSON(body),
	})
}

// partSize is how many bytes of files are packed together, so that no part is large.
const partSize = 1 << 20

// packedFile is a file as it is stored until its scan has ended.
type packedFile struct {
	Path string `json:"p"`
	Text string `json:"t,omitempty"`
	// Bytes are those of a file that is not UTF-8.
	Bytes []byte `json:"b,omitempty"`
}

// pack compresses files, in the order of their paths.
func pack(files map[string]string) ([][]byte, error) {
	var parts [][]byte
	var group []packedFile
	size := 0
	flush := func() error {
		if len(group) == 0 {
			return nil
		}
		data, err := json.Marshal(group)
		if err != nil {
			return err
		}
		parts = append(parts, audit.Compress(data))
		group, size = nil, 0
		return nil
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		one := packedFile{Path: path, Text: files[path]}
		if !utf8.ValidString(one.Text) {
			one.Text, one.Bytes = "", []byte(files[path])
		}
		group = append(group, one)
		if size += len(path) + len(files[path]); size >= partSize {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	err := flush()
	return parts, err
}

// unpack is the inverse of pack for one part.
func unpack(part []byte) ([]source.File, error) {
	data, err := audit.Decompress(part)
	if err != nil {
		return nil, err
	}
	var group []packedFile
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&group); err != nil {
		return nil, err
	}
	files := make([]source.File, len(group))
	for i, f := range group {
		files[i] = source.File{Path: f.Path, Content: []byte(f.Text)}
		if f.Bytes != nil {
			files[i].Content = f.Bytes
		}
	}
	return files, nil
}
