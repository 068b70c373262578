package rule

import (
	"slices"
	"strings"
	"time"
)

// Evaluation is the answer to one evaluation request: the verdicts and the coverage.
type Evaluation struct {
	EvaluationID   string              `json:"evaluation_id" doc:"Unique identifier for the audit trail."`
	ProjectID      string              `json:"project_id" doc:"Project whose rules were applied."`
	OverallVerdict Verdict             `json:"overall_verdict" enum:"ALLOW,DENY,NEEDS_CONFIRMATION" doc:"ALLOW only if every selected rule was judged ALLOW, and the project's policy is content: with a subject that no rule covers, and with what the caller has narrowed."`
	RuleVerdicts   []RuleVerdict       `json:"rule_verdicts" nullable:"false" doc:"All per-rule verdicts."`
	Violations     []RuleVerdict       `json:"violations" nullable:"false" doc:"The verdicts that are DENY and not waived."`
	Warnings       []RuleVerdict       `json:"warnings" nullable:"false" doc:"The verdicts that are NEEDS_CONFIRMATION and not waived."`
	RulesEvaluated int                 `json:"rules_evaluated" doc:"Total rules evaluated."`
	RulesPassed    int                 `json:"rules_passed" doc:"Rules that returned ALLOW."`
	RulesViolated  int                 `json:"rules_violated" doc:"Rules that returned DENY."`
	RulesUncertain int                 `json:"rules_uncertain" doc:"Rules that returned NEEDS_CONFIRMATION."`
	RulesWaived    int                 `json:"rules_waived" doc:"Rules whose denial is covered by a waiver; they are in none of the other counts but rules_evaluated."`
	FixSummary     string              `json:"fix_summary" doc:"Consolidated fix suggestions."`
	ModelIDsUsed   []string            `json:"model_ids_used" nullable:"false" doc:"Identifiers of the language models used."`
	TotalLatencyMS int64               `json:"total_latency_ms" doc:"End-to-end time in milliseconds."`
	Timestamp      time.Time           `json:"timestamp" doc:"When the evaluation ran."`
	Mode           Mode                `json:"mode" enum:"preflight,posthoc" doc:"Before or after the action."`
	Coverage       Coverage            `json:"coverage" doc:"What was looked at, and what was not."`
	Narrowed       []Narrowed          `json:"narrowed,omitempty" nullable:"false" doc:"Parameters by which the caller made fewer rules hold; absent without any."`
	Notices        []string            `json:"notices,omitempty" nullable:"false" doc:"What else the reader of the verdict must know, each in a sentence; absent without any."`
	Overridden     []Overridden        `json:"overridden" nullable:"false" doc:"Rules that apply but are silenced by another rule that overrides them."`
	NodeID         string              `json:"node_id,omitempty" doc:"Federation node whose effective rules were applied; absent if none was in play."`
	Approval       *EvaluationApproval `json:"approval,omitempty" doc:"The approval that the evaluation has used, asked for or found waiting; absent without any."`
	SnapshotID     *string             `json:"snapshot_id" doc:"Snapshot whose rules were applied; null for live rules."`
	CorpusVersion  int64               `json:"corpus_version" doc:"Version of the corpus that was applied."`
	// Bundle is empty for what a server with a database of rules has evaluated.
	Bundle      string    `json:"bundle,omitempty" doc:"Bundle by which an edge has evaluated: the hash of its text. Absent from servers."`
	BundleAge   *int64    `json:"bundle_age_s,omitempty" doc:"Seconds since the server last vouched that this bundle is the newest. Absent from servers."`
	BundleStale StaleWord `json:"bundle_stale,omitempty" enum:"open,confirm,closed" doc:"What an edge does because its bundle is older than max_age or its records have no room: closed is DENY, confirm is never ALLOW. Absent otherwise."`
	// FailModes are demands of the project on those who ask; nil without any.
	FailModes FailModes `json:"fail_modes,omitempty" doc:"What the caller does at least about a rule that nothing could judge (decided_by none), by its severity: open lets it pass, ask asks a person, closed denies. Demanded by the project's policy and the server; absent without demands."`
	Cost      Cost      `json:"cost" doc:"Model calls and tokens."`
	// Identity is nil where the actor of the record says it all.
	Identity *Identity `json:"identity,omitempty" doc:"For whom and by which agent the evaluation was asked; absent if neither the request nor its key or token names anybody."`
	// Suspended is nil for requests of agents that are not suspended.
	Suspended *Suspension `json:"suspended,omitempty" doc:"Suspension of the agent, for which the overall verdict is DENY and no rule was judged; absent for agents that are not suspended."`
}

// Narrowed is a parameter of the request by which the caller made fewer rules hold than would without it.
type Narrowed struct {
	Parameter string `json:"parameter" enum:"severity_min,node_id,scope,environment,max_rules" doc:"Parameter of the request."`
	Asked     string `json:"asked" doc:"What the caller asked for."`
	Default   string `json:"default" doc:"What holds without it, in words."`
	Floor     string `json:"floor,omitempty" doc:"What the floor of the project's policy demands, where asked is below it: the overall verdict is then not ALLOW."`
}

