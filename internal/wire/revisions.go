package wire

import "tenet/internal/rule"

// RevisionDetail is a revision of a rule with the rule as it would be.
type RevisionDetail struct {
	rule.Revision

	Rule rule.Rule `json:"rule" doc:"The rule as it would be, with its test cases counted on what it would say."`
}

// DecideRevision is the body that decides on a revision.
type DecideRevision struct {
	Note string `json:"note,omitempty" maxLength:"8000" doc:"Why; a rejection needs it."`
}

// RevisionQuery selects revisions.
type RevisionQuery struct {
	State string `query:"state" default:"pending" doc:"pending, approved, rejected, withdrawn, replaced, dropped, or all."`
	PageQuery
}
