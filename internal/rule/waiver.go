package rule

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Limits on a waiver.
const (
	MaxWaiverReason = 2000                 // characters
	MaxWaiverTime   = 366 * 24 * time.Hour // from its making to its end
)

// WaiverStatus is whether a [Waiver] covers anything.
type WaiverStatus string

// States of a waiver. Only an active one covers anything.
const (
	WaiverActive  WaiverStatus = "active"
	WaiverPending WaiverStatus = "pending" // waits for a second person
	WaiverExpired WaiverStatus = "expired"
	WaiverRevoked WaiverStatus = "revoked"
)

// Waiver excuses one denial of one rule until a date. It is bound to the repository of the evaluation and to the text that the denial
// cites, with its files: elsewhere, with another text, or with another wording of the rule, it covers nothing.
type Waiver struct {
	ID        string `json:"id" format:"uuid" doc:"Identifier."`
	ProjectID string `json:"project_id" doc:"Project of the rule."`
	RuleID    string `json:"rule_id" doc:"Rule whose denial is waived."`
	// RuleSlug is derived, for answers; it is never stored.
	RuleSlug    string       `json:"rule_slug,omitempty" doc:"Slug of the rule, if it has one."`
	Severity    Severity     `json:"severity" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"Severity of the rule when the waiver was made."`
	Fingerprint string       `json:"fingerprint" doc:"Fingerprint of the verdict that is waived."`
	Repository  string       `json:"repository,omitempty" doc:"Repository that it covers, in its normal form. Absent: evaluations that name no repository."`
	Reason      string       `json:"reason" doc:"Why it may stand."`
	Approver    string       `json:"approver,omitempty" doc:"Who is asked to approve it; nobody else can then. Empty: any second person."`
	ExpiresAt   time.Time    `json:"expires_at" doc:"When it lapses."`
	CreatedAt   time.Time    `json:"created_at" doc:"When it was made."`
	CreatedBy   string       `json:"created_by" doc:"Who made it."`
	ApprovedAt  *time.Time   `json:"approved_at,omitempty" doc:"When a second person approved it."`
	ApprovedBy  string       `json:"approved_by,omitempty" doc:"Who did, by a call of their own."`
	RevokedAt   *time.Time   `json:"revoked_at,omitempty" doc:"When it was taken back."`
	RevokedBy   string       `json:"revoked_by,omitempty" doc:"Who took it back."`
	Status      WaiverStatus `json:"status" enum:"active,pending,expired,revoked" doc:"Whether it covers anything now. One for a CRITICAL rule is pending until a second person approves it."`
}

// At returns the status of the waiver at a time for a rule of a severity. One that was made for a CRITICAL rule takes a second
// person also where the rule is taken less seriously, such as below a federation node.
func (w *Waiver) At(now time.Time, s Severity) WaiverStatus {
	switch {
	case w.RevokedAt != nil:
		return WaiverRevoked
	case !now.Before(w.ExpiresAt):
		return WaiverExpired
	case (s == Critical || w.Severity == Critical) && (w.ApprovedAt == nil || w.ApprovedBy == w.CreatedBy):
		return WaiverPending
	}
	return WaiverActive
}

// Applied is the waiver as the verdict shows it that it covers.
func (w *Waiver) Applied() *AppliedWaiver {
	return &AppliedWaiver{ID: w.ID, Reason: w.Reason, ExpiresAt: w.ExpiresAt, Approver: cmp.Or(w.ApprovedBy, w.CreatedBy)}
}

// AppliedWaiver is the waiver that covers a verdict.
type AppliedWaiver struct {
	ID        string    `json:"id" doc:"The waiver."`
	Reason    string    `json:"reason" doc:"Why the denial may stand."`
	ExpiresAt time.Time `json:"expires_at" doc:"When it lapses."`
	Approver  string    `json:"approver" doc:"Who answers for it: the second person who approved it, or else who made it."`
}

// Counts reports whether the verdict weighs in the overall verdict: one of a rule in shadow does not, and neither does a waived one.
func (v *RuleVerdict) Counts() bool { return v.Enforcement != Shadow && v.Waiver == nil }

// Bounds of a fingerprint. Checks and judges list so many places and quotes, and of a longer line checks quote about so many
// bytes: beyond, a change could go unseen.
const (
	checkedPlaces = 50
	judgedPlaces  = 20
	cutQuote      = 290
)

// FingerprintOf identifies the object of a denial: the rule and its wording, and the quoted texts with their files, whatever
// their lines and spacing. It is empty without a quote, such as for a fact or an absence, and where the list of quotes is cut:
// such a denial cannot be waived.
func FingerprintOf(v *RuleVerdict, contentHash string) string {
	type cited struct{ Path, Text string }
	var list []cited
	for i := range v.Evidence {
		e := &v.Evidence[i]
		if e.Kind != EvidenceQuote || strings.TrimSpace(e.Quote) == "" || (len(e.Quote) >= cutQuote && v.DecidedBy == ByCheck) {
			return ""
		}
		list = append(list, cited{e.FilePath, words(e.Quote)})
	}
	listed := judgedPlaces
	if v.DecidedBy == ByCheck {
		listed = checkedPlaces
	}
	if len(list) == 0 || len(list) >= listed || len(v.Locations) >= listed {
		return ""
	}
	for i := range v.Locations {
		list = append(list, cited{v.Locations[i].FilePath, words(v.Locations[i].Snippet)})
	}
	slices.SortFunc(list, func(a, b cited) int { return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Text, b.Text)) })
	b, err := json.Marshal([]any{v.RuleID, contentHash, list})
	if err != nil {
		panic("rule: citations must encode as JSON: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// words is a text with the white space of each line made equal. Lines stay apart: a comment and the code below it are not the
// comment alone.
func words(s string) string {
	var lines []string
	for line := range strings.Lines(s) {
		if list := strings.Fields(line); len(list) > 0 {
			lines = append(lines, strings.Join(list, " "))
		}
	}
	return strings.Join(lines, "\n")
}
