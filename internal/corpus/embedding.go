package corpus

import (
	"crypto/sha256"
	"encoding/hex"

	"tenet/internal/rule"
)

// EmbeddingText is what of a rule is embedded: the statement and, below it, the rationale.
func EmbeddingText(r *rule.Rule) string {
	if r.Rationale == "" {
		return r.Statement
	}
	return r.Statement + "\n" + r.Rationale
}

// TextHash names the text of a rule that is embedded: the first 16 bytes of its SHA-256, in hex.
func TextHash(r *rule.Rule) string {
	sum := sha256.Sum256([]byte(EmbeddingText(r)))
	return hex.EncodeToString(sum[:16])
}
