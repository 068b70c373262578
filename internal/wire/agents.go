package wire

import "tenet/internal/rule"

// AgentStatus says what became of a request.
type AgentStatus string

// Statuses. PendingApproval waits for a person: a draft to be approved, an action that no rule could clear. ClarificationNeeded
// asks back; the answer goes into the same session. Failed is an error: nothing was decided.
const (
	AgentCompleted           AgentStatus = "completed"
	AgentPendingApproval     AgentStatus = "pending_approval"
	AgentFailed              AgentStatus = "error"
	AgentClarificationNeeded AgentStatus = "clarification_needed"
)

// AgentAnswerOf is the answer of an agent around a result of type T, which is nil where the agent asks back.
type AgentAnswerOf[T any] struct {
	AgentAnswer
	Result *T `json:"result"`
}

// AgentAnswer is the envelope that every agent answers in.
type AgentAnswer struct {
	Result     any           `json:"result" doc:"What the agent gives; null where it asks back or fails. Its schema is published for each agent."`
	Status     AgentStatus   `json:"status" enum:"completed,pending_approval,error,clarification_needed" doc:"completed; pending_approval: a person has to confirm or approve; clarification_needed: reasoning asks back, answer in the same session; error: nothing was decided."`
	Confidence float64       `json:"confidence" minimum:"0" maximum:"1" doc:"0.0 to 1.0, as measured: of an evaluation the least that its verdict rests on, of an answer the part of its sentences that the rules were found to say. 0 where nothing measures it."`
	Reasoning  string        `json:"reasoning" doc:"How the agent came to its result, or what it needs to know."`
	FollowUps  []string      `json:"follow_up_suggestions" nullable:"false" doc:"What to do next."`
	Error      *AgentFailure `json:"error" doc:"Why it failed; null unless status is error."`
	TraceID    string        `json:"execution_trace_id" doc:"Entry of the audit chain that holds this execution; for check and review the evaluation_id."`
	SessionID  string        `json:"session_id" doc:"Session of this exchange; send it with the next request to go on."`
}

// AgentFailure is why an agent could not do what was asked.
type AgentFailure struct {
	Code    rule.Code `json:"code" enum:"invalid,not_found,conflict,precondition_failed,unauthenticated,forbidden,unavailable,too_large,rate_limited,internal" doc:"Kind of problem for programs."`
	Message string    `json:"message" doc:"What is wrong, and what to do."`
}

// AgentAskResult answers a question from the rules.
type AgentAskResult struct {
	Answered    bool            `json:"answered" doc:"True if the rules answer the question: every sentence cites words that the server has found in a rule, and a second look found that the rule says it."`
	Answer      string          `json:"answer" doc:"The sentences in a row; empty if answered is false."`
	Sentences   []AgentSentence `json:"sentences" nullable:"false" doc:"The answer sentence by sentence."`
	Rules       []RuleExcerpt   `json:"rules" nullable:"false" doc:"The rules that are cited; without an answer those that match the question best."`
	WrittenBy   string          `json:"written_by" enum:"model,none" doc:"model, or none where rules are only listed."`
	Unsupported int             `json:"unsupported_sentences" doc:"Sentences of the model that were left out because no rule was found to say what they cite, or what they say."`
}

// AgentSentence is one sentence of an answer, with the words of the rules that it rests on.
type AgentSentence struct {
	Text      string          `json:"text" doc:"The sentence, in the model's words."`
	Citations []AgentCitation `json:"citations" nullable:"false" doc:"What it rests on; at least one."`
}

// AgentCitation is a quote from a rule.
type AgentCitation struct {
	RuleID   string `json:"rule_id" doc:"The rule."`
	RuleSlug string `json:"rule_slug,omitempty" doc:"Its short name."`
	Quote    string `json:"quote" doc:"Words from the rule's statement, rationale or exceptions."`
	// Sources are those of the rule.
	Sources []rule.SourceRef `json:"sources,omitempty" nullable:"false" doc:"Sources that the rule names, with the passages that it quotes; at most 5."`
}

