package redact_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tenet/internal/proptest"
	"tenet/internal/redact"
	"tenet/internal/wire"
)

var placeholders = regexp.MustCompile(`\[redacted:[a-z0-9-]+\]`)

// swallowed returns the lines of a text of which a redaction took more than tokens: those in which what is left beside the
// placeholders is not left of the original line too, or in which one replaces a blank, a bracket, a quote, a comma or a semicolon.
func swallowed(before, after string, found []wire.Redaction) (lines []string) {
	was, is := strings.Split(before, "\n"), strings.Split(after, "\n")
	if len(was) != len(is) {
		return []string{"the number of lines differs"}
	}
	byLine := map[int]int{}
	for _, f := range found {
		byLine[f.Line]++
	}
	for i := range was {
		if was[i] == is[i] {
			continue
		}
		parts := placeholders.Split(is[i], -1)
		for k := range parts {
			parts[k] = regexp.QuoteMeta(parts[k])
		}
		whole := regexp.MustCompile(`^` + strings.Join(parts, `[\w.+/=~%@!-]+`) + `$`)
		if !whole.MatchString(was[i]) || len(parts)-1 != byLine[i+1] {
			lines = append(lines, was[i]+"\n\tbecame "+is[i])
		}
	}
	return lines
}

// TestCodeOfGoStays redacts the source of Go.
func TestCodeOfGoStays(t *testing.T) {
	root, err := exec.CommandContext(context.Background(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src", "crypto", "*", "*.go"))
	if err != nil || len(files) < 100 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	r := redact.New()
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // the source of Go
		if err != nil {
			t.Fatal(err)
		}
		after, found := r.Text(string(text))
		for _, line := range swallowed(string(text), after, found) {
			t.Errorf("%s: %s", file, line)
		}
	}
}

// TestNoCodeIsSwallowed writes code around and between secrets, and between all that rules of secrets look for.
func TestNoCodeIsSwallowed(t *testing.T) {
	r := redact.New()
	code := []string{
		"eval(x)", "os.system(cmd)", "destroy_all", "User.delete_all2", "cfg.InsecureSkipVerify = true", "x9=evaluate1", "hashlib.md5", "a[1]; b{2}", "x1+y2*z3",
		"exec sh -c", "rm -rf /", "if (a < b) {", "}", "import os", "token.NextToken2()", "strcpy(a1, b2)", "  ", "\t", "// ", "# ", "/*", "*/", "\n", "\n", "\n", "\n+", "\n-",
		"SELECT * FROM users1", "base64", "PBKDF2WithHmacSHA1", "key", "PRIVATE", "reboot", ",", ";", "(", ")",
	}
	lures := []string{
		`curl -u "x:`, `curl -u "user:`, "curl --user 'a:", `curl -H "Authorization: Bearer `, `curl -H 'X-Api-Key: `, `"`, "'", "`", "\" ", "' ",
		"-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----\n", "\n-----END RSA PRIVATE KEY-----", "KEY-----", `\n`,
		"https://a:", "postgres://u:", "@h", "@host/db", "api_key = ", "secret: ", `password="`, "token=", "AWS_SECRET=", `"secret_key" => "sk_`, "kind: secret\ndata:\n  ", "ZXlK",
		"facebook = ", "sourcegraph ", "gitlab ", "snyk_token = ", "heroku_key: ", "atlasv1.", "hooks.slack.com/services/", "ghp_", "sk_live_", "AKIA", "xoxb-", "ey", "=", ":", ".", "/", "%41",
	}
	all, body := pem()
	values := []string{awsKey(), generic(), password(), body[:64], body[65:129], all, random(20, "0123456789abcdef", 40), random(21, caps+small+digits+"+/", 44)}
	for _, s := range secrets() {
		values = append(values, s)
	}
	for i := range code {
		code[i] = " " + code[i] + " " // a name that is joined to a secret is a part of its token
	}
	piece := rapid.OneOf(rapid.SampledFrom(code), rapid.SampledFrom(lures), rapid.SampledFrom(values), rapid.StringMatching(`[ -~]{1,20}`))
	proptest.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 1, 50).Draw(rt, "pieces"), "")
		after, found := r.Text(text)
		if lines := swallowed(text, after, found); len(lines) > 0 {
			rt.Fatalf("swallowed: %s\nin %q", lines[0], text)
		}
		for _, c := range code {
			if strings.Count(after, c) < strings.Count(text, c) {
				rt.Fatalf("%q is hidden: %q became %q", c, text, after)
			}
		}
		same, _ := redact.New().Text(after)
		if strings.Count(same, "\n") != strings.Count(after, "\n") {
			rt.Fatalf("%q became %q", after, same)
		}
	})
}

