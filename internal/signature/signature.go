// Package signature signs and verifies webhook messages: by the Standard Webhooks specification (version 1 signatures,
// HMAC-SHA256), and by the scheme of GitHub.
package signature

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"tenet/internal/rule"
)

// Headers of a message.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

// Prefix begins every secret of the specification; base64 of the key follows.
const Prefix = "whsec_"

// Sizes of a key in bytes: the range of the specification, and the size of new keys.
const (
	minKey = 24
	maxKey = 64
	newKey = 32
)

// Tolerance is how far the time of a message may be from ours, in either direction. A message beyond it is a replay.
const Tolerance = 5 * time.Minute

// maxSignatures is how many signatures of a message Verify reads.
const maxSignatures = 16

// NewSecret returns a random secret.
func NewSecret() string {
	key := make([]byte, newKey)
	_, _ = rand.Read(key) // never fails
	return Prefix + base64.StdEncoding.EncodeToString(key)
}

// CheckSecret returns an invalid error, which does not repeat the secret, unless Sign can use the secret.
func CheckSecret(secret string) error {
	_, err := keyOf(secret)
	return err
}

func keyOf(secret string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(secret, Prefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(key) < minKey || len(key) > maxKey {
		return nil, rule.Errorf(rule.CodeInvalid, "a secret must be %s and the base64 of %d to %d bytes, such as `openssl rand -base64 32` gives", Prefix, minKey, maxKey)
	}
	return key, nil
}

// Sign returns the signature header of a message, with a signature by each secret. It fails if [CheckSecret] does.
func Sign(id string, at time.Time, body []byte, secrets ...string) (string, error) {
	list := make([]string, len(secrets))
	for i, secret := range secrets {
		key, err := keyOf(secret)
		if err != nil {
			return "", err
		}
		list[i] = "v1," + base64.StdEncoding.EncodeToString(sum(key, id, strconv.FormatInt(at.Unix(), 10), body))
	}
	return strings.Join(list, " "), nil
}

func sum(key []byte, id, at string, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(id + "." + at + "."))
	h.Write(body)
	return h.Sum(nil)
}

// Verify checks the headers of a message that came at now. The error is unauthenticated and names the fault without the right
// value. The caller must refuse repeated ids.
func Verify(secret, id, timestamp, signatures string, body []byte, now time.Time) error {
	key, err := keyOf(secret)
	if err != nil {
		return err
	}
	if err := CheckHeader(id, timestamp, signatures, now); err != nil {
		return err
	}
	want := sum(key, id, timestamp, body)
	for i, one := range strings.SplitN(signatures, " ", maxSignatures+1) {
		encoded, ok := strings.CutPrefix(one, "v1,")
		got, err := base64.StdEncoding.DecodeString(encoded)
		if i < maxSignatures && ok && err == nil && hmac.Equal(got, want) {
			return nil
		}
	}
	return refused("no signature of webhook-signature matches; check the secret, and sign the body as it is sent")
}

// CheckHeader makes the checks of [Verify] that do not need the body.
func CheckHeader(id, timestamp, signatures string, now time.Time) error {
	if id == "" || timestamp == "" || signatures == "" {
		return refused("the headers webhook-id, webhook-timestamp and webhook-signature are needed")
	}
	if !slices.ContainsFunc(strings.SplitN(signatures, " ", maxSignatures+1)[:min(maxSignatures, strings.Count(signatures, " ")+1)], isSignature) {
		return refused("webhook-signature must hold v1, and the base64 of 32 bytes")
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return refused("webhook-timestamp must be seconds since 1970")
	}
	at := time.Unix(seconds, 0)
	if at.Before(now.Add(-Tolerance)) || at.After(now.Add(Tolerance)) {
		return refused("webhook-timestamp is more than " + Tolerance.String() + " off; check the clock, and sign each attempt again")
	}
	return nil
}

// isSignature reports whether a text has the form of a signature of version 1.
func isSignature(one string) bool {
	encoded, ok := strings.CutPrefix(one, "v1,")
	got, err := base64.StdEncoding.DecodeString(encoded)
	return ok && err == nil && len(got) == sha256.Size
}

// VerifyGitHub checks the header X-Hub-Signature-256 of a body. The error is unauthenticated.
func VerifyGitHub(secret, header string, body []byte) error {
	if secret == "" {
		return refused("the server has no secret to verify with")
	}
	if err := CheckGitHubHeader(header); err != nil {
		return err
	}
	got, _ := hex.DecodeString(strings.TrimPrefix(header, gitHubPrefix)) // it was just checked
	h := hmac.New(sha256.New, []byte(secret))
	h.Write(body)
	if !hmac.Equal(got, h.Sum(nil)) {
		return refused("the signature does not match; check that GitHub and this server have the same secret")
	}
	return nil
}

// gitHubPrefix begins GitHub's signatures.
const gitHubPrefix = "sha256="

// CheckGitHubHeader makes the checks of [VerifyGitHub] that do not need the body.
func CheckGitHubHeader(header string) error {
	digits, ok := strings.CutPrefix(header, gitHubPrefix)
	if got, err := hex.DecodeString(digits); !ok || err != nil || len(got) != sha256.Size {
		return refused("the header X-Hub-Signature-256 is needed: sha256= and 64 hexadecimal digits")
	}
	return nil
}

func refused(message string) error { return rule.Errorf(rule.CodeUnauthenticated, "%s", message) }
