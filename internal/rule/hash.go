package rule

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// ContentHash is the SHA-256, in hex, of what the rule says: everything but its identity, version, status, owner and
// times. Two rules with equal hashes judge alike, so verdicts are kept under this hash and never under ids.
func (r *Rule) ContentHash() string {
	content := Rule{
		Statement: r.Statement, Modality: r.Modality, Severity: r.Severity, Scope: r.Scope, Tags: r.Tags,
		Rationale: r.Rationale, Exceptions: r.Exceptions, Examples: r.Examples, SourceRefs: r.SourceRefs, EffectivePeriod: r.EffectivePeriod,
		AppliesTo: r.AppliesTo, Check: r.Check, Enforcement: r.Enforcement,
	}
	b, err := json.Marshal(&content)
	if err != nil {
		panic("rule: a rule must encode as JSON: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