// Overridden names a rule that another applicable rule silences, and that other rule.
type Overridden struct {
	RuleID           string `json:"rule_id" doc:"The silenced rule."`
	RuleSlug         string `json:"rule_slug,omitempty" doc:"Its short name."`
	OverriddenBy     string `json:"overridden_by" doc:"The rule that overrides it."`
	OverriddenBySlug string `json:"overridden_by_slug,omitempty" doc:"Its short name."`
}

// Coverage accounts for what an evaluation looked at. What was not examined is named, never dropped in silence.
type Coverage struct {
	RulesInScope        int              `json:"rules_in_scope" doc:"Rules that apply to the subject."`
	RulesSelected       int              `json:"rules_selected" doc:"Rules that a check has run for, a model was asked about, or triage has ruled out."`
	RulesConcerned      int              `json:"rules_concerned" doc:"Rules of rule_verdicts that have something to say about the subject, whether they were judged or not."`
	RulesJudged         int              `json:"rules_judged" doc:"Selected rules that a check, the cache or a model decided; those that are not listed count."`
	RulesCut            int              `json:"rules_cut" doc:"The same as rules_not_asked."`
	RulesNotAsked       int              `json:"rules_not_asked" doc:"Rules that apply, that only a model can decide, that triage has not ruled out, and that it was not asked about, since they are beyond max_rules: the overall verdict is then not ALLOW."`
	RulesUndecided      map[Severity]int `json:"rules_undecided,omitempty" doc:"Rules that nothing has decided, by severity: those that rule_verdicts lists, those that it does not, and those of rules_not_asked. Rules in shadow do not count. Absent without any."`
	RulesTriagedOut     int              `json:"rules_triaged_out" doc:"Rules that only a model can decide and that triage has ruled out: a model was shown all of them with the subject, and did not name these as rules that could concern it. They are kept as not concerned, by decided_by triage."`
	RulesUnlisted       int              `json:"rules_unlisted" doc:"Rules that were decided and that rule_verdicts does not list, since it ends after max_rules verdicts. It lists the worst."`
	RulesUnlistedBroken int              `json:"rules_unlisted_broken,omitempty" doc:"Rules of rules_unlisted that are broken, and not waived."`
	FilesTotal          int              `json:"files_total" doc:"Files in the subject."`
	FilesExamined       int              `json:"files_examined" doc:"Files whose text was examined."`
	HunksTotal          int              `json:"hunks_total" doc:"Hunks in the diff."`
	HunksExamined       int              `json:"hunks_examined" doc:"Hunks that were examined."`
	BytesTotal          int              `json:"bytes_total" doc:"Bytes of subject text."`
	BytesExamined       int              `json:"bytes_examined" doc:"Bytes of subject text that were examined."`
	Redacted            int              `json:"redacted" doc:"Secrets that were replaced before a model was shown the subject."`
	Uncovered           Uncovered        `json:"uncovered,omitempty" enum:"allow,confirm,deny" doc:"The word of the project's policy for this kind of subject, where no rule that concerns it has decided; absent where one has."`
	UncoveredByDefault  bool             `json:"uncovered_by_default,omitempty" doc:"True if the policy does not name the kind of the subject, so that uncovered is the default."`
	UncoveredApproved   bool             `json:"uncovered_approved,omitempty" doc:"True if people have approved the subject although no rule covers it."`
	Unexamined          []Unexamined     `json:"unexamined" nullable:"false" doc:"Parts that were not examined, with the reason."`
}

// Unexamined names a part of a subject that was not examined.
type Unexamined struct {
	Part   string `json:"part" doc:"Path of the file, or name of the part."`
	Reason string `json:"reason" doc:"Why it was not examined."`
}

// Cost counts what an evaluation took from models.
type Cost struct {
	Calls        int `json:"calls" doc:"Calls made to models."`
	InputTokens  int `json:"input_tokens" doc:"Tokens sent."`
	OutputTokens int `json:"output_tokens" doc:"Tokens received."`
	CachedCalls  int `json:"cached_calls" doc:"Verdicts taken from the cache instead of a call."`
	TriageCalls  int `json:"triage_calls,omitempty" doc:"Those of the calls that asked which rules could concern the subject; absent without any."`
}

// Add adds another cost.
func (c *Cost) Add(other Cost) {
	c.Calls += other.Calls
	c.InputTokens += other.InputTokens
	c.OutputTokens += other.OutputTokens
	c.CachedCalls += other.CachedCalls
	c.TriageCalls += other.TriageCalls
}

// Estimate is the expected cost of asking models.
type Estimate struct {
	Verdicts    int `json:"verdicts" doc:"Verdicts that no check and no record gives."`
	Calls       int `json:"calls" doc:"Calls that a model would be asked in for them, second looks and stored verdicts left out of account."`
	InputTokens int `json:"input_tokens" doc:"Tokens that these calls would send, about: four bytes are one."`
}

