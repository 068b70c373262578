package client

import (
	"context"

	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// SearchQuery looks for rules by words, by meaning, or by both.
type SearchQuery struct {
	Text   string    `json:"query,omitempty"`
	Vector []float64 `json:"vector,omitempty"` // in place of the text's; not for a search by words
	wire.SearchFilter
	wire.PageBody
	// NodeID narrows the search to what holds at a federation node.
	NodeID string `json:"-"`
}

// SearchRules finds rules for a text.
func SearchRules(ctx context.Context, c *Client, mode wire.SearchMode, q SearchQuery) (wire.RuleSearchPage, error) {
	search := op.SearchFulltext
	switch mode {
	case wire.Keyword:
	case wire.Vector:
		search = op.SearchVector
	case wire.Hybrid:
		search = op.SearchHybrid
	}
	return Call(ctx, c, search.Where(wire.SearchQuery{NodeID: q.NodeID}), any(q))
}

// SearchDocuments finds documents for a text.
func SearchDocuments(ctx context.Context, c *Client, mode wire.SearchMode, text string, p wire.PageBody) (wire.DocumentSearchPage, error) {
	search := op.SearchDocumentsFulltext
	switch mode {
	case wire.Keyword:
	case wire.Vector:
		search = op.SearchDocumentsVector
	case wire.Hybrid:
		search = op.SearchDocumentsHybrid
	}
	return Call(ctx, c, search, wire.DocumentRequest{Query: text, PageBody: p})
}

// AllCandidates returns all candidates of a scan that a filter selects.
func AllCandidates(ctx context.Context, c *Client, scanID string, q wire.CandidateQuery) ([]wire.Candidate, error) {
	var list []wire.Candidate
	for {
		q.Offset = len(list)
		page, err := Get(ctx, c, op.ListCandidates.At(scanID).Where(q))
		if err != nil {
			return nil, err
		}
		if list = append(list, page.Candidates...); len(page.Candidates) == 0 || len(list) >= page.Total {
			return list, nil
		}
	}
}
