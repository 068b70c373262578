package wire

import (
	"time"

	"tenet/internal/rule"
)

// Acting names for whom a request is made: a person, the agent that makes it, and the session of that agent. What neither the key nor the
// token of the request shows is recorded as a claim.
type Acting struct {
	OnBehalfOf string `json:"on_behalf_of,omitempty" nullable:"true" maxLength:"200" doc:"Person for whom the agent acts; absent means the owner of the key, or the person of the token." example:"ann@example.com"`
	Agent      string `json:"agent,omitempty" nullable:"true" maxLength:"200" doc:"Agent that acts; absent means the one that the key or token names." example:"claude-code"`
	Session    string `json:"session,omitempty" nullable:"true" maxLength:"200" doc:"Session of the agent, by its own id." example:"0b7e3c1a-52f4"`
}

// Headers that name an [Acting] with any request. What a body names takes their place.
const (
	OnBehalfOfHeader = "X-Tenet-On-Behalf-Of"
	AgentHeader      = "X-Tenet-Agent"
	SessionHeader    = "X-Tenet-Session"
)

// EvaluateRequest is the body of an evaluation. A field that is null counts as absent.
type EvaluateRequest struct {
	Diff       string         `json:"diff,omitempty" nullable:"true" nul:"true" doc:"Unified diff text."`
	Files      []InputFile    `json:"files,omitempty" nullable:"true" doc:"Files to evaluate. At a path whose content the diff does not show as a whole, the content completes the diff; any other file is judged beside it. A file without content is known by its path only."`
	Facts      map[string]any `json:"facts,omitempty" nullable:"true" doc:"Free-form key-value context."`
	Action     string         `json:"action,omitempty" nullable:"true" maxLength:"5000" doc:"An action in plain words, whose particulars are among the facts; the subject is then an action, too." example:"Send the HTTP request DELETE api.example.com/users/17"`
	Intent     string         `json:"intent,omitempty" nullable:"true" maxLength:"10000" doc:"Description of the change or action: a claim to be checked."`
	Scope      string         `json:"scope,omitempty" nullable:"true" doc:"Scope of the subject; absent means every scope." example:"finance/payments"`
	Repository string         `json:"repository,omitempty" nullable:"true" doc:"Repository identifier."`
	EvaluateOptions
	Acting
	ApprovalAsk
}

// EvaluateOptions choose the rules that judge a subject. Zero fields take the defaults.
type EvaluateOptions struct {
	Mode        rule.Mode     `json:"mode,omitempty" nullable:"true" enum:"preflight,posthoc" default:"preflight" doc:"Before or after the action."`
	MaxRules    int           `json:"max_rules,omitempty" nullable:"true" minimum:"1" maximum:"100" default:"20" doc:"Most rules to evaluate; coverage counts what is cut."`
	SeverityMin rule.Severity `json:"severity_min,omitempty" nullable:"true" enum:"LOW,MEDIUM,HIGH,CRITICAL" default:"MEDIUM" doc:"Minimum severity to include, in any letter case."`
	NodeID      string        `json:"node_id,omitempty" nullable:"true" doc:"Federation node whose effective rules apply; absent means the node that the repository is bound to, and all rules where there is none."`
	Environment string        `json:"environment,omitempty" nullable:"true" enum:"production,staging,development" doc:"Judge by the snapshot that is active there instead of the live rules; 409 if nothing is deployed there."`
}

// QuickRequest is the body of a quick evaluation.
type QuickRequest struct {
	Action      string `json:"action" minLength:"1" maxLength:"5000" doc:"The action, in plain words." example:"Send the customer list to an external partner"`
	Scope       string `json:"scope,omitempty" nullable:"true" doc:"Scope of the action; absent means every scope."`
	NodeID      string `json:"node_id,omitempty" nullable:"true" doc:"Federation node whose effective rules apply; absent means all rules."`
	Environment string `json:"environment,omitempty" nullable:"true" enum:"production,staging,development" doc:"Judge by the snapshot that is active there instead of the live rules; 409 if nothing is deployed there."`
	Acting
	ApprovalAsk
}

