package redact_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tenet/internal/proptest"
	"tenet/internal/redact"
	"tenet/internal/subject"
)

// random makes text that looks like a key. It is made here because a secret in a source file would alarm the very tools
// that this package uses.
func random(seed uint64, alphabet string, n int) string {
	r := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // no secret needs to be good here
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

const (
	caps   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	small  = "abcdefghijklmnopqrstuvwxyz"
	digits = "0123456789"
)

func awsKey() string   { return "AK" + "IA" + random(1, caps+"234567", 16) }
func generic() string  { return random(3, caps+small+digits, 32) }
func password() string { return random(4, small+digits, 12) }

// pem makes a private key of several lines.
func pem() (all, body string) {
	raw := base64.StdEncoding.EncodeToString([]byte(random(5, caps+small+digits, 300)))
	var lines []string
	for ; len(raw) > 64; raw = raw[64:] {
		lines = append(lines, raw[:64])
	}
	body = strings.Join(append(lines, raw), "\n")
	return "-----BEGIN RSA " + "PRIVATE KEY-----\n" + body + "\n-----END RSA " + "PRIVATE KEY-----\n", body
}

func secrets() map[string]string {
	return map[string]string{
		"aws-access-token": awsKey(),
		"letters only":     "AK" + "IA" + random(9, caps, 16),
		"github-pat":       "gh" + "p_" + random(2, caps+small+digits, 36),
		"generic-api-key":  generic(),
		"slack-bot-token":  "xo" + "xb-" + random(6, digits, 12) + "-" + random(7, digits, 12) + "-" + random(8, caps+small+digits, 24),
		"jwt":              "ey" + "JhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9." + "ey" + base64.RawURLEncoding.EncodeToString([]byte(`JzdWIiOiIxMjM0NTY3ODkw`)) + "." + random(12, caps+small+digits, 43),
		"stripe":           "sk" + "_live_" + random(10, caps+small+digits, 24),
		"google":           "AI" + "za" + random(11, caps+small+digits, 35),
	}
}

func TestSecretsAreReplaced(t *testing.T) {
	r := redact.New()
	for name, secret := range secrets() {
		for _, line := range []string{`api_key = "%s"`, `	"client_secret": "%s",`, "token: %s", `export API_TOKEN='%s' # for tests`} {
			text := "first line\n" + fmt.Sprintf(line, secret) + "\nlast line\n"
			got, found := r.Text(text)
			if strings.Contains(got, secret) || !strings.Contains(got, "[redacted:") {
				t.Errorf("%s: %q became %q", name, text, got)
			}
			if len(found) != 1 || found[0].Line != 2 || found[0].Kind == "" || !strings.Contains(got, redact.Placeholder(found[0].Kind)) {
				t.Errorf("%s: found %+v", name, found)
			}
			if !strings.HasPrefix(got, "first line\n") || !strings.HasSuffix(got, "\nlast line\n") {
				t.Errorf("%s: the text around it changed: %q", name, got)
			}
		}
	}
}

func TestAMarkOfTheAuthorHidesNothing(t *testing.T) {
	if got, _ := redact.New().Text("key = '" + awsKey() + "' # gitleaks:" + "allow"); strings.Contains(got, awsKey()) {
		t.Errorf("got %q", got)
	}
}

func TestASecretIsReplacedWhereverItStands(t *testing.T) {
	got, found := redact.New().Text("api_key = " + generic() + "\nprint(" + generic() + generic() + ")\n")
	if strings.Contains(got, generic()) || len(found) != 3 || found[2].Line != 2 {
		t.Errorf("got %q, %+v", got, found)
	}
}

func TestPrivateKeysKeepTheirLines(t *testing.T) {
	all, body := pem()
	cut, _, _ := strings.Cut(all, "-----END")
	for name, text := range map[string]string{
		"whole":       "a\n" + all + "b\n",
		"in a diff":   "@@ -0,0 +1,9 @@\n+" + strings.ReplaceAll(strings.TrimSuffix(all, "\n"), "\n", "\n+") + "\n+b\n",
		"cut off":     "a\n" + cut,
		"in one line": `key = "` + strings.ReplaceAll(all, "\n", `\n`) + "\"\nb\n",
		"indented":    "key: |\n    " + strings.ReplaceAll(all, "\n", "\n    ") + "\nb: 1\n",
	} {
		got, found := redact.New().Text(text)
		for line := range strings.Lines(body) {
			if strings.Contains(got, strings.TrimSpace(line)) {
				t.Errorf("%s: %q is still in %q", name, line, got)
			}
		}
		if strings.Count(got, "\n") != strings.Count(text, "\n") || len(found) == 0 || !strings.Contains(got, redact.Placeholder("private-key")) {
			t.Errorf("%s: got %q, %+v", name, got, found)
		}
		for i, line := range strings.Split(got, "\n") {
			if was := strings.Split(text, "\n")[i]; was != "" && line[:1] != was[:1] && was[0] != body[0] && !strings.HasPrefix(line, "[redacted:") {
				t.Errorf("%s: line %d began with %q and is %q", name, i+1, was[:1], line)
			}
		}
	}
}

func TestPasswordsInAddresses(t *testing.T) {
	r := redact.New()
	text := "dsn = postgres://tenet:" + password() + "@db.example/tenet"
	if got, found := r.Text(text); got != "dsn = postgres://tenet:[redacted:url-password]@db.example/tenet" || len(found) != 1 {
		t.Errorf("got %q, %+v", got, found)
	}
	for _, text := range []string{
		"https://example.com:8080/a@b", "postgres://tenet@db/tenet", "postgres://tenet:${DB_PASSWORD}@db/tenet", "see https://a.example (mail x:y@z)",
		"https://example.com/a?b=c:d@e",
	} {
		if got, found := r.Text(text); got != text || found != nil {
			t.Errorf("%q became %q", text, got)
		}
	}
}

const clean = `diff --git a/pay/transfer.go b/pay/transfer.go
index 1f3870b..a1b2c3d 100644
--- a/pay/transfer.go
+++ b/pay/transfer.go
@@ -10,4 +10,5 @@ func Transfer(amount int) error {
 	if amount <= 0 {
-		return errNegative
+		log.Println("card", card.Number, os.Getenv("API_KEY"), apiKeyFromVault2)
+		return nil
 	}
 	return send(amount)
`

func TestCleanTextIsLeftAlone(t *testing.T) {
	for _, text := range []string{"", "x", clean, "password = getpass()", "the secret of success", "token := lexer.NextToken2()"} {
		if got, found := redact.New().Text(text); got != text || found != nil {
			t.Errorf("%q became %q, %+v", text, got, found)
		}
	}
}

func TestAnInputIsRedactedInAllItsFields(t *testing.T) {
	content := "a\nkey = '" + awsKey() + "'\n"
	in := subject.Input{
		Diff:  strings.Replace(clean, "return nil", "apiKey := \""+generic()+"\"", 1),
		Files: []subject.InputFile{{Path: "a.py", Content: &content}, {Path: "b.py"}},
		Facts: map[string]any{
			"password": "hunter2hunter2", "amount": 12.5, "note": "none",
			"deep": []any{map[string]any{"api_key": "x", "conf": "key: " + awsKey(), awsKey(): true}},
		},
		Action: "use token=" + generic(), Intent: "with " + awsKey(), Repository: "https://u:" + password() + "@git.example/r", Scope: "a/b",
	}
	before, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	out, found, secrets := redact.New().Input(in)
	after, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{awsKey(), generic(), password(), "hunter2"} {
		if strings.Contains(string(after), s) {
			t.Errorf("%q is still in %s", s, after)
		}
	}
	quotes := fmt.Sprintf("uses %s and %s, logs in with %s and hunter2hunter2 twice: %s", awsKey(), generic(), password(), password())
	if got := secrets(quotes); strings.Count(got, "[redacted:") != 4 || strings.Contains(got, awsKey()) || !strings.Contains(got, "and hunter2hunter2 twice") {
		t.Errorf("a text that quotes the secrets of high entropy became %q", got)
	}
	for _, quote := range []string{`"hunter2hunter2"`, "hunter2hunter2", `{"amount":1,"password":"hunter2hunter2"}`, "https://u:" + password() + "@git.example/r", password(), `"key: ` + awsKey() + `"`} {
		if got := secrets(quote); strings.Count(got, "[redacted:") != 1 || strings.Contains(got, "hunter2") || strings.Contains(got, password()) {
			t.Errorf("the quote %q became %q", quote, got)
		}
	}
	if still, _ := json.Marshal(in); string(still) != string(before) {
		t.Error("the input itself was changed")
	}
	places := map[string]int{}
	for _, f := range found {
		places[f.Where] = f.Line
	}
	want := map[string]int{
		"diff": 9, "files[0].content": 2, "facts.password": 1, "facts.deep[0]": 1, "facts.deep[0].conf": 1, "action": 1, "intent": 1, "repository": 1,
	}
	if d := cmp.Diff(want, places); d != "" {
		t.Error(d)
	}
	if out.Files[1].Content != nil || out.Facts["amount"] != 12.5 || out.Facts["note"] != "none" || out.Scope != "a/b" {
		t.Errorf("got %+v", out)
	}
}

func TestARedactedDiffHasTheSameLines(t *testing.T) {
	all, _ := pem()
	dirty := strings.Replace(clean, "+10,5", "+10,"+fmt.Sprint(4+strings.Count(all, "\n")), 1)
	dirty = strings.Replace(dirty, "+\t\treturn nil\n", "+"+strings.TrimSuffix(strings.ReplaceAll(all, "\n", "\n+"), "+"), 1)
	was, err := subject.Build(subject.Input{Diff: dirty})
	if err != nil {
		t.Fatal(err)
	}
	in, found, _ := redact.New().Input(subject.Input{Diff: dirty})
	s, err := subject.Build(in)
	if err != nil || len(found) < 5 {
		t.Fatalf("%v, %+v", err, found)
	}
	lines := func(s *subject.Subject) (out []string) {
		for _, l := range s.Files[0].Hunks[0].Lines {
			out = append(out, fmt.Sprint(string(l.Op), l.Old, l.New))
		}
		return out
	}
	if d := cmp.Diff(lines(was), lines(s)); d != "" {
		t.Error(d)
	}
	built, _ := redact.New().Subject(was)
	if d := cmp.Diff(s, built); d != "" {
		t.Errorf("redacting before and after building differs: %s", d)
	}
}

func TestASubjectIsRedactedAndTellsNewLines(t *testing.T) {
	s, err := subject.Build(subject.Input{Diff: strings.Replace(clean, "return nil", "apiKey := \""+generic()+"\"", 1), Action: "deploy"})
	if err != nil {
		t.Fatal(err)
	}
	out, found := redact.New().Subject(s)
	if len(found) != 1 || found[0].Where != "pay/transfer.go" || found[0].Line != 12 {
		t.Errorf("found %+v", found)
	}
	if l := out.Files[0].Hunks[0].Lines[3]; l.Text != "\t\tapiKey := \"[redacted:"+found[0].Kind+"]\"" || l.New != 12 {
		t.Errorf("line is %+v", l)
	}
	if !strings.Contains(s.Files[0].Hunks[0].Lines[3].Text, generic()) {
		t.Error("the subject itself was changed")
	}
	if places := out.Find(out.Files[0].Hunks[0].Lines[3].Text); len(places) != 1 || places[0].StartLine != 12 {
		t.Errorf("a quote with the placeholder is found at %+v", places)
	}
	bare, err := subject.Build(subject.Input{Diff: clean, Facts: map[string]any{"a": []any{"b"}}})
	if err != nil {
		t.Fatal(err)
	}
	if same, found := redact.New().Subject(bare); same != bare || found != nil {
		t.Errorf("a clean subject is not returned as it is: %+v", found)
	}
}

// TestLinesStayWhereTheyAre mixes secrets into arbitrary text.
func TestLinesStayWhereTheyAre(t *testing.T) {
	r := redact.New()
	all, _ := pem()
	pieces := []string{"\n", "+", "-", " ", "key = ", `"`, "text ", awsKey(), generic(), all, "postgres://u:" + password() + "@h/", "curl -u a:" + password(), "π"}
	proptest.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 60).Draw(rt, "pieces"), "")
		got, found := r.Text(text)
		if strings.Count(got, "\n") != strings.Count(text, "\n") {
			rt.Fatalf("%q became %q", text, got)
		}
		if (len(found) > 0) != (got != text) || strings.Contains(got, awsKey()) && strings.Contains(got, "\n"+awsKey()+"\n") {
			rt.Fatalf("%q became %q with %+v", text, got, found)
		}
	})
}

func FuzzText(f *testing.F) {
	all, _ := pem()
	for _, s := range secrets() {
		f.Add("key = " + s)
	}
	f.Add(all)
	f.Add(clean)
	f.Add("://a:bcdefgh@" + strings.Repeat("://", 50))
	r := redact.New()
	f.Fuzz(func(t *testing.T, text string) {
		got, found := r.Text(text)
		if strings.Count(got, "\n") != strings.Count(text, "\n") || len(found) == 0 && got != text {
			t.Errorf("%q became %q", text, got)
		}
	})
}

// BenchmarkClean is what redaction costs a text without secrets: nearly all texts.
func BenchmarkClean(b *testing.B) {
	text := strings.Repeat(clean, 10<<10/len(clean))
	r := redact.New()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, found := r.Text(text); found != nil {
			b.Fatal(found)
		}
	}
}

// BenchmarkSecret is what it costs to find one.
func BenchmarkSecret(b *testing.B) {
	text := strings.Repeat(clean, 10<<10/len(clean)) + "key = '" + awsKey() + "'\n"
	r := redact.New()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, found := r.Text(text); len(found) != 1 {
			b.Fatal(found)
		}
	}
}
