package wire

import (
	"encoding/json"
	"time"
)

// Job is one piece of work and how far it has come.
type Job struct {
	ID        int64           `json:"id" doc:"Identifier; it stays the same over all attempts."`
	ProjectID string          `json:"project_id" doc:"Project it works for; * for work on all of them."`
	Kind      string          `json:"kind" doc:"What is done, such as rules.embed."`
	Args      json.RawMessage `json:"args,omitempty" doc:"What it is done with; shown to administrators."`
	UniqueKey string          `json:"unique_key,omitempty" doc:"Jobs of a kind with the same key do not run at once, and one of them at most waits."`
	State     string          `json:"state" enum:"queued,running,succeeded,failed,cancelled" doc:"How far it has come."`
	Priority  int             `json:"priority" doc:"1 is first, 3 is last."`
	// Attempt counts from 1; it is 0 before the first one.
	Attempt     int        `json:"attempt" doc:"Attempts begun so far, the one under way included."`
	MaxAttempts int        `json:"max_attempts" doc:"After so many attempts it has failed."`
	Progress    Progress   `json:"progress" doc:"How much of the work is done, as the last attempt has reported."`
	Error       string     `json:"error,omitempty" doc:"Why the last attempt has failed."`
	Cancelling  bool       `json:"cancelling,omitempty" doc:"It has been cancelled and is about to stop."`
	RunAt       time.Time  `json:"run_at" doc:"It does not start before."`
	CreatedAt   time.Time  `json:"created_at" doc:"When it was asked for."`
	StartedAt   *time.Time `json:"started_at,omitempty" doc:"When the last attempt began."`
	FinishedAt  *time.Time `json:"finished_at,omitempty" doc:"When it succeeded, failed or was cancelled."`
}

// Progress is how much of the work is done, in units of the job's kind. Both are 0 while nothing is known.
type Progress struct {
	Done  int `json:"done" doc:"Units done."`
	Total int `json:"total" doc:"Units there are; 0 if that is not known."`
}
