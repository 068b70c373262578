package wire

import (
	"time"

	"tenet/internal/rule"
)

// SearchMode says how a search ranked what it found.
type SearchMode string

// Modes. Keyword compares words, Vector meaning, Hybrid both.
const (
	Keyword SearchMode = "keyword"
	Vector  SearchMode = "vector"
	Hybrid  SearchMode = "hybrid"
)

// SearchModes lists all modes.
var SearchModes = []SearchMode{Keyword, Vector, Hybrid}

// PageBody asks for a page in a body.
type PageBody struct {
	Page     int `json:"page,omitempty" nullable:"true" minimum:"1" maximum:"1000000000" default:"1" doc:"Page, from 1."`
	PageSize int `json:"page_size,omitempty" nullable:"true" minimum:"1" maximum:"100" default:"20" doc:"Items per page."`
}

// SearchFilter are the fields that select rules in a body.
type SearchFilter struct {
	Modality rule.Modality `json:"modality,omitempty" nullable:"true" enum:"MUST,MUST_NOT,SHOULD,MAY,INFO" doc:"Modality, in any letter case."`
	Severity rule.Severity `json:"severity,omitempty" nullable:"true" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"Severity, in any letter case."`
	Scope    string        `json:"scope,omitempty" nullable:"true" maxLength:"1024" doc:"Scope path: a finds the rules of a, a/b and a/b/c."`
	Tags     []string      `json:"tags,omitempty" nullable:"true" maxItems:"64" doc:"Labels that the rule must all have, in any letter case."`
	Status   rule.Status   `json:"status,omitempty" nullable:"true" enum:"DRAFT,REVIEW,APPROVED,EFFECTIVE,SUPERSEDED,RETIRED" doc:"Status, in any letter case; absent means all but SUPERSEDED and RETIRED."`
}

// FulltextRequest is the body of a search by words.
type FulltextRequest struct {
	Query string `json:"query" maxLength:"10000" doc:"Words to look for." example:"encrypt customer data"`
	SearchFilter
	PageBody
}

// VectorRequest is the body of a search by meaning.
type VectorRequest struct {
	Query  string    `json:"query,omitempty" nullable:"true" maxLength:"10000" doc:"What to look for; needed unless there is a vector." example:"keep personal records secret"`
	Vector []float64 `json:"vector,omitempty" nullable:"true" doc:"What to look for as 768 numbers, made by the embedding model of the rules. Absent, the query is embedded."`
	SearchFilter
	PageBody
}

// HybridRequest is the body of a search by words and meaning.
type HybridRequest struct {
	Query  string    `json:"query" maxLength:"10000" doc:"What to look for." example:"keep personal records secret"`
	Vector []float64 `json:"vector,omitempty" nullable:"true" doc:"The meaning to look for as 768 numbers, made by the embedding model of the rules. Absent, the query is embedded."`
	SearchFilter
	PageBody
}

// CategoryRequest is the body of a search by what rules are.
type CategoryRequest struct {
	SearchFilter
	PageBody
}

// ContextRequest is the body of a search by situation.
type ContextRequest struct {
	Facts string `json:"facts" maxLength:"20000" doc:"The situation, in words." example:"A contractor wants read access to the production database for a week."`
	Scope string `json:"scope,omitempty" nullable:"true" maxLength:"1024" doc:"Scope of the situation; absent means every scope."`
	PageBody
}

// RuleSearchPage is the envelope of every search for rules.
type RuleSearchPage struct {
	Items    []RuleSearchItem `json:"items" nullable:"false" doc:"Rules of this page, the best first."`
	Total    int              `json:"total" doc:"Rules on all pages."`
	Page     int              `json:"page" doc:"This page, from 1."`
	PageSize int              `json:"page_size" doc:"Items per page."`
	Query    string           `json:"query" doc:"What was looked for."`
	Mode     SearchMode       `json:"mode,omitempty" enum:"keyword,vector,hybrid" doc:"How rules were ranked; absent where neither words nor meaning counted."`
	Degraded *Degraded        `json:"degraded,omitempty" doc:"Present if the search had to do without something."`
}

// RuleConflicts is the answer of a search by conflict.
type RuleConflicts struct {
	RuleID    string         `json:"rule_id" format:"uuid" doc:"The rule."`
	Conflicts []RuleConflict `json:"conflicts" nullable:"false" doc:"Rules that conflict with it, the earliest noted first."`
	Total     int            `json:"total" doc:"How many there are."`
}

// RuleConflict is a rule that contradicts another.
type RuleConflict struct {
	Rule         rule.Rule         `json:"rule" doc:"The other rule."`
	Relationship rule.RelationKind `json:"relationship" enum:"CONFLICTS_WITH" doc:"How the two are related."`
	Reason       string            `json:"reason" doc:"Why they conflict."`
	DetectedAt   time.Time         `json:"detected_at" doc:"When the conflict was first noted."`
	State        string            `json:"state" enum:"suggested,confirmed" doc:"confirmed if a person says so, suggested if nobody has decided yet."`
	Confidence   float64           `json:"confidence" minimum:"0" maximum:"1" doc:"How sure it is; 1 for relationships made by hand."`
	ConflictID   string            `json:"conflict_id,omitempty" doc:"Id to confirm or reject it by; none for relationships made by hand."`
}

// RuleSearchItem is a rule that was found.
type RuleSearchItem struct {
	Rule       rule.Rule   `json:"rule" doc:"The rule."`
	Score      float64     `json:"score" doc:"Higher is better. Scores of different searches cannot be compared."`
	Reason     string      `json:"reason,omitempty" doc:"Why the rule matters in the situation, where a model has judged it."`
	Matched    []Match     `json:"matched,omitempty" nullable:"false" doc:"Why the rule was found, in the search in one box."`
	Highlights []Highlight `json:"highlights,omitempty" nullable:"false" doc:"Where what was looked for occurs in the rule."`
}

// Highlight is a part of a rule's text that a query has found.
type Highlight struct {
	Field string `json:"field" enum:"statement,rationale,slug,tags,examples.input,source_refs.uri,source_refs.section,source_refs.quote" doc:"The text. Searches other than the one in one box mark statement and rationale."`
	Index int    `json:"index,omitempty" minimum:"0" doc:"Place in the list of tags, examples or source_refs, from 0."`
	Start int    `json:"start" minimum:"0" doc:"First character, counted in Unicode characters from 0."`
	End   int    `json:"end" minimum:"0" doc:"Character behind the last."`
}

// Degraded says why a search answers with less than was asked for.
type Degraded struct {
	Reason string `json:"reason" doc:"What was missing, and what was done instead."`
}

// SearchStatus describes the indexes that searches in a project use.
type SearchStatus struct {
	ProjectID       string `json:"project_id" doc:"Project."`
	EmbeddingModel  string `json:"embedding_model" doc:"Model whose vectors are compared; empty without an embedding service."`
	Rules           int    `json:"rules" doc:"Rules of every status."`
	RulesWithVector int    `json:"rules_with_vector" doc:"Rules that a search by meaning can find. The others are being embedded in the background."`
	Model           string `json:"model" doc:"Model that assists the search by situation; empty without one."`
}
