package discover

import (
	"context"
	"strings"

	"tenet/internal/store"
	"tenet/internal/wire"
)

// Filter selects candidates of a scan. Empty fields select everything.
type Filter struct {
	Status        wire.CandidateStatus
	Path          string // of a file, or of a folder above it
	MinConfidence float64
	Offset, Limit int
}

// Candidates returns a page of the candidates of a scan, those of the most confidence first, and how many match; not_found
// without the scan. A scan that is not completed has none.
func (d *Discovery) Candidates(ctx context.Context, projectID, scanID string, f Filter) ([]wire.Candidate, int, error) {
	if _, err := d.store.Scans.Get(ctx, projectID, scanID); err != nil {
		return nil, 0, err
	}
	rows, total, err := d.store.Candidates.Find(ctx, store.CandidateFilter{
		ProjectID: projectID, ScanID: scanID, Status: string(f.Status), Path: strings.Trim(f.Path, "/"), MinConfidence: f.MinConfidence, Offset: f.Offset, Limit: f.Limit,
	})
	if err != nil {
		return nil, 0, err
	}
	list := make([]wire.Candidate, len(rows))
	for i := range rows {
		if list[i], _, err = candidateOf(&rows[i]); err != nil {
			return nil, 0, err
		}
	}
	return list, total, nil
}
