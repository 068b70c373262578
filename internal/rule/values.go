package rule

import "strings"

// Modality is how binding a rule is, in the words of RFC 2119.
type Modality string

// Modalities. A broken MUST or MUST_NOT is denied, a broken SHOULD needs confirmation, MAY and INFO are context.
const (
	Must    Modality = "MUST"
	MustNot Modality = "MUST_NOT"
	Should  Modality = "SHOULD"
	May     Modality = "MAY"
	Info    Modality = "INFO"
)

// Modalities lists all modalities from the most to the least binding.
var Modalities = []Modality{Must, MustNot, Should, May, Info}

// Severity is how much a violation matters.
type Severity string

// Severities.
const (
	Low      Severity = "LOW"
	Medium   Severity = "MEDIUM"
	High     Severity = "HIGH"
	Critical Severity = "CRITICAL"
)

// Severities lists all severities from the least to the most severe.
var Severities = []Severity{Low, Medium, High, Critical}

// Rank orders severities: LOW is 1, CRITICAL is 4, an unknown severity is 0.
func (s Severity) Rank() int {
	switch s {
	case Low:
		return 1
	case Medium:
		return 2
	case High:
		return 3
	case Critical:
		return 4
	}
	return 0
}

// Status is the place of a rule in its life cycle; see [CanTransition].
type Status string

// Statuses.
const (
	Draft      Status = "DRAFT"
	Review     Status = "REVIEW"
	Approved   Status = "APPROVED"
	Effective  Status = "EFFECTIVE"
	Superseded Status = "SUPERSEDED"
	Retired    Status = "RETIRED"
)

// Statuses lists all statuses in the order of the life cycle.
var Statuses = []Status{Draft, Review, Approved, Effective, Superseded, Retired}

// Ended reports whether the life of a rule is over: it is superseded or retired.
func (s Status) Ended() bool { return s == Superseded || s == Retired }

// Enforcement is the consequence of a broken rule.
type Enforcement string

// Enforcements. Enforce keeps a DENY, Warn turns it into NEEDS_CONFIRMATION, Shadow records the verdict and keeps it out of the
// overall verdict.
const (
	Enforce Enforcement = "enforce"
	Warn    Enforcement = "warn"
	Shadow  Enforcement = "shadow"
)

// Enforcements lists all enforcements from the strictest to the loosest.
var Enforcements = []Enforcement{Enforce, Warn, Shadow}

// Verdict is the answer of one rule, or of a whole evaluation, on a subject.
type Verdict string

// Verdicts.
const (
	Allow             Verdict = "ALLOW"
	Deny              Verdict = "DENY"
	NeedsConfirmation Verdict = "NEEDS_CONFIRMATION"
)

// Verdicts lists all verdicts.
var Verdicts = []Verdict{Allow, Deny, NeedsConfirmation}

// DecidedBy is the basis of a verdict.
type DecidedBy string

// Deciders. Triage means that a model was shown the rule among many and did not name it as one that could concern the subject. Approval means
// that people have confirmed exactly this subject. None means that nothing could decide, so the verdict is NEEDS_CONFIRMATION.
const (
	ByCheck    DecidedBy = "check"
	ByModel    DecidedBy = "model"
	ByCache    DecidedBy = "cache"
	ByTriage   DecidedBy = "triage"
	ByApproval DecidedBy = "approval"
	ByNone     DecidedBy = "none"
)

// Mode is whether an action is still to be taken or has happened.
type Mode string

// Modes. Preflight gates an action not yet taken, Posthoc judges one that happened.
const (
	Preflight Mode = "preflight"
	Posthoc   Mode = "posthoc"
)

// Modes lists all modes.
var Modes = []Mode{Preflight, Posthoc}

// Parse returns the value among all that equals s regardless of letter case, and false without one.
func Parse[T ~string](s string, all []T) (T, bool) {
	for _, v := range all {
		if strings.EqualFold(string(v), s) {
			return v, true
		}
	}
	return "", false
}

// Names joins the values of an enumeration for an error message.
func Names[T ~string](all []T) string {
	var b strings.Builder
	for i, v := range all {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(v))
	}
	return b.String()
}