// ApplicableRequest is the body that asks for the rules that would apply.
type ApplicableRequest struct {
	FilePaths   []string `json:"file_paths,omitempty" nullable:"true" maxItems:"5000" doc:"Paths of the files of a change; absent means any."`
	Repository  string   `json:"repository,omitempty" nullable:"true" maxLength:"1024" doc:"Repository identifier; absent means any."`
	Scope       string   `json:"scope,omitempty" nullable:"true" maxLength:"1024" doc:"Scope; absent means every scope."`
	NodeID      string   `json:"node_id,omitempty" nullable:"true" doc:"Federation node whose effective rules apply; absent means the node that the repository is bound to, and all rules where there is none."`
	Environment string   `json:"environment,omitempty" nullable:"true" enum:"production,staging,development" doc:"The rules of the snapshot that is active there instead of the live rules; 409 if nothing is deployed there."`
}

// ReplayRequest is the body of a replay.
type ReplayRequest struct {
	Live bool `json:"live,omitempty" doc:"Ask the model again instead of using its recorded answers."`
}

// FeedbackRequest is the body of feedback.
type FeedbackRequest struct {
	RuleID  string `json:"rule_id" minLength:"1" doc:"Id or slug of the rule." example:"SEC-003"`
	Correct bool   `json:"correct" doc:"Whether its verdict was right."`
	Note    string `json:"note,omitempty" nullable:"true" maxLength:"4000" doc:"Why."`
}

// FeedbackList is the feedback on an evaluation.
type FeedbackList struct {
	Items []Feedback `json:"items" nullable:"false" doc:"By rule and reviewer."`
	Total int        `json:"total" doc:"How many there are."`
}

// Feedback is a person's judgement on the verdict of one rule in one evaluation.
type Feedback struct {
	EvaluationID string       `json:"evaluation_id" doc:"The evaluation."`
	RuleID       string       `json:"rule_id" doc:"The rule."`
	RuleVersion  int          `json:"rule_version" doc:"Version of the rule that was judged."`
	Verdict      rule.Verdict `json:"verdict" enum:"ALLOW,DENY,NEEDS_CONFIRMATION" doc:"The verdict that was given."`
	Correct      bool         `json:"correct" doc:"Whether it was right."`
	Note         string       `json:"note" doc:"Why."`
	Actor        string       `json:"actor" doc:"Who says so."`
	At           time.Time    `json:"at" doc:"When."`
}

// EvaluationSummary is an evaluation in a list.
type EvaluationSummary struct {
	EvaluationID   string       `json:"evaluation_id" doc:"Identifier."`
	OverallVerdict rule.Verdict `json:"overall_verdict" enum:"ALLOW,DENY,NEEDS_CONFIRMATION" doc:"Overall verdict."`
	Mode           rule.Mode    `json:"mode" enum:"preflight,posthoc" doc:"Before or after the action."`
	Actor          string       `json:"actor" doc:"Who asked."`
	// Identity is nil where the actor says it all.
	Identity       *rule.Identity `json:"identity,omitempty" doc:"For whom and by which agent; absent if the actor says it all."`
	Repository     string         `json:"repository" doc:"Repository of the subject."`
	Scope          string         `json:"scope" doc:"Scope of the subject."`
	SubjectKind    string         `json:"subject_kind,omitempty" doc:"Leading kind of the subject."`
	Environment    string         `json:"environment,omitempty" doc:"Environment, as requested."`
	SnapshotID     string         `json:"snapshot_id,omitempty" doc:"Snapshot whose rules judged; absent for live rules."`
	NodeID         string         `json:"node_id,omitempty" doc:"Federation node whose rules were applied; absent if none was in play."`
	RulesEvaluated int            `json:"rules_evaluated" doc:"Total rules evaluated."`
	RulesViolated  int            `json:"rules_violated" doc:"Rules that returned DENY."`
	RulesUncertain int            `json:"rules_uncertain" doc:"Rules that returned NEEDS_CONFIRMATION."`
	Timestamp      time.Time      `json:"timestamp" doc:"When the evaluation ran."`
	Pruned         bool           `json:"pruned,omitempty" doc:"True if the record was removed under the retention setting; only its entry in the chain is left."`
}