// RuleExcerpt is a rule in short.
type RuleExcerpt struct {
	RuleID   string        `json:"rule_id" doc:"The rule."`
	RuleSlug string        `json:"rule_slug,omitempty" doc:"Its short name."`
	Modality rule.Modality `json:"modality" enum:"MUST,MUST_NOT,SHOULD,MAY,INFO" doc:"How binding it is."`
	Severity rule.Severity `json:"severity" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"How much a violation matters."`
	Excerpt  string        `json:"excerpt" doc:"Its statement, or the beginning of a long one."`
}

// AgentAuthorResult is a draft of a rule. It applies to nothing until a person has approved it.
type AgentAuthorResult struct {
	Rule      RuleDraft       `json:"rule" doc:"The draft."`
	TestCases []RuleDraftCase `json:"test_cases" nullable:"false" doc:"Samples with the verdict that the rule must give."`
	Lint      []rule.Finding  `json:"lint" nullable:"false" doc:"What makes the draft hard to judge, and what to do about it."`
	Similar   []RuleExcerpt   `json:"similar_rules" nullable:"false" doc:"Rules in force that may say the same, or the opposite."`
	WrittenBy string          `json:"written_by" enum:"model,wording" doc:"model, or wording: read off the words of the wish, without a model."`
	Stored    bool            `json:"stored" doc:"True if the draft was stored, as a rule of status DRAFT."`
	RuleID    string          `json:"rule_id,omitempty" doc:"The stored rule."`
}

// RuleDraft is a draft of a rule.
type RuleDraft struct {
	Statement  string        `json:"statement" doc:"Natural-language rule text."`
	Modality   rule.Modality `json:"modality" enum:"MUST,MUST_NOT,SHOULD,MAY,INFO" doc:"How binding it is."`
	Severity   rule.Severity `json:"severity" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"How much a violation matters."`
	Scope      []string      `json:"scope" nullable:"false" doc:"Scope paths it holds in; empty means everywhere."`
	Tags       []string      `json:"tags" nullable:"false" doc:"Free labels."`
	Rationale  string        `json:"rationale" doc:"Why it is wanted."`
	Exceptions []string      `json:"exceptions" nullable:"false" doc:"Cases that it leaves out."`
}

// Rule is the draft as a rule, brought to its normal form.
func (d *RuleDraft) Rule() rule.Rule {
	r := rule.Rule{
		Statement: d.Statement, Modality: d.Modality, Severity: d.Severity, Scope: d.Scope, Tags: d.Tags, Rationale: d.Rationale,
		Exceptions: d.Exceptions, Status: rule.Draft,
	}
	r.Normalize()
	return r
}

// RuleDraftCase is a test case of a draft.
type RuleDraftCase struct {
	Name     string       `json:"name" doc:"What it shows."`
	Type     string       `json:"input_type" enum:"code,facts" doc:"How the sample is read."`
	Sample   string       `json:"sample_input" doc:"Code, a diff, a JSON object of facts, or a scenario in words."`
	Expected rule.Verdict `json:"expected_verdict" enum:"ALLOW,DENY" doc:"DENY if the sample breaks the rule."`
	Tried    rule.Verdict `json:"tried_verdict,omitempty" doc:"What the draft said when it was tried on the sample; absent if it was not tried."`
}

// AgentCheckResult is the verdict of the rules on an action.
type AgentCheckResult struct {
	Allowed    bool             `json:"allowed" doc:"True only if the overall verdict is ALLOW and every rule that applies was judged."`
	Verdict    rule.Verdict     `json:"verdict" enum:"ALLOW,DENY,NEEDS_CONFIRMATION" doc:"The overall verdict."`
	Evaluation *rule.Evaluation `json:"evaluation" doc:"The evaluation, with every verdict and its evidence. It is on record."`
}

// AgentReviewResult is a review of a change.
type AgentReviewResult struct {
	Verdict    rule.Verdict      `json:"verdict" enum:"ALLOW,DENY,NEEDS_CONFIRMATION" doc:"The overall verdict."`
	Comments   []ReviewComment   `json:"comments" nullable:"false" doc:"What to say about the change, by file and line."`
	Rules      int               `json:"rules_evaluated" doc:"Rules that were judged."`
	Unexamined []rule.Unexamined `json:"unexamined" nullable:"false" doc:"Parts that were not looked at, with the reason."`
}

