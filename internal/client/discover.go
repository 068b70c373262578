package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"tenet/internal/discover"
)

const discoverPath = "/api/v1/discover"

func scanPath(id, more string) string {
	return discoverPath + "/scans/" + url.PathEscape(id) + more
}

func candidatePath(id, more string) string {
	return discoverPath + "/candidates/" + url.PathEscape(id) + more
}

// StartScan asks for a scan, which goes on in the background.
func (c *Client) StartScan(ctx context.Context, r discover.ScanRequest) (discover.Scan, error) {
	k, err := send(http.MethodPost, discoverPath+"/scan", r)
	if err != nil {
		return discover.Scan{}, err
	}
	return into[discover.Scan](ctx, c, k)
}

// ExtractRules asks for a scan of an uploaded document.
func (c *Client) ExtractRules(ctx context.Context, documentID string) (discover.Scan, error) {
	return into[discover.Scan](ctx, c, call{method: http.MethodPost, path: documentPath(documentID, "extract")})
}

// Scan returns a scan as far as it has come.
func (c *Client) Scan(ctx context.Context, id string) (discover.Scan, error) {
	return into[discover.Scan](ctx, c, get(scanPath(id, ""), nil))
}

// Scans returns a page of scans, newest first.
func (c *Client) Scans(ctx context.Context, number, size int) (List[discover.Scan], error) {
	q := url.Values{}
	page(q, number, size)
	return into[List[discover.Scan]](ctx, c, get(discoverPath+"/scans", q))
}

// CandidateFilter selects candidates; empty fields select everything.
type CandidateFilter struct {
	Status        discover.Decision
	MinConfidence float64
}

// Candidates are candidates of a scan.
type Candidates struct {
	Candidates []discover.Candidate `json:"candidates"`
	Total      int                  `json:"total"`
	Limit      int                  `json:"limit"`
	Offset     int                  `json:"offset"`
}

// Candidates returns a page of up to 1000 candidates of a scan, those of the most confidence first.
func (c *Client) Candidates(ctx context.Context, scanID string, f CandidateFilter, offset int) (Candidates, error) {
	q := url.Values{}
	setText(q, "status", f.Status)
	if f.MinConfidence > 0 {
		q.Set("min_confidence", strconv.FormatFloat(f.MinConfidence, 'f', -1, 64))
	}
	if offset > 0 {
		q.Set("offset", strconv.Itoa(offset))
	}
	return into[Candidates](ctx, c, get(scanPath(scanID, "/candidates"), q))
}

// AllCandidates returns all candidates of a scan that a filter selects.
func (c *Client) AllCandidates(ctx context.Context, scanID string, f CandidateFilter) ([]discover.Candidate, error) {
	var list []discover.Candidate
	for {
		some, err := c.Candidates(ctx, scanID, f, len(list))
		if err != nil {
			return nil, err
		}
		if list = append(list, some.Candidates...); len(some.Candidates) == 0 || len(list) >= some.Total {
			return list, nil
		}
	}
}

// Candidate returns a candidate.
func (c *Client) Candidate(ctx context.Context, id string) (discover.Candidate, error) {
	return into[discover.Candidate](ctx, c, get(candidatePath(id, ""), nil))
}

// ApproveCandidate makes a rule of a candidate.
func (c *Client) ApproveCandidate(ctx context.Context, id string, a discover.CandidateApproval) (discover.Decided, error) {
	k, err := send(http.MethodPost, candidatePath(id, "/approve"), a)
	if err != nil {
		return discover.Decided{}, err
	}
	return into[discover.Decided](ctx, c, k)
}

// DismissCandidate decides that a candidate becomes no rule.
func (c *Client) DismissCandidate(ctx context.Context, id, reason string) (discover.Decided, error) {
	k, err := send(http.MethodPost, candidatePath(id, "/dismiss"), map[string]string{"reason": reason})
	if err != nil {
		return discover.Decided{}, err
	}
	return into[discover.Decided](ctx, c, k)
}

// ApproveCandidates makes rules of many candidates of a scan, each for itself.
func (c *Client) ApproveCandidates(ctx context.Context, scanID string, s discover.Selection, o *discover.Overrides) (discover.Bulk, error) {
	k, err := send(http.MethodPost, scanPath(scanID, "/candidates/approve"), struct {
		discover.Selection
		Overrides *discover.Overrides `json:"metadata_overrides,omitempty"`
	}{s, o})
	if err != nil {
		return discover.Bulk{}, err
	}
	return into[discover.Bulk](ctx, c, k)
}

// DismissCandidates dismisses many candidates of a scan, each for itself.
func (c *Client) DismissCandidates(ctx context.Context, scanID string, s discover.Selection, reason string) (discover.Bulk, error) {
	k, err := send(http.MethodPost, scanPath(scanID, "/candidates/dismiss"), struct {
		discover.Selection
		Reason string `json:"reason,omitempty"`
	}{s, reason})
	if err != nil {
		return discover.Bulk{}, err
	}
	return into[discover.Bulk](ctx, c, k)
}
