package wire

import (
	"time"

	"tenet/internal/rule"
)

// PreviewRevision is the body that tries a change of a rule without storing it.
type PreviewRevision struct {
	Change ReviseRule `json:"change" doc:"The change, as in a revision of the rule."`
	Replay int        `json:"replay,omitempty" minimum:"0" maximum:"100" doc:"Recorded evaluations to decide again, the newest ones; 0 replays none."`
}

// RevisionPreview holds what a change of a rule would lead to.
type RevisionPreview struct {
	Rule    rule.Rule          `json:"rule" doc:"The rule as it would be, with its lint findings and its test cases counted on what it would say."`
	Changes []rule.FieldChange `json:"changes" nullable:"false" doc:"Fields that would change."`
	Weakens []string           `json:"weakens,omitempty" nullable:"false" doc:"In which ways the rule would demand less, or hold in fewer places; absent without any."`
	// Conflicts are found by words alone.
	Conflicts []rule.RevisionConflict `json:"conflicts,omitempty" nullable:"false" doc:"Rules that the rule would contradict, as far as their words show it."`
	Waits     bool                    `json:"waits" doc:"True if the change would wait for the approval of a second person."`
	Replay    *RevisionReplay         `json:"replay,omitempty" doc:"How recorded evaluations would be decided; absent unless asked for."`
}

// RevisionReplay compares the verdicts that a rule and its revision give on recorded evaluations. No model is asked.
type RevisionReplay struct {
	Evaluations int    `json:"evaluations" doc:"Recorded evaluations that were found."`
	Replayed    int    `json:"replayed" doc:"Those that the checks decided under both, or that the rule does not concern."`
	Flips       []Flip `json:"flips" nullable:"false" doc:"Those on which the verdict of the rule or the overall verdict changes, newest first."`
	// NeedModel evaluations are neither replayed nor failed.
	NeedModel   int           `json:"need_model" doc:"Those that only a model can decide for the rule."`
	NotReplayed []NotReplayed `json:"not_replayed" nullable:"false" doc:"Those that could not be replayed, such as records without their subject."`
	Partial     bool          `json:"partial" doc:"True if the time limit of 10 seconds ended the replay; the older evaluations were not reached."`
}

// Flip is a recorded evaluation that a revision of a rule decides in another way.
type Flip struct {
	EvaluationID  string       `json:"evaluation_id" doc:"The recorded evaluation."`
	Timestamp     time.Time    `json:"timestamp" doc:"When it was made."`
	Before        rule.Verdict `json:"before" doc:"Verdict of the rule as it is; empty if it is not judged."`
	After         rule.Verdict `json:"after" doc:"Verdict of the revision; empty if it is not judged."`
	OverallBefore rule.Verdict `json:"overall_before" doc:"Overall verdict with the rule as it is."`
	OverallAfter  rule.Verdict `json:"overall_after" doc:"Overall verdict with the revision."`
	Why           string       `json:"why" doc:"What gives the new verdict; empty if there is none."`
}
