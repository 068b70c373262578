package wire

// BoxQuery is a search in one box, where the text says what is looked for: words, a citation, the name of a rule, a date.
type BoxQuery struct {
	SearchQuery
	Q     string     `query:"q" maxLength:"10000" doc:"What to look for: words, a citation (GDPR Art. 32, § 5.2), the name of a rule (SEC-003), a date (in force on 2025-03-01, changed before June 2026). reading in the answer says how it was read. What a piece means can be written before it: words:, cites:, rule:, in-force:, changed-before:, changed-since:, changed-in:, made-before:, made-since:, made-in:. Text in quotation marks is a phrase. Absent: all rules that the other parameters select." example:"encryption GDPR Art. 32"`
	Plain bool       `query:"plain" doc:"Read all of q as words."`
	Mode  SearchMode `query:"mode" enum:"keyword,vector,hybrid" doc:"How words are compared: keyword, vector (503 without an embedding service), or hybrid, which is both as far as they can be had, and the default."`
	BoxFilter
	PageQuery
}

// BoxFilter are the parameters that select rules beside the text of a [BoxQuery].
type BoxFilter struct {
	Modality    string   `query:"modality" doc:"MUST, MUST_NOT, SHOULD, MAY or INFO, in any letter case."`
	Severity    string   `query:"severity" doc:"LOW, MEDIUM, HIGH or CRITICAL, in any letter case."`
	Status      string   `query:"status" doc:"DRAFT, REVIEW, APPROVED, EFFECTIVE, SUPERSEDED or RETIRED, in any letter case; absent means all but SUPERSEDED and RETIRED."`
	Enforcement string   `query:"enforcement" doc:"enforce, warn or shadow."`
	Scope       string   `query:"scope" doc:"Scope path: a finds the rules of a, a/b and a/b/c." example:"finance/payments"`
	Tags        []string `query:"tags,explode" nullable:"false" doc:"Labels that the rule must all have; repeat the parameter or join them by commas."`
	Owner       string   `query:"owner" doc:"Owner, exactly."`
	HasCheck    *bool    `query:"has_check" doc:"Only rules with a check (true), or without (false)."`
	SourceKind  string   `query:"source_kind" maxLength:"256" doc:"Kind of a source of the rule, such as law, in any letter case."`
	DocumentID  string   `query:"document_id" maxLength:"256" doc:"Document that the rule comes from."`
}

// FoundRules is the answer of a search in one box.
type FoundRules struct {
	RuleSearchPage
	Reading []Reading `json:"reading" nullable:"false" doc:"How q was read, piece by piece, in the order of q."`
	Facets  Facets    `json:"facets" doc:"How many of the rules on all pages have which value."`
}

// ReadingKind says what a piece of a query means.
type ReadingKind string

// Kinds. A piece that is ignored has no meaning beside the others, such as "rules that".
const (
	ReadWords         ReadingKind = "words"
	ReadCitation      ReadingKind = "citation"
	ReadRule          ReadingKind = "rule"
	ReadInForce       ReadingKind = "in_force"
	ReadChangedBefore ReadingKind = "changed_before"
	ReadChangedSince  ReadingKind = "changed_since"
	ReadChangedIn     ReadingKind = "changed_in"
	ReadMadeBefore    ReadingKind = "made_before"
	ReadMadeSince     ReadingKind = "made_since"
	ReadMadeIn        ReadingKind = "made_in"
	ReadIgnored       ReadingKind = "ignored"
)

// Reading is the meaning that a piece of a query was given.
type Reading struct {
	Kind  ReadingKind `json:"kind" enum:"words,citation,rule,in_force,changed_before,changed_since,changed_in,made_before,made_since,made_in,ignored" doc:"What the piece means. Citations and dates select rules, words rank them, a rule that is named comes first."`
	Text  string      `json:"text" doc:"The piece, as it is written."`
	Value string      `json:"value" doc:"What was looked for: words, a source, the name of a rule, or a date or month in UTC."`
	Says  string      `json:"says" doc:"The same for people." example:"in force on 2025-03-01 (UTC)"`
	// Others leads to the same query with the piece read otherwise.
	Others []OtherReading `json:"others" nullable:"false" doc:"The other readings of the piece, each with the query to send instead."`
}

// OtherReading is a query in which a piece is read otherwise.
type OtherReading struct {
	Kind  ReadingKind `json:"kind" enum:"words,citation,rule,in_force,changed_before,changed_since,changed_in,made_before,made_since,made_in,ignored" doc:"How the piece is read; ignored: it is left out."`
	Query string      `json:"q" doc:"The query."`
}

// Match is a reason why a rule was found.
type Match struct {
	Kind string `json:"kind" enum:"words,meaning,citation,rule,in_force,changed,made" doc:"What matches."`
	Text string `json:"text" doc:"The same for people." example:"refers to GDPR Art. 32 (1)"`
}

// Facets counts rules by the values of their fields, the most frequent first.
type Facets struct {
	Status      []FacetCount `json:"status" nullable:"false" doc:"By status."`
	Severity    []FacetCount `json:"severity" nullable:"false" doc:"By severity."`
	Modality    []FacetCount `json:"modality" nullable:"false" doc:"By modality."`
	Enforcement []FacetCount `json:"enforcement" nullable:"false" doc:"By enforcement."`
	HasCheck    []FacetCount `json:"has_check" nullable:"false" doc:"With a check (true) and without (false)."`
	Scope       []FacetCount `json:"scope" nullable:"false" doc:"By scope path, as the rules name it; the 10 most frequent."`
	Tags        []FacetCount `json:"tags" nullable:"false" doc:"By label, in lower case; the 10 most frequent."`
	Owner       []FacetCount `json:"owner" nullable:"false" doc:"By owner; the 10 most frequent."`
}

// FacetCount is the number of rules with a value.
type FacetCount struct {
	Value string `json:"value" doc:"Value, as the parameter of the same name takes it."`
	Rules int    `json:"rules" doc:"Rules that have it."`
}
