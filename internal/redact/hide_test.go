package redact_test

import (
	"strings"
	"testing"

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
