package bundle_test

import (
	"crypto/sha256"
	"encoding/hex"
)

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