// Add adds another estimate.
func (e *Estimate) Add(other Estimate) {
	e.Verdicts += other.Verdicts
	e.Calls += other.Calls
	e.InputTokens += other.InputTokens
}

// Settle applies the laws of modality and enforcement to a raw verdict: a broken SHOULD, or a broken rule under warn, is
// NEEDS_CONFIRMATION instead of DENY.
func Settle(v Verdict, m Modality, e Enforcement) Verdict {
	if v == Deny && (m == Should || e == Warn) {
		return NeedsConfirmation
	}
	return v
}

// Overall is the verdict of a whole evaluation: DENY if any rule denies, else NEEDS_CONFIRMATION if any rule needs it,
// else ALLOW. Verdicts of shadow rules and waived ones do not count. An unknown verdict counts as NEEDS_CONFIRMATION.
func Overall(verdicts []RuleVerdict) Verdict {
	overall := Allow
	for i := range verdicts {
		v := &verdicts[i]
		if !v.Counts() {
			continue
		}
		switch v.Verdict {
		case Allow:
		case Deny:
			return Deny
		case NeedsConfirmation:
			overall = NeedsConfirmation
		default:
			overall = NeedsConfirmation
		}
	}
	return overall
}

// Overall is the verdict that follows from all that e holds: [Overall] of its rule verdicts, then the word of the policy where no
// rule covers the subject, and never ALLOW where the caller went below the floor of the policy.
func (e *Evaluation) Overall() Verdict {
	overall, word := Overall(e.RuleVerdicts), e.Coverage.Uncovered
	switch {
	case overall == Deny || word == UncoveredDeny || e.Suspended != nil || e.BundleStale == StaleClosed:
		return Deny
	case e.BundleStale != "" && e.BundleStale != StaleOpen:
		return NeedsConfirmation
	case (word != "" && word != UncoveredAllow && !e.Coverage.UncoveredApproved) || e.BelowFloor() || e.Coverage.RulesNotAsked > 0:
		return NeedsConfirmation
	}
	return overall
}

// BelowFloor reports whether the caller asked for less than the floor of the project's policy.
func (e *Evaluation) BelowFloor() bool {
	return slices.ContainsFunc(e.Narrowed, func(n Narrowed) bool { return n.Floor != "" })
}

// Tally fills the fields of e that follow from its rule verdicts: the overall verdict, violations, warnings, counts and
// the fix summary.
func (e *Evaluation) Tally() {
	e.OverallVerdict = e.Overall()
	e.Violations, e.Warnings = []RuleVerdict{}, []RuleVerdict{}
	e.RulesEvaluated, e.RulesPassed = len(e.RuleVerdicts), 0
	e.RulesWaived = 0
	e.Coverage.RulesJudged, e.Coverage.RulesConcerned = e.Coverage.RulesUnlisted, 0
	var fixes strings.Builder
	seen := map[string]bool{}
	for i := range e.RuleVerdicts {
		v := &e.RuleVerdicts[i]
		if v.DecidedBy != ByNone {
			e.Coverage.RulesJudged++
		}
		if v.Concerned {
			e.Coverage.RulesConcerned++
		}
		if v.Waiver != nil {
			e.RulesWaived++
			continue
		}
		switch v.Verdict {
		case Allow:
			e.RulesPassed++
			continue
		case Deny:
			e.Violations = append(e.Violations, *v)
		case NeedsConfirmation:
			e.Warnings = append(e.Warnings, *v)
		}
		if v.FixSuggestion == "" || v.Enforcement == Shadow || seen[v.FixSuggestion] {
			continue
		}
		seen[v.FixSuggestion] = true
		if fixes.Len() > 0 {
			fixes.WriteByte('\n')
		}
		if v.RuleSlug != "" {
			fixes.WriteString(v.RuleSlug + ": ")
		}
		fixes.WriteString(v.FixSuggestion)
	}
	e.RulesViolated, e.RulesUncertain = len(e.Violations), len(e.Warnings)
	e.FixSummary = fixes.String()
}

// Flaw says what is wrong with an evaluation that came from elsewhere; empty if nothing is. Half an answer, or one that
// contradicts itself, must not be taken for a pass.
func (e *Evaluation) Flaw() string {
	_, known := Parse(string(e.OverallVerdict), Verdicts)
	overall := e.Overall()
	switch {
	case !known:
		return "the server's answer has no verdict; is it a Tenet server?"
	case e.EvaluationID == "":
		return "the server's answer has no evaluation_id; is it a Tenet server?"
	case len(e.RuleVerdicts) != e.RulesEvaluated:
		return "the server's answer does not hold a verdict for each rule that it counts"
	case overall != e.OverallVerdict && (overall != Allow || e.OverallVerdict != NeedsConfirmation): // an empty subject
		return "the overall verdict of the server's answer does not follow from its verdicts"
	}
	return ""
}
