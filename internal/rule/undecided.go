package rule

import "strings"

// UndecidedReason is why a verdict is NEEDS_CONFIRMATION.
type UndecidedReason string

// Reasons of verdicts of rules, and then those that only evaluations as a whole have.
const (
	UndecidedSoftened   UndecidedReason = "softened"   // the rule is broken, and as a SHOULD or under enforcement warn it only asks
	UndecidedDoubtful   UndecidedReason = "doubtful"   // a model found that a person must decide
	UndecidedCheck      UndecidedReason = "check_open" // the check could not decide, mostly for want of a fact
	UndecidedUnexamined UndecidedReason = "unexamined" // a part of the subject was not examined
	UndecidedNoModel    UndecidedReason = "no_model"   // only a model can decide the rule, and none is configured
	UndecidedNoAnswer   UndecidedReason = "no_answer"  // the model failed, or gave no answer that counts

	UndecidedNotAsked  UndecidedReason = "not_asked"     // rules that apply were beyond max_rules
	UndecidedUncovered UndecidedReason = "uncovered"     // no rule covers the subject, and the policy then asks
	UndecidedFloor     UndecidedReason = "below_floor"   // the caller asked for less than the floor of the policy
	UndecidedEmpty     UndecidedReason = "nothing_given" // the request has nothing to judge
	UndecidedOther     UndecidedReason = "other"
)

// UndecidedReasons lists all values of [UndecidedReason].
var UndecidedReasons = []UndecidedReason{
	UndecidedSoftened, UndecidedDoubtful, UndecidedCheck, UndecidedUnexamined, UndecidedNoModel, UndecidedNoAnswer,
	UndecidedNotAsked, UndecidedUncovered, UndecidedFloor, UndecidedEmpty, UndecidedOther,
}

// Sentences of verdicts by which their reason is found again in records.
const (
	SentenceNoModel   = "No model is configured to judge this rule"
	SentenceOpenCheck = "The rule's check could not decide."
	SentenceBroken    = "(The rule is broken; "
	SentenceEmpty     = "There is nothing to judge"
)

// RecordedVerdict is the part of a recorded verdict by which it is counted and found.
type RecordedVerdict struct {
	RuleID           string      `json:"rule_id"`
	Verdict          Verdict     `json:"verdict"`
	DecidedBy        DecidedBy   `json:"decided_by"`
	Enforcement      Enforcement `json:"enforcement"`
	Concerned        bool        `json:"concerned"`
	Reasoning        string      `json:"reasoning"`
	IssueDescription string      `json:"issue_description"`
	Fingerprint      string      `json:"fingerprint"`
	Waiver           *struct{}   `json:"waiver"`
	Unexamined       []struct{}  `json:"unexamined"`
}

// counts reports whether the verdict weighs in the overall verdict, as [RuleVerdict.Counts] does.
func (v *RecordedVerdict) counts() bool { return v.Enforcement != Shadow && v.Waiver == nil }

// Undecided returns why the verdict is NEEDS_CONFIRMATION; empty if it is not.
func (v *RecordedVerdict) Undecided() UndecidedReason {
	switch {
	case v.Verdict == Allow || v.Verdict == Deny:
		return ""
	case v.Fingerprint != "" || v.DecidedBy == ByCheck || strings.Contains(v.Reasoning, SentenceBroken):
		return UndecidedSoftened
	case v.DecidedBy != ByNone && v.DecidedBy != "":
		return UndecidedDoubtful
	case strings.HasPrefix(v.Reasoning, SentenceEmpty):
		return UndecidedEmpty
	case len(v.Unexamined) > 0:
		return UndecidedUnexamined
	case strings.HasPrefix(v.IssueDescription, SentenceOpenCheck):
		return UndecidedCheck
	case strings.Contains(v.Reasoning, SentenceNoModel):
		return UndecidedNoModel
	}
	return UndecidedNoAnswer
}

// Undecided returns the reasons why the overall verdict is NEEDS_CONFIRMATION, as [RecordedEvaluation.Undecided] does for the record.
func (e *Evaluation) Undecided() []UndecidedReason {
	if e.OverallVerdict == Allow || e.OverallVerdict == Deny {
		return nil
	}
	r := RecordedEvaluation{OverallVerdict: e.OverallVerdict, RuleVerdicts: make([]RecordedVerdict, len(e.RuleVerdicts))}
	r.Coverage.RulesNotAsked, r.Coverage.Uncovered = e.Coverage.RulesNotAsked, e.Coverage.Uncovered
	for i := range e.RuleVerdicts {
		v := &e.RuleVerdicts[i]
		to := &r.RuleVerdicts[i]
		*to = RecordedVerdict{
			RuleID: v.RuleID, Verdict: v.Verdict, DecidedBy: v.DecidedBy, Enforcement: v.Enforcement, Concerned: v.Concerned, Reasoning: v.Reasoning,
			IssueDescription: v.IssueDescription, Fingerprint: v.Fingerprint, Unexamined: make([]struct{}, len(v.Unexamined)),
		}
		if v.Waiver != nil {
			to.Waiver = &struct{}{}
		}
	}
	for i := range e.Narrowed {
		r.Narrowed = append(r.Narrowed, struct {
			Floor string `json:"floor"`
		}{e.Narrowed[i].Floor})
	}
	return r.Undecided()
}

// RecordedEvaluation is the part of a recorded evaluation by which it is counted and found.
type RecordedEvaluation struct {
	OverallVerdict Verdict           `json:"overall_verdict"`
	RuleVerdicts   []RecordedVerdict `json:"rule_verdicts"`
	TotalLatencyMS int64             `json:"total_latency_ms"`
	NodeID         string            `json:"node_id"`
	Identity       *Identity         `json:"identity"`
	SnapshotID     *string           `json:"snapshot_id"`
	Narrowed       []struct {
		Floor string `json:"floor"`
	} `json:"narrowed"`
	Coverage struct {
		RulesNotAsked int       `json:"rules_not_asked"`
		Uncovered     Uncovered `json:"uncovered"`
	} `json:"coverage"`
}

// Undecided returns the reasons why the overall verdict is NEEDS_CONFIRMATION, each once and in the order of [UndecidedReasons]; none if it
// is another.
func (e *RecordedEvaluation) Undecided() []UndecidedReason {
	if e.OverallVerdict == Allow || e.OverallVerdict == Deny {
		return nil
	}
	has := map[UndecidedReason]bool{}
	for i := range e.RuleVerdicts {
		if v := &e.RuleVerdicts[i]; v.counts() {
			has[v.Undecided()] = true
		}
	}
	for i := range e.Narrowed {
		if e.Narrowed[i].Floor != "" {
			has[UndecidedFloor] = true
		}
	}
	if e.Coverage.RulesNotAsked > 0 {
		has[UndecidedNotAsked] = true
	}
	if word := e.Coverage.Uncovered; word != "" && word != UncoveredAllow {
		has[UndecidedUncovered] = true
	}
	var list []UndecidedReason
	for _, reason := range UndecidedReasons {
		if has[reason] {
			list = append(list, reason)
		}
	}
	switch {
	case len(list) > 0:
		return list
	case len(e.RuleVerdicts) == 0:
		return []UndecidedReason{UndecidedEmpty}
	}
	return []UndecidedReason{UndecidedOther}
}