// TestNamesStay has names and calls where a rule of secrets looks for a value.
func TestNamesStay(t *testing.T) {
	r := redact.New()
	for _, text := range []string{
		"# curl -u \"user:\nimport os\nos.system(cmd)\neval(user)\n# see \"docs\"\n",
		"# curl -u \":\nos.system(cmd)\n# see \"docs\"\n",
		"curl -u 'me:eval(x);y' ",
		"-----BEGIN PRIVATE KEY-----\nx9=evaluate1\ndestroy_all2\n-----END PRIVATE KEY-----\n",
		"-----BEGIN PRIVATE KEY-----\n/bin//////////////////////////////////////////////////////reboot\n-----END PRIVATE KEY-----\n",
		"-----BEGIN PRIVATE KEY-----\nDestroyAllUsersAndTheirAccountsWithoutAnyConfirmationByAnyone1234\n-----END PRIVATE KEY-----\n",
		"u = 'http://a:eval(x9);b@c'", "# http://a:exec;y=eval@c", "see http://a:b1,c2=eval@d",
		"secret_key = hashlib.md5.hexdigest2_of_all", "alg_key = \"PBKDF2WithHmacSHA1\"", "cipher_key = 'TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256'",
		"ssl_key: ECDHE-RSA-AES128-GCM-SHA256 ", "api_key = x1a+y2b+z3c+w4d/q5e ", "auth_token = price-discount1-tax2-rate3 ",
		"'secret_key' => 'sk_eval($_GET[1]);system(ls);x9yaaaa'", "sk_live_evalUserInput = eval", "kind: secret\ndata:\n  run: EvaluateUser1Input \n",
		"token = sk_live_DestroyAllUsers", "key = github_pat.destroyAllUsers99",
	} {
		if got, found := r.Text(text); got != text || len(found) > 0 {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestAWordIsNoSecretElsewhere has a password that is also a name in the code.
func TestAWordIsNoSecretElsewhere(t *testing.T) {
	got, found := redact.New().Text("# postgres://app:destroy1@db/x\nUser.destroy1\nx = 'destroy1'\n")
	if want := "# postgres://app:[redacted:url-password]@db/x\nUser.destroy1\nx = 'destroy1'\n"; got != want || len(found) != 1 {
		t.Errorf("got %q, %+v", got, found)
	}
}

// TestAWordBesideASecretStays has a name joined to a secret.
func TestAWordBesideASecretStays(t *testing.T) {
	for text, want := range map[string]string{
		"api_key = " + generic() + "/DestroyAll\n":                                            "api_key = [redacted:generic-api-key]/DestroyAll\n",
		"curl -u \"user:" + password() + "\" ; eval x\n":                                      "curl -u \"user:[redacted:curl-auth-user]\" ; eval x\n",
		"-----BEGIN PRIVATE KEY-----\n" + generic() + generic() + "\neval(x)\nDestroyUsers\n": "-----BEGIN PRIVATE KEY-----\n[redacted:private-key]\neval(x)\nDestroyUsers\n",
		"curl -H 'X-Api-Key: hunter2hunter2' h && eval x\n":                                   "curl -H 'X-Api-Key: [redacted:curl-auth-header]' h && eval x\n",
		"u = https://u:a%40" + password() + "@h":                                              "u = https://u:[redacted:url-password]@h",
	} {
		if got, _ := redact.New().Text(text); got != want {
			t.Errorf("%q became %q", text, got)
		}
	}
}
