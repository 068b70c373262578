package witness

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"strings"

	fnote "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
)

// verifierKey returns the key, as policies name it, that verifies the cosignatures of a secret key.
func verifierKey(secret string) (string, error) {
	parts := strings.SplitN(secret, "+", 5) // PRIVATE+KEY+name+hash+key
	if len(parts) < 5 {
		return "", errors.New("the key of the witness is damaged")
	}
	seed, err := base64.StdEncoding.DecodeString(parts[4])
	if err != nil || len(seed) != 1+ed25519.SeedSize {
		return "", errors.New("the key of the witness is damaged")
	}
	public, ok := ed25519.NewKeyFromSeed(seed[1:]).Public().(ed25519.PublicKey)
	if !ok {
		return "", errors.New("the key of the witness is damaged")
	}
	vkey, err := note.NewEd25519VerifierKey(parts[2], public)
	if err != nil {
		return "", err
	}
	return fnote.VKeyToCosignatureV1(vkey)
}
