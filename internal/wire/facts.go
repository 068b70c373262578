package wire

// FactQuery selects the rules whose facts are listed; empty fields leave open what they describe.
type FactQuery struct {
	Scope       string `query:"scope" maxLength:"1024" doc:"Scope of the subject; absent means every scope." example:"finance/payments"`
	Repository  string `query:"repository" maxLength:"1024" doc:"Repository of the subject; absent means any."`
	NodeID      string `query:"node_id" doc:"Federation node whose effective rules apply; absent means the node that the repository is bound to, and all rules where there is none."`
	SubjectKind string `query:"subject_kind" doc:"Kind of the subject, which has facts beside it: code_change, facts, action, business_event, document, transaction, communication, decision_request or tool_call. Absent means every kind."`
}

// FactList lists the facts that checks of rules read.
type FactList struct {
	Facts []ReadFact `json:"facts" nullable:"false" doc:"The facts, those that most rules read first; at most 500."`
	// Omitted counts facts beyond the bound.
	Omitted    int `json:"omitted,omitempty" doc:"Facts beyond the first 500, which are not listed."`
	RulesTotal int `json:"rules_total" doc:"Rules that apply, with and without a check."`
}

// ReadFact is a fact that checks of rules read.
type ReadFact struct {
	Name       string   `json:"name" doc:"Name, as checks write it behind facts." example:"payment.amount"`
	Path       []string `json:"path" nullable:"false" doc:"Keys that lead to the fact in the facts of a request."`
	Type       string   `json:"type" enum:"number,text,boolean,list,unknown" doc:"Type that the checks expect, as their text shows it."`
	Values     []string `json:"values" nullable:"false" doc:"Constants that the checks compare the fact with, as examples; at most 10."`
	Rules      []string `json:"rules" nullable:"false" doc:"Slugs, or else ids, of rules that read it; at most 5."`
	RulesTotal int      `json:"rules_total" doc:"Rules that read it."`
}