// RuleQuality is how often a rule, with its present content, was right.
type RuleQuality struct {
	RuleID      string    `json:"rule_id" doc:"The rule."`
	RuleVersion int       `json:"rule_version" doc:"Its current version."`
	ContentHash string    `json:"content_hash" doc:"SHA-256 of what it says. Feedback on other contents does not count."`
	Feedback    RuleTally `json:"feedback" doc:"From feedback."`
	TestCases   RuleTally `json:"test_cases" doc:"From test cases that a person has confirmed and that have run on this content, by their latest run."`
	// RuleConfidence is the confidence of judged verdicts; absent until it has enough feedback.
	Confidence *RuleConfidence `json:"confidence,omitempty" doc:"Confidence that judged verdicts of the rule carry; absent with less than 20 pieces of feedback on them."`
	Judged     int             `json:"judged" doc:"Pieces of feedback on verdicts that a model gave."`
}

// RuleTally counts verdicts that were right and wrong. A DENY counts as positive. NEEDS_CONFIRMATION decides nothing, and counts
// as unsure.
type RuleTally struct {
	TruePositives  int        `json:"true_positives" doc:"DENY, and right."`
	FalsePositives int        `json:"false_positives" doc:"DENY, and wrong."`
	TrueNegatives  int        `json:"true_negatives" doc:"ALLOW, and right."`
	FalseNegatives int        `json:"false_negatives" doc:"ALLOW, and wrong."`
	Unsure         int        `json:"unsure" doc:"NEEDS_CONFIRMATION."`
	Precision      *rule.Rate `json:"precision,omitempty" doc:"Part of the DENY verdicts that were right; absent without any."`
	Recall         *rule.Rate `json:"recall,omitempty" doc:"Part of what should have been DENY that was; absent without any."`
}

// RuleConfidence of judged verdicts, from feedback.
type RuleConfidence struct {
	Allow float64 `json:"allow" doc:"Of an ALLOW."`
	Deny  float64 `json:"deny" doc:"Of a DENY."`
}

// EvaluationRecord is all that is kept of an evaluation: enough to replay it.
type EvaluationRecord struct {
	// Identity comes first, so that lists of the chain can read it without the rest.
	Identity    *rule.Identity   `json:"identity,omitempty" doc:"For whom and by which agent it was asked; absent if the actor says it all."`
	Evaluation  *rule.Evaluation `json:"evaluation" doc:"The answer that was given."`
	Subject     RecordedSubject  `json:"subject" doc:"What was judged, as far as it is kept."`
	SubjectHash string           `json:"subject_hash" doc:"SHA-256 of the normalised subject as it was judged, secrets included."`
	Kinds       []SubjectKind    `json:"subject_kinds,omitempty" nullable:"false" doc:"Kinds of the subject, the leading one first."`
	Kept        Keep             `json:"subject_kept,omitempty" enum:"redacted,full,none" doc:"What is kept of the subject."`
	Redactions  []Redaction      `json:"redactions,omitempty" nullable:"false" doc:"Where secrets were removed from the stored subject."`
	NodeID      string           `json:"node_id,omitempty" doc:"Federation node, as requested."`
	Environment string           `json:"environment,omitempty" doc:"Environment, as requested."`
	MaxRules    int              `json:"max_rules" doc:"As requested."`
	SeverityMin rule.Severity    `json:"severity_min" doc:"As requested."`
	Rules       []RecordedRule   `json:"rules" nullable:"false" doc:"The rules that were judged, as they were."`
	Prompt      string           `json:"prompt_version,omitempty" doc:"Version of the judge's prompt, if a judge was asked."`
	Calls       []ModelCall      `json:"calls,omitempty" doc:"Calls made to models, with their raw answers."`
	Reused      []ReusedVerdict  `json:"reused,omitempty" doc:"Stored verdicts that were taken instead of calls."`
	Stored      []StoredUnder    `json:"stored,omitempty" doc:"Keys under which verdicts of models are stored, to forget them by."`
	Triage      *RecordedTriage  `json:"triage,omitempty" doc:"What triage found, where more rules applied than a model judges at once; absent without triage."`
	// Personal is nil where nothing of the record is sealed.
	Personal *SealedData `json:"personal,omitempty" doc:"Personal data that the record holds encrypted; absent without any."`
	Audit    *AuditPlace `json:"audit,omitempty" doc:"Place in the audit chain."`
	// Holds is set when the record is read.
	Holds []HeldBy `json:"holds,omitempty" nullable:"false" doc:"Legal holds in force that keep the record from being deleted; absent without any."`
}

