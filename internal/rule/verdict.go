package rule

import (
	"encoding/json"
	"strings"
)

// RuleVerdict is the answer of one rule on a subject, with its evidence.
type RuleVerdict struct {
	RuleID           string           `json:"rule_id" doc:"The rule's identifier."`
	RuleSlug         string           `json:"rule_slug,omitempty" doc:"The rule's slug, if it has one."`
	RuleStatement    string           `json:"rule_statement" doc:"The rule text."`
	RuleVersion      int              `json:"rule_version" doc:"Version of the rule that was judged."`
	Severity         Severity         `json:"severity" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"The rule's severity."`
	Modality         Modality         `json:"modality" enum:"MUST,MUST_NOT,SHOULD,MAY,INFO" doc:"The rule's modality."`
	Enforcement      Enforcement      `json:"enforcement" enum:"enforce,warn,shadow" doc:"The rule's enforcement."`
	Verdict          Verdict          `json:"verdict" enum:"ALLOW,DENY,NEEDS_CONFIRMATION" doc:"ALLOW, DENY or NEEDS_CONFIRMATION."`
	DecidedBy        DecidedBy        `json:"decided_by" enum:"check,model,cache,triage,approval,none" doc:"What the verdict rests on."`
	Confidence       float64          `json:"confidence" minimum:"0" maximum:"1" doc:"0.0 to 1.0; 1.0 for checks."`
	Reasoning        string           `json:"reasoning" doc:"Why the verdict was reached."`
	IssueDescription string           `json:"issue_description" doc:"The issue; empty for ALLOW."`
	FixSuggestion    string           `json:"fix_suggestion" doc:"How to fix it; empty for ALLOW."`
	Locations        []Location       `json:"locations" nullable:"false" doc:"Code locations, in new-file lines."`
	Evidence         []Evidence       `json:"evidence" nullable:"false" doc:"What the verdict rests on, found in the subject by the server."`
	Fingerprint      string           `json:"fingerprint,omitempty" doc:"Identifies what the rule objects to, whatever its line; what a waiver is bound to. Absent where the denial cannot be waived."`
	Waiver           *AppliedWaiver   `json:"waiver,omitempty" doc:"The waiver that covers this denial; it then does not count in the overall verdict."`
	Approval         *AppliedApproval `json:"approval,omitempty" doc:"The approval by which people have confirmed this; decided_by is then approval."`
	Concerned        bool             `json:"concerned" doc:"Whether the rule has anything to say about the subject; false for an ALLOW because its condition does not hold, no file is among its paths, or triage has ruled it out."`
	Unexamined       []Unexamined     `json:"unexamined,omitempty" doc:"What the rule is about and nothing has examined; with it the verdict is never ALLOW."`
	SourceNodeID     string           `json:"source_node_id,omitempty" doc:"Federation node that supplies the rule; absent if no node is in play."`
}

// Why explains the verdict to those who must act on it: the issue, and where nothing could decide, the reasoning, which names what is
// missing. Without an issue it is the reasoning.
func (v *RuleVerdict) Why() string {
	switch {
	case v.IssueDescription == "":
		return v.Reasoning
	case v.Verdict != NeedsConfirmation || v.DecidedBy != ByNone && v.DecidedBy != ByCheck || v.Reasoning == "":
		return v.IssueDescription
	case strings.HasPrefix(v.Reasoning, v.IssueDescription):
		return v.Reasoning
	}
	return v.IssueDescription + " " + v.Reasoning
}

// UnmarshalJSON implements json.Unmarshaler. A verdict from before concerned was written says nothing about it; its rule counts
// as concerned.
func (v *RuleVerdict) UnmarshalJSON(b []byte) error {
	type plain RuleVerdict
	p := plain{Concerned: true}
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	*v = RuleVerdict(p)
	return nil
}

// Location is a place in the new version of a file. Lines count from 1; both ends are included.
type Location struct {
	FilePath     string `json:"file_path" doc:"Path of the file."`
	StartLine    int    `json:"start_line" doc:"First line, from 1."`
	EndLine      int    `json:"end_line" doc:"Last line, included."`
	FunctionName string `json:"function_name" doc:"Declaration of the function that the first line is in, as it is written; empty if it is in none, the language is not known, or the diff does not show it."`
	Snippet      string `json:"snippet" doc:"The text of those lines."`
}

// Evidence is one piece of proof. A quote is text of the subject, an absence names something that is missing, a fact names a
// value that decided.
type Evidence struct {
	Kind     string `json:"kind" enum:"quote,absence,fact" doc:"quote, absence or fact."`
	Quote    string `json:"quote,omitempty" doc:"Text of the subject, verbatim."`
	FilePath string `json:"file_path,omitempty" doc:"File of the quote."`
	Line     int    `json:"line,omitempty" doc:"Line of the quote, from 1."`
	Fact     string `json:"fact,omitempty" doc:"Name of the fact, such as facts.amount."`
	Value    string `json:"value,omitempty" doc:"Its value as JSON."`
}

// Kinds of [Evidence].
const (
	EvidenceQuote   = "quote"
	EvidenceAbsence = "absence"
	EvidenceFact    = "fact"
)
