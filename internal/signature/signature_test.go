package signature_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"tenet/internal/rule"
	"tenet/internal/signature"
)

func headers(id string, at time.Time, signatures string) http.Header {
	return http.Header{
		signature.HeaderID: {id}, signature.HeaderTimestamp: {strconv.FormatInt(at.Unix(), 10)}, signature.HeaderSignature: {signatures},
	}
}

func TestTheStandardsLibraryVerifiesWhatIsSigned(t *testing.T) {
	fresh, old := signature.NewSecret(), signature.NewSecret()
	body, now := []byte(`{"type":"x","data":"é"}`), time.Now()
	signed, err := signature.Sign("msg_1", now, body, fresh, old)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{fresh, old} {
		theirs, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := theirs.Verify(body, headers("msg_1", now, signed)); err != nil {
			t.Errorf("the standard's library: %v", err)
		}
		if err := theirs.Verify(append(body, ' '), headers("msg_1", now, signed)); err == nil {
			t.Error("the standard's library takes another body")
		}
		one, err := theirs.Sign("msg_1", now, body)
		if err != nil || !strings.Contains(signed, one) {
			t.Errorf("the library signs %s, %v; ours are %s", one, err, signed)
		}
	}
}

func TestVerify(t *testing.T) {
	secret, now := signature.NewSecret(), time.Unix(1_800_000_000, 0)
	body := []byte("{}")
	good, err := signature.Sign("id", now, body, secret)
	if err != nil {
		t.Fatal(err)
	}
	other, _ := signature.Sign("id", now, body, signature.NewSecret())
	stamp := strconv.FormatInt(now.Unix(), 10)
	for name, c := range map[string]struct {
		id, stamp, signatures, body string
		now                         time.Time
		ok                          bool
	}{
		"as signed":             {"id", stamp, good, "{}", now, true},
		"among others":          {"id", stamp, "v2,x " + other + " " + good, "{}", now, true},
		"late, but not too":     {"id", stamp, good, "{}", now.Add(signature.Tolerance), true},
		"replayed":              {"id", stamp, good, "{}", now.Add(signature.Tolerance + time.Second), false},
		"from the future":       {"id", stamp, good, "{}", now.Add(-signature.Tolerance - time.Second), false},
		"another secret":        {"id", stamp, other, "{}", now, false},
		"another id":            {"ie", stamp, good, "{}", now, false},
		"another body":          {"id", stamp, good, "{ }", now, false},
		"another time":          {"id", strconv.FormatInt(now.Unix()+1, 10), good, "{}", now, false},
		"a time in other words": {"id", stamp + ".0", good, "{}", now, false},
		"no id":                 {"", stamp, good, "{}", now, false},
		"no time":               {"id", "", good, "{}", now, false},
		"no signature":          {"id", stamp, "", "{}", now, false},
		"another version":       {"id", stamp, strings.Replace(good, "v1,", "v2,", 1), "{}", now, false},
		"behind too many":       {"id", stamp, strings.Repeat("v1,x ", 16) + good, "{}", now, false},
	} {
		err := signature.Verify(secret, c.id, c.stamp, c.signatures, []byte(c.body), c.now)
		if (err == nil) != c.ok || (err != nil && rule.CodeOf(err) != rule.CodeUnauthenticated) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSecrets(t *testing.T) {
	if one, two := signature.NewSecret(), signature.NewSecret(); one == two {
		t.Error("two new secrets are equal")
	}
	for size, ok := range map[int]bool{23: false, 24: true, 64: true, 65: false} {
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", size)))
		if err := signature.CheckSecret(signature.Prefix + text); (err == nil) != ok {
			t.Errorf("%d bytes: %v", size, err)
		}
		if err := signature.CheckSecret(text); err == nil || strings.Contains(err.Error(), text) {
			t.Errorf("without prefix: %v", err)
		}
	}
}

func TestVerifyGitHub(t *testing.T) {
	// GitHub's documentation gives this example.
	const secret, body = "It's a Secret to Everybody", "Hello, World!"
	const want = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
	if err := signature.VerifyGitHub(secret, want, []byte(body)); err != nil {
		t.Error(err)
	}
	empty := hmac.New(sha256.New, nil)
	empty.Write([]byte(body))
	for name, c := range map[string][3]string{
		"body": {secret, want, body + " "}, "secret": {"x", want, body}, "none": {secret, "", body}, "sha1": {secret, strings.Replace(want, "256", "1", 1), body},
		"short": {secret, want[:40], body}, "no secret": {"", "sha256=" + hex.EncodeToString(empty.Sum(nil)), body},
	} {
		if err := signature.VerifyGitHub(c[0], c[1], []byte(c[2])); rule.CodeOf(err) != rule.CodeUnauthenticated {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	f.Add("id", "1800000000", "v1,AAAA v1,", "{}")
	f.Add("", "-1", "v1, ,", "")
	secret := signature.NewSecret()
	f.Fuzz(func(t *testing.T, id, stamp, signatures, body string) {
		if err := signature.Verify(secret, id, stamp, signatures, []byte(body), time.Unix(1_800_000_000, 0)); err == nil {
			t.Error("a made-up signature was taken")
		}
		if err := signature.VerifyGitHub(secret, signatures, []byte(body)); err == nil {
			t.Error("a made-up signature was taken")
		}
	})
}
