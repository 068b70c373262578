package redact_test

import (
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
	var keys strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&keys, "-----BEGIN PRIVATE KEY-----\naaaaaa%d\n", i)
	}
	start := time.Now()
	_, found := redact.New().Text(keys.String())
	if took := time.Since(start); took > 4*time.Second || len(found) != 50_000 {
		t.Errorf("%d secrets found in %v", len(found), took)
	}
}

// TestALongTextLosesNoSecret compares a text that is read in several pieces with its lines read one by one.
func TestALongTextLosesNoSecret(t *testing.T) {
	r := redact.New()
	var text, want strings.Builder
	for i := range 1_500 {
		line := fmt.Sprintf("api_key = \"a%dzB3k9%dQwxY7\"\n", i*i, i*7919)
		clean, _ := r.Text(line)
		text.WriteString(line)
		want.WriteString(clean)
	}
	got, found := r.Text(text.String())
	if len(found) < 1_000 {
		t.Errorf("only %d secrets found", len(found))
	}
	for i, line := range strings.Split(want.String(), "\n") {
		if now := strings.Split(got, "\n")[i]; strings.Contains(line, "[redacted") && !strings.Contains(now, "[redacted") {
			t.Errorf("line %d: %s", i+1, now)
		}
	}
}