// HeldBy names a legal hold that covers a record.
type HeldBy struct {
	ID     string `json:"id" doc:"The legal hold."`
	Reason string `json:"reason" doc:"Why it was placed."`
}

// RecordedRule names the exact content of a rule that was judged.
type RecordedRule struct {
	RuleID      string `json:"rule_id" doc:"The rule."`
	Version     int    `json:"version" doc:"Its version."`
	ContentHash string `json:"content_hash" doc:"SHA-256 of what it says."`
}

// StoredUnder are the keys of stored verdicts: of each rule on each unit.
type StoredUnder struct {
	Units []string     `json:"units" nullable:"false" doc:"Hashes of the subject and its pieces."`
	Rules []StoredRule `json:"rules" nullable:"false" doc:"The rules."`
}

// StoredRule is the key of a rule among stored verdicts.
type StoredRule struct {
	RuleID string `json:"rule_id" doc:"The rule."`
	Key    string `json:"key" doc:"Hash of its content."`
}

// RecordedTriage is the triage of the rules of an evaluation. Its calls are among those of the record.
type RecordedTriage struct {
	Rules  []TriagedRule  `json:"rules" nullable:"false" doc:"The rules that only a model can decide, as they were."`
	Reused []ReusedTriage `json:"reused,omitempty" doc:"Stored answers that were taken instead of calls."`
}

// TriagedRule names the exact content of a rule, and what triage found about it.
type TriagedRule struct {
	RuleID      string        `json:"rule_id" doc:"The rule."`
	Version     int           `json:"version" doc:"Its version."`
	ContentHash string        `json:"content_hash" doc:"SHA-256 of what it says."`
	Outcome     TriageOutcome `json:"outcome" enum:"kept,ruled_out,open" doc:"kept: it could concern the subject; ruled_out: it could not; open: triage could not find out."`
}

// TriageOutcome is the finding of triage about one rule.
type TriageOutcome string

// Outcomes of triage. Open means that it could not find out.
const (
	TriageKept     TriageOutcome = "kept"
	TriageRuledOut TriageOutcome = "ruled_out"
	TriageOpen     TriageOutcome = "open"
)

// AuditPlace is the place of a record in its project's chain.
type AuditPlace struct {
	Seq      int64     `json:"seq" doc:"Number of the entry, from 1."`
	Hash     string    `json:"hash" doc:"Hash of the entry."`
	PrevHash string    `json:"prev_hash" doc:"Hash of the entry before."`
	At       time.Time `json:"at" doc:"When it was recorded."`
	Actor    string    `json:"actor" doc:"Who asked."`
}

// Withhold removes the prompts and the answers of models, which may hold more than the verdicts.
func (rec *EvaluationRecord) Withhold() {
	for i := range rec.Calls {
		c := &rec.Calls[i]
		rec.Calls[i] = ModelCall{
			Model: c.Model, PromptVersion: c.PromptVersion, PromptHash: c.PromptHash, Rules: c.Rules, Part: c.Part, Repair: c.Repair, Error: c.Error,
			DurationMS: c.DurationMS, InputTokens: c.InputTokens, OutputTokens: c.OutputTokens, CachedTokens: c.CachedTokens,
		}
	}
	rec.Reused, rec.Stored = nil, nil
	if rec.Triage != nil {
		rec.Triage = &RecordedTriage{Rules: rec.Triage.Rules}
	}
}

// StoredKeys returns the keys of the stored verdicts that an evaluation used or left, of one rule or, for an empty id, of all. It
// returns none for a record without keys.
func (rec *EvaluationRecord) StoredKeys(ruleID string) (units, rules []string) {
	for _, s := range rec.Stored {
		took := false
		for _, r := range s.Rules {
			if ruleID == "" || r.RuleID == ruleID {
				rules, took = append(rules, r.Key), true
			}
		}
		if took {
			units = append(units, s.Units...)
		}
	}
	return units, rules
}

// Kind returns the leading kind of the subject; empty for an empty one.
func (rec *EvaluationRecord) Kind() string {
	if len(rec.Kinds) == 0 {
		return ""
	}
	return string(rec.Kinds[0])
}

