package redact_test

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"testing"
	"time"

	"tenet/internal/redact"
)

// TestAFakeKeyHidesNothing has an author pass text off as lines of a private key. What is code must stay to be judged,
// there and elsewhere.
func TestAFakeKeyHidesNothing(t *testing.T) {
	for name, text := range map[string]string{
		"a word of it elsewhere": "/*\n-----BEGIN PRIVATE KEY-----\nInsecureSkipVerify\nuseMD5Hash\n-----END PRIVATE KEY-----\n*/\ncfg.InsecureSkipVerify = true\nuseMD5Hash()\n",
		"a call in it":           "# -----BEGIN PRIVATE KEY-----\nUser.all.InsecureSkipVerify\ndestroy_all\nuseMD5Hash()\n# -----END PRIVATE KEY-----\n",
		"among real ones":        "# a1b2c3d4e5f6 -----BEGIN PRIVATE KEY-----\n\nInsecureSkipVerify(useMD5Hash(request.body)) # and more\n# -----END PRIVATE KEY----- z9y8x7w6v5u4t3\ndestroy_all\n",
	} {
		got, found := redact.New().Text(text)
		for _, word := range []string{"InsecureSkipVerify", "useMD5Hash(", "destroy_all"} {
			if lastLine(text, word) != "" && !strings.Contains(got, lastLine(text, word)) {
				t.Errorf("%s: %q is hidden in\n%s\n%v", name, word, got, found)
			}
		}
	}
}

func lastLine(text, word string) string {
	last := ""
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			last = line
		}
	}
	return last
}

// TestManyLinesOfKeysTakeLittleTime has a text of nothing but secrets that begin alike, which no time may be squared over.
func TestManyLinesOfKeysTakeLittleTime(t *testing.T) {
	times := func(keys int) time.Duration {
		var text strings.Builder
		for i := range keys {
			fmt.Fprintf(&text, "-----BEGIN PRIVATE KEY-----\n%s%06d\n", random(5, caps+small+digits, 58), i)
		}
		r := redact.New()
		start := time.Now()
		if _, found := r.Text(text.String()); len(found) != keys {
			t.Fatalf("%d secrets found of %d", len(found), keys)
		}
		return time.Since(start)
	}
	// Four times the keys take four times as long, or sixteen times if the time were squared. A machine that does other things makes a measurement
	// longer, never shorter, so the shortest of several count.
	few, many := times(12_500), times(50_000)
	for round := 0; many >= 9*few; round++ {
		if round == 20 {
			t.Fatalf("12,500 secrets take %v, 50,000 take %v", few, many)
		}
		few, many = min(few, times(12_500)), min(many, times(50_000))
	}
}

// TestALongTextLosesNoSecret has a text that is read in several pieces.
func TestALongTextLosesNoSecret(t *testing.T) {
	r := redact.New()
	var text strings.Builder
	for i := range 3_000 {
		sum := sha256.Sum256([]byte{byte(i), byte(i >> 8)})
		fmt.Fprintf(&text, "%s\n", "AKIA"+base32.StdEncoding.EncodeToString(sum[:10]))
	}
	got, _ := r.Text(text.String())
	for line := range strings.Lines(got) {
		if alone, _ := r.Text(line); strings.Contains(line, "AKIA") && alone != line { // some are too regular to be a key
			t.Errorf("a secret is left: %s", line)
		}
	}
	if n := strings.Count(got, "AKIA"); n > 15 {
		t.Errorf("%d secrets are left", n)
	}
}