// ReviewComment is one remark of a review. Its place was found by the server in the diff.
type ReviewComment struct {
	File      string        `json:"file" doc:"Path; empty for a remark on the change as a whole."`
	StartLine int           `json:"start_line" doc:"First line, in the new version; 0 without a place."`
	EndLine   int           `json:"end_line" doc:"Last line, included; 0 without a place."`
	Snippet   string        `json:"snippet" doc:"The text of those lines."`
	RuleID    string        `json:"rule_id" doc:"The rule that it is about."`
	RuleSlug  string        `json:"rule_slug,omitempty" doc:"Its short name."`
	Severity  rule.Severity `json:"severity" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"The rule's severity."`
	Verdict   rule.Verdict  `json:"verdict" enum:"DENY,NEEDS_CONFIRMATION" doc:"DENY: it breaks the rule. NEEDS_CONFIRMATION: a person should look."`
	Waived    bool          `json:"waived,omitempty" doc:"True if a waiver covers it; it then does not count in the verdict."`
	Comment   string        `json:"comment" doc:"What is the matter."`
	Fix       string        `json:"fix" doc:"How to mend it; may be empty."`
}

// AgentIntent has the fields that every agent takes.
type AgentIntent struct {
	Intent    string `json:"intent" minLength:"1" maxLength:"10000" doc:"What you want, in plain words." example:"May a contractor read production data?"`
	SessionID string `json:"session_id,omitempty" nullable:"true" maxLength:"64" doc:"Session of an earlier answer, to go on with it; absent begins one."`
}

// AgentPlace says where a request to an agent is made, which decides the rules that count.
type AgentPlace struct {
	Scope       string `json:"scope,omitempty" nullable:"true" maxLength:"1024" doc:"Scope; absent means every scope." example:"finance/payments"`
	NodeID      string `json:"node_id,omitempty" nullable:"true" doc:"Federation node whose effective rules count; absent means all rules."`
	Environment string `json:"environment,omitempty" nullable:"true" enum:"production,staging,development" doc:"Count by the snapshot that is active there instead of the live rules; 409 if nothing is deployed there."`
}

// AgentChange is a change that is to be judged.
type AgentChange struct {
	Diff       string      `json:"diff,omitempty" nullable:"true" nul:"true" doc:"Unified diff text."`
	Files      []InputFile `json:"files,omitempty" nullable:"true" doc:"Files. At a path whose content the diff does not show as a whole, the content completes the diff; any other file is judged beside it. A file without content is known by its path only."`
	Repository string      `json:"repository,omitempty" nullable:"true" doc:"Repository identifier."`
}

// AgentFacts are further facts of an intent.
type AgentFacts struct {
	Facts map[string]any `json:"facts,omitempty" nullable:"true" doc:"Free-form key-value context."`
}

// AgentMode says whether what is judged has happened.
type AgentMode struct {
	Mode rule.Mode `json:"mode,omitempty" nullable:"true" enum:"preflight,posthoc" default:"preflight" doc:"Before or after the action."`
}

// AgentAskRequest asks a question.
type AgentAskRequest struct {
	AgentIntent
	AgentPlace
}

// AgentCheckRequest asks whether something may be done.
type AgentCheckRequest struct {
	AgentIntent
	AgentChange
	AgentFacts
	AgentMode
	AgentPlace
	ApprovalAsk
}

// AgentReviewRequest asks for a review of a change.
type AgentReviewRequest struct {
	AgentIntent
	AgentChange
	AgentMode
	AgentPlace
	ApprovalAsk
}

// AgentAuthorRequest asks for a rule.
type AgentAuthorRequest struct {
	AgentIntent
	AgentPlace
	Store bool `json:"store,omitempty" nullable:"true" doc:"Keep the draft, as a rule of status DRAFT; needs the role reviewer."`
}

// AgentDeclaredRequest is sent to an agent of the operator.
type AgentDeclaredRequest struct {
	AgentIntent
	AgentChange
	AgentFacts
	AgentPlace
}

// AgentSummary describes an agent.
type AgentSummary struct {
	Name         string `json:"name" doc:"Name in the path."`
	Description  string `json:"description" doc:"What it is for."`
	ResultSchema string `json:"result_schema" doc:"Name of the schema of result, under components/schemas of /openapi.json."`
}

// AgentList lists the agents.
type AgentList struct {
	Items []AgentSummary `json:"items" nullable:"false" doc:"The agents, the built-in ones first."`
}