// Waiver returns the waiver that covered a recorded denial, or nil. Where secrets were taken out of the record, the denial no
// longer cites the text that the waiver is bound to, so only the rule has to match.
func (rec *EvaluationRecord) Waiver(v *rule.RuleVerdict) *rule.AppliedWaiver {
	for i := range rec.Evaluation.RuleVerdicts {
		was := &rec.Evaluation.RuleVerdicts[i]
		if was.RuleID == v.RuleID && (was.Fingerprint == v.Fingerprint || len(rec.Redactions) > 0) {
			return was.Waiver
		}
	}
	return nil
}

// Keep says what a record keeps of the subject.
type Keep string

// What a record keeps: the subject without its secrets, the subject as it came, or only its repository and scope.
const (
	KeepRedacted Keep = "redacted"
	KeepFull     Keep = "full"
	KeepNone     Keep = "none"
)

// Keeps lists all values of [Keep].
var Keeps = []Keep{KeepRedacted, KeepFull, KeepNone}

// Replay is the result of deciding a recorded evaluation again.
type Replay struct {
	EvaluationID string `json:"evaluation_id" doc:"The evaluation."`
	Live         bool   `json:"live" doc:"True if the model was asked again; else its recorded answers were used."`
	// Agrees is false if something that can be replayed came out differently.
	Agrees         bool           `json:"agrees" doc:"False if the record contradicts itself, or a verdict that can be replayed came out differently."`
	OverallVerdict rule.Verdict   `json:"overall_verdict" enum:"ALLOW,DENY,NEEDS_CONFIRMATION" doc:"The overall verdict that was given."`
	Rules          []ReplayedRule `json:"rules" nullable:"false" doc:"Each rule that was judged, in the order of the answer."`
	Differing      int            `json:"differing" doc:"Verdicts that came out differently."`
	Triaged        int            `json:"triaged,omitempty" doc:"Rules whose triage was done again; absent without any."`
	Unreplayable   int            `json:"unreplayable" doc:"Verdicts that cannot be decided again from what is kept."`
	Problem        string         `json:"problem,omitempty" doc:"What is wrong with the record as a whole."`
	Cost           rule.Cost      `json:"cost" doc:"What asking the model again has cost."`
}

// ReplayOutcome of replaying one verdict.
type ReplayOutcome string

// Outcomes of replaying one verdict.
const (
	ReplaySame       ReplayOutcome = "same"
	ReplayDiffers    ReplayOutcome = "differs"
	ReplayImpossible ReplayOutcome = "unreplayable"
)

// ReplayedRule is a verdict and the result of deciding it again.
type ReplayedRule struct {
	RuleID   string            `json:"rule_id" doc:"The rule."`
	RuleSlug string            `json:"rule_slug,omitempty" doc:"Its slug, if it has one."`
	Outcome  ReplayOutcome     `json:"outcome" enum:"same,differs,unreplayable" doc:"Whether it came out the same."`
	Reason   string            `json:"reason,omitempty" doc:"What differs, or why it cannot be replayed: redacted means that it rests on text that was taken out of the record."`
	Recorded rule.Verdict      `json:"recorded" enum:"ALLOW,DENY,NEEDS_CONFIRMATION" doc:"The verdict that was given."`
	Replayed *rule.RuleVerdict `json:"replayed,omitempty" doc:"The verdict now, where it differs."`
}

