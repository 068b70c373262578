package rule

// Check decides a rule without a model. Exactly one of CEL and Pattern is set.
type Check struct {
	// CEL is a Common Expression Language expression of type bool that says what must hold. True keeps the rule.
	CEL string `json:"cel,omitempty" yaml:"cel,omitempty" doc:"CEL expression that must hold. Variables: subject, facts, diff, files, commands, code." example:"facts.amount <= 10000"`
	// Pattern finds text that breaks the rule.
	Pattern *Pattern `json:"pattern,omitempty" yaml:"pattern,omitempty" doc:"Text pattern whose match breaks the rule."`
	// When is a CEL guard; where it is false, the rule does not concern the subject.
	When string `json:"when,omitempty" yaml:"when,omitempty" doc:"CEL guard: where it is false, the rule does not concern the subject and is ALLOW." example:"'amount' in facts"`
	// Decides is whether the check alone gives ALLOW as well as DENY.
	Decides Decides `json:"decides,omitempty" yaml:"decides,omitempty" enum:"both,deny" doc:"both: the check alone gives ALLOW and DENY. deny: a hit is DENY, without a hit the rule goes to the judge." default:"both"`
	// Proposed says that a model proposed the check; such a check loses the right to give ALLOW when the judge disagrees with a sample.
	Proposed bool `json:"proposed,omitempty" yaml:"proposed,omitempty" doc:"A model proposed the check. It is watched: when the judge disagrees with a sampled verdict, decides becomes deny."`
	// Message describes the issue when the check denies.
	Message string `json:"message,omitempty" yaml:"message,omitempty" doc:"What is wrong, shown when the check denies."`
	// Fix describes how to fix the issue.
	Fix string `json:"fix,omitempty" yaml:"fix,omitempty" doc:"How to fix it, shown when the check denies."`
}

// Decides is the extent to which a check may decide alone.
type Decides string

// Both lets a check give ALLOW and DENY; DenyOnly lets a hit deny and leaves everything else to the judge.
const (
	Both     Decides = "both"
	DenyOnly Decides = "deny"
)

// DecidesValues lists the values of [Decides].
var DecidesValues = []Decides{Both, DenyOnly}

// Pattern finds lines of a subject's text that break a rule. Expressions are RE2: linear time, no look-around.
type Pattern struct {
	Regex        string   `json:"regex" yaml:"regex" doc:"RE2 expression; a match breaks the rule." example:"\\beval\\("`
	Unless       string   `json:"unless,omitempty" yaml:"unless,omitempty" doc:"RE2 expression; a line that matches it too is no hit."`
	Paths        []string `json:"paths,omitempty" yaml:"paths,omitempty" doc:"Only files whose path matches one of these globs."`
	ExcludePaths []string `json:"exclude_paths,omitempty" yaml:"exclude_paths,omitempty" doc:"Not files whose path matches one of these globs."`
	Lines        Lines    `json:"lines,omitempty" yaml:"lines,omitempty" enum:"added,any" default:"added" doc:"added: lines the change adds (all lines of whole files). any: context lines of a diff too."`
	Multiline    bool     `json:"multiline,omitempty" yaml:"multiline,omitempty" doc:"Match over runs of neighbouring lines instead of line by line; a hit must touch a line that counts."`
}

// Lines selects the lines of a diff that a pattern searches.
type Lines string

// LinesAdded looks at added lines (and all lines of whole files), LinesAny at context lines too. Deleted lines are never
// looked at: they are not in the new version.
const (
	LinesAdded Lines = "added"
	LinesAny   Lines = "any"
)

// LinesValues lists the values of [Lines].
var LinesValues = []Lines{LinesAdded, LinesAny}
