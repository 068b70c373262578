package wire

import "time"

// CacheStats counts the verdicts of a project in the cache.
type CacheStats struct {
	ProjectID string `json:"project_id" doc:"The project."`
	VerdictStats
}

// PruneCache is the body that says which stored verdicts to delete.
type PruneCache struct {
	Before   *time.Time `json:"before,omitempty" required:"false" doc:"Delete verdicts made before this time."`
	MaxBytes *int64     `json:"max_bytes,omitempty" required:"false" minimum:"1" doc:"Delete the oldest until the text of the others has at most so many bytes."`
	// EvaluationID names an evaluation whose verdicts nobody may use again, RuleID one of its rules.
	EvaluationID string `json:"evaluation_id,omitempty" required:"false" maxLength:"64" doc:"Delete the verdicts that this evaluation used or left."`
	RuleID       string `json:"rule_id,omitempty" required:"false" maxLength:"200" doc:"With evaluation_id: only those of this rule, named by id or slug."`
}

// CacheDeleted counts deleted verdicts.
type CacheDeleted struct {
	Deleted int64 `json:"deleted" doc:"Verdicts that were deleted."`
}

// VerdictStats counts stored verdicts. The times are nil without any.
type VerdictStats struct {
	Count  int64      `json:"count" doc:"Verdicts that are kept."`
	Bytes  int64      `json:"bytes" doc:"Bytes of their text."`
	Oldest *time.Time `json:"oldest,omitempty" doc:"When the oldest was made."`
	Newest *time.Time `json:"newest,omitempty" doc:"When the newest was made."`
}