// ModelCall is one call to a model, for the record. With the subject and the rules it is all that [Replay] needs: the prompt
// follows from them and from Seed, Nonce and Plan.
type ModelCall struct {
	Model         string `json:"model" doc:"The model that was asked."`
	PromptVersion string `json:"prompt_version" doc:"Version of the prompt templates."`
	PromptHash    string `json:"prompt_hash" doc:"SHA-256 of system text, prompt and schema, in hex."`
	Purpose       string `json:"purpose,omitempty" enum:"judge,repair,whole,confirm,recheck,address,control,triage,triage-repair" doc:"Why it was asked."`
	// Rules holds the ids of the rules asked for, in the order of their references.
	Rules []string `json:"rules" nullable:"false" doc:"Ids of the rules asked for, in the order of R1, R2 and so on, controls left out; of several with equal statements, triage names one."`
	// Control is the index of the control among the references: 0 where R1 is the control.
	Control int `json:"control" doc:"Place of the planted control among the references, from 0; its right answer is known."`
	// Controls holds all control rules of a call that judges.
	Controls     []ControlRule `json:"controls,omitempty" doc:"Control rules among those asked for, with what was planted for each."`
	Held         bool          `json:"held" doc:"True if the model answered every control rule rightly; else no ALLOW of the answer counts."`
	Part         int           `json:"part" doc:"Part of the subject that was shown, from 1."`
	Units        []int         `json:"units,omitempty" doc:"Pieces of the subject that were shown, by number from 0; absent means all of the part."`
	Seed         string        `json:"seed,omitempty" doc:"Hash of the request, which orders the rules."`
	Nonce        string        `json:"nonce,omitempty" doc:"What fence and control were made from."`
	Plan         string        `json:"plan,omitempty" doc:"How the subject was cut and the rules batched."`
	Repair       bool          `json:"repair,omitempty" doc:"True for a second call about rules whose first answer was unusable."`
	Raw          string        `json:"raw" doc:"The model's answer as it came, cut where it is beyond what is read."`
	Error        string        `json:"error,omitempty" doc:"Why there is no answer."`
	ErrorCode    string        `json:"error_code,omitempty" doc:"Kind of that error."`
	DurationMS   int64         `json:"duration_ms" doc:"How long the call took, in milliseconds, waiting included."`
	InputTokens  int           `json:"input_tokens" doc:"Tokens sent."`
	OutputTokens int           `json:"output_tokens" doc:"Tokens received."`
	CachedTokens int           `json:"cached_tokens" doc:"Tokens sent that the provider had in its prompt cache."`
}

// ControlRule is a rule of a call whose right answer is known.
type ControlRule struct {
	Place     int           `json:"place" doc:"Place among the references, from 0."`
	Modality  rule.Modality `json:"modality" doc:"Strength of the rule."`
	Statement string        `json:"statement" doc:"The rule."`
	Verdict   rule.Verdict  `json:"verdict" enum:"ALLOW,DENY" doc:"The right answer."`
	Lines     []string      `json:"lines" nullable:"false" doc:"Lines planted in the subject."`
	Line      int           `json:"line,omitempty" doc:"The one of them that breaks the rule, from 1."`
}

// ReusedVerdict is a stored verdict that was taken instead of a call.
type ReusedVerdict struct {
	RuleID string `json:"rule_id" doc:"The rule."`
	// Unit and Rule are the key: what was judged, under which prompt and model, and the content of the rule.
	Unit string `json:"unit" doc:"Hash of the piece of the subject, with prompt version and model."`
	Rule string `json:"rule" doc:"Hash of the rule's content."`
	// Entry is the verdict as it was kept.
	Entry string `json:"entry" doc:"The verdict as it was kept, JSON."`
	// Seed and Plan are those of [Call]; the first of a Decide has them.
	Seed string `json:"seed,omitempty" doc:"Hash of the request, which orders the rules."`
	Plan string `json:"plan,omitempty" doc:"How the subject was cut."`
}

// ReusedTriage is a stored answer of triage that was taken instead of a call.
type ReusedTriage struct {
	// Unit and Batch are the key: what was shown, under which prompt and model, and the statements.
	Unit  string `json:"unit" doc:"Hash of the piece of the subject, with prompt version and model."`
	Batch string `json:"batch" doc:"Hash of the statements of the rules that were asked about together."`
	Entry string `json:"entry" doc:"The answer as it was kept, JSON."`
	Seed  string `json:"seed,omitempty" doc:"Hash of the request; the first of a triage has it."`
	Plan  string `json:"plan,omitempty" doc:"How the subject was cut and the rules batched; the first of a triage has it."`
}

// Redaction is one place where a secret was removed. It does not hold the secret.
type Redaction struct {
	// Kind is the kind of secret, such as aws-access-token, private-key or url-password.
	Kind string `json:"kind"`
	// Where names the text: diff, files[2].content, facts.a.b, or the path of a file. It is empty for a single text.
	Where string `json:"where,omitempty"`
	// Line is the line in that text, from 1. For a file of a subject it is the line of the new file, 0 in removed text.
	Line int `json:"line,omitempty"`
}
