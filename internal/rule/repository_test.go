package rule_test

import (
	"strings"
	"testing"

	"tenet/internal/rule"
)

func TestSpellingsOfARepositoryAreOneName(t *testing.T) {
	for want, spellings := range map[string][]string{
		"acme/billing": {
			"acme/billing", "Acme/Billing", "acme/billing.git", "/acme/billing/", "./acme//billing", `acme\billing`, " acme/billing ", "acme/billing.git/",
			"git@work:acme/billing.git", "ssh://git@localhost:2222/acme/billing", "file:///acme/billing.git", "acme/./billing", "acme%2Fbilling", "ACME/BILLING.GIT", "acme/../acme/billing", "x/../../acme/billing",
			"work:acme/billing", "file:///acme/billing?ref=main",
		},
		"github.com/acme/billing": {
			"github.com/acme/billing", "GitHub.com/Acme/billing", "https://github.com/acme/billing", "https://github.com/acme/billing.git", "http://github.com/acme/billing/",
			"https://user:secret@github.com/acme/billing.git", "git@github.com:acme/billing.git", "git@github.com:/acme/billing", "ssh://git@github.com:22/acme/billing",
			"ssh://git@github.com/acme/billing.git", "git://github.com/acme/billing", "git+ssh://git@github.com/acme/billing", "github.com:acme/billing",
			"https://www.github.com/acme/billing#readme", "ssh://git@ssh.github.com:443/acme/billing.git", "ssh://git@github.com:acme/billing", "git@github.com/acme/billing",
			"https://github.com:443//acme//billing.git//", "HTTPS://GITHUB.COM/ACME/BILLING", "git@github.com:443/acme/billing", "https://github.com/acme/billing?tab=readme#x", "https://me:pw@github.com/acme/billing.git?x=1",
			"https://github.com/acme/billing/tree/main", "https://github.com/Acme/billing/pull/5/files?w=1", "github.com/acme/billing/blob/main/a/b.go#L3", "https://github.com/acme/billing/blob/main/app/[id]/page.tsx", "https://github.com/acme/billing/tree/feature{1}", "https://github.com/acme/billing.git/info/refs",
		},
		"github.com/acme/billing/*": {"github.com/acme/billing/*"},
		"acme/billing/tree/main":    {"acme/billing/tree/main"},
		"git.example.org/team/app":  {"git.example.org/team/app", "ssh://git@git.example.org:7999/team/app.git", "https://git.example.org/team/app", "git@git.example.org:team/app.git", "https://git.example.org/team/app/-/merge_requests/5"},
		"ghe.example.com/org/repo": {
			"https://ghe.example.com/org/repo/tree/main", "https://ghe.example.com/Org/repo/pull/5", "https://ghe.example.com/org/repo/blob/main/[id].tsx", "https://ghe.example.com/org/repo/pull/5/files", "http://me@ghe.example.com:8443/org/repo/blob/main/a/b.go#L3",
			"https://ghe.example.com/org/repo.git/blame/main/x", "https://ghe.example.com/org/repo/commits/v1?after=x", "https://ghe.example.com/org/repo/raw/main/tree/x",
		},
		"ghe.example.com/a/b/c":           {"https://ghe.example.com/a/b/c/blob/main/x", "https://ghe.example.com/a/b/c/-/blob/main/x", "https://ghe.example.com/a/b/c"},
		"ghe.example.com/org/tree/main":   {"https://ghe.example.com/org/tree/main"},
		"ghe.example.com/org/repo/tree":   {"https://ghe.example.com/org/repo/tree"},
		"ghe.example.com/org/repo/pull/x": {"https://ghe.example.com/org/repo/pull/x", "ssh://git@ghe.example.com/org/repo/pull/x"},
		"ghe.example.com/a/b/pulls/5":     {"https://ghe.example.com/a/b/pulls/5"},
		"ghe.example.com/a/b/tree/c":      {"https://ghe.example.com/a/b/tree/c.git", "ssh://git@ghe.example.com/a/b/tree/c", "git@ghe.example.com:a/b/tree/c.git", "ghe.example.com/a/b/tree/c"},
		"gitlab.com/a/b/c":                {"gitlab.com/a/b/c", "git@gitlab.com:a/b/c.git", "https://gitlab.com/a/b/c/-/tree/main", "https://altssh.gitlab.com:443/a/b/c"},
		"bitbucket.org/team/app":          {"https://me@bitbucket.org/team/app.git", "git@altssh.bitbucket.org:team/app"},
		"dev.azure.com/org/proj/repo":     {"https://org@dev.azure.com/org/proj/_git/repo", "git@ssh.dev.azure.com:v3/org/proj/repo", "https://org.visualstudio.com/proj/_git/repo", "https://org.visualstudio.com/DefaultCollection/Proj/_git/Repo"},
		"dev.azure.com/org/repo/repo":     {"https://dev.azure.com/org/_git/repo"},
		"dev.azure.com/org/my app/api":    {"https://dev.azure.com/org/My%20App/_git/api"},
		"my.group/project":                {"my.group/project", "My.Group/Project.git"},
		"acme/v1.2":                       {"acme/v1.2"},
		"acme/strasse-ä":                  {"Acme/STRASSE-Ä"},
		"":                                {"", " ", "/", ".git", "./"},
	} {
		for _, s := range spellings {
			if got := rule.CleanRepository(s); got != want {
				t.Errorf("%q is %q, want %q", s, got, want)
			}
		}
	}
}

// An alias of an SSH configuration says nothing about the server, so the name has no host and rules for every host apply.
func TestAnAliasIsNoHost(t *testing.T) {
	for _, s := range []string{"git@github.com-work:acme/billing.git", "work:acme/billing", "git@10.0.0.7:acme/billing", "ssh://git@gitserver/acme/billing"} {
		if r := rule.ParseRepository(s); r.Host != "" || !strings.HasSuffix(r.Path, "acme/billing") {
			t.Errorf("%q is %+v", s, r)
		}
	}
}

func TestSameRepository(t *testing.T) {
	name := rule.ParseRepository
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"acme/billing", "https://github.com/Acme/billing.git", true},
		{"git@github.com:acme/billing", "github.com/acme/billing", true},
		{"gitlab.com/acme/billing", "github.com/acme/billing", false},
		{"acme/billing", "acme/bill", false},
	} {
		if got := name(c.a).Same(name(c.b)); got != c.want || name(c.b).Same(name(c.a)) != got {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
}

func TestRepositoryGlobs(t *testing.T) {
	for in, want := range map[string]string{
		"acme/*": "acme/*", "Acme/*": "acme/*", "https://github.com/acme/*": "github.com/acme/*", "git@github.com:acme/*.git": "github.com/acme/*", "acme/": "acme/",
		"/billing": "/billing", "./billing": "/billing", "billing": "billing", "*": "*", "**": "**", "github.com": "github.com/**", "github.com/": "github.com/**",
		"{Acme,Other}/*": "{acme,other}/*", `acme\pay-*`: "acme/pay-*", "*.example.org/acme/x": "*.example.org/acme/x", "https://github.com/acme/pay-?": "github.com/acme/pay-?",
		"acme/**/": "acme/**", "https://ghe.example.com/org/repo/tree/*": "ghe.example.com/org/repo/tree/*", "https://ghe.example.com/org/repo/tree/main": "ghe.example.com/org/repo",
	} {
		got := rule.CleanRepositoryGlob(in)
		if got != want || rule.CleanRepositoryGlob(got) != got {
			t.Errorf("%q is %q and then %q, want %q", in, got, rule.CleanRepositoryGlob(got), want)
		}
	}
}

// FuzzRepository: the normal form is its own normal form, and no spelling of a name changes what it is.
func FuzzRepository(f *testing.F) {
	for _, s := range []string{
		"acme/billing", "https://github.com/Acme/x.git", "git@github.com:a/b", "ssh://git@h:22/a/b.git", `a\b`, "a//b/./c/", "https://dev.azure.com/o/_git/r", "x.visualstudio.com/a/_git/b",
		"%2541/b", "K/ſ", "ssh://x/www.github.com/a/b", "a@b.cc:1/2", "://", "git.git.git", "https://x/https://y/z", "a:b@c/d", "{a,b}/*", "*.co/a/b", "İ/x", "./.git", "a /b. git",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 300 {
			return
		}
		clean := rule.CleanRepository(s)
		if again := rule.CleanRepository(clean); again != clean {
			t.Errorf("%q is %q and then %q", s, clean, again)
		}
		for _, other := range []string{" " + s + " ", clean + "/", clean + ".git", strings.ToUpper(clean)} {
			if other == clean+".git" && (clean == "" || strings.HasSuffix(clean, "/")) {
				continue
			}
			if isASCII(clean) && !strings.Contains(clean, "%") && rule.CleanRepository(other) != clean {
				t.Errorf("%q is %q, but %q is %q", s, clean, other, rule.CleanRepository(other))
			}
		}
		glob := rule.CleanRepositoryGlob(s)
		if again := rule.CleanRepositoryGlob(glob); again != glob {
			t.Errorf("the glob %q is %q and then %q", s, glob, again)
		}
	})
}

func isASCII(s string) bool { return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 }) }

func TestSpellingsOfAScopeAreOne(t *testing.T) {
	for want, spellings := range map[string][]string{
		"finance/payments": {
			"finance/payments", "Finance/Payments", "./finance/payments", "/finance//payments/", `finance\payments`, "finance.payments", "finance:payments", "Finance > Payments",
			" finance / payments ", "finance/payments/**", "finance/./payments", "FINANCE/PAYMENTS/.", "fin\u200bance/payments\ufeff", "finance/\u2060/payments",
		},
		"finance/*": {"finance/*", "finance/pay*"}, "*": {"*", "**", "**/x", "/*/"}, "": {"", "/", ".", " // "}, "a/*/c": {"a/*/c"}, "öffentlich": {"Öffentlich"}, "a b/c_d-e": {"A B/C_d-e"},
	} {
		for _, s := range spellings {
			if got := rule.CleanScope(s); got != want {
				t.Errorf("%q is %q, want %q", s, got, want)
			}
		}
	}
	for _, stored := range []string{"Finance/Payments", "finance//payments", `.\finance\payments`} {
		if !rule.ScopeApplies([]string{stored}, "finance/payments/eu") || rule.ScopeApplies([]string{stored}, "finance") {
			t.Errorf("a stored rule of scope %q does not hold as finance/payments does", stored)
		}
		if !rule.ScopeFinds([]string{stored}, "FINANCE/") {
			t.Errorf("a filter does not find the stored scope %q", stored)
		}
	}
}

func FuzzScope(f *testing.F) {
	for _, s := range []string{"finance/payments", "./A//B/", `a\b`, "a.b", "*", "a/**/b", "pay*", "İ", " / ", "K/ſ", "a > b", "**"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		clean := rule.CleanScope(s)
		if again := rule.CleanScope(clean); again != clean {
			t.Errorf("%q is %q and then %q", s, clean, again)
		}
		if strings.Contains(clean, "//") || strings.Trim(clean, "/ ") != clean {
			t.Errorf("%q is %q", s, clean)
		}
		for _, other := range []string{"./" + s, s + "/", strings.ReplaceAll(s, "/", "//"), strings.ReplaceAll(s, "/", `\`), " " + s} {
			if got := rule.CleanScope(other); got != clean {
				t.Errorf("%q is %q, but %q is %q", s, clean, other, got)
			}
		}
		if s != "" && !strings.Contains(clean, "*") && !rule.ScopeApplies([]string{s}, clean+"/below") {
			t.Errorf("a rule of scope %q does not hold in %q", s, clean)
		}
	})
}

func TestPathGlobsAreOneForm(t *testing.T) {
	for in, want := range map[string]string{
		"./src/**": "src/**", "././src/**": "src/**", "src//a/*.go": "src/a/*.go", "src/./a": "src/a", `src\gen\**`: "src/gen/**", `src\app\*.go`: "src/app/*.go", `.\src\gen\*`: "src/gen/*",
		`src/\[id\]/x`: `src/\[id\]/x`, `\*.md`: `\*.md`, "./main.go": "/main.go", "/main.go": "/main.go", "src/": "src/", "*.go": "*.go", "SRC/**": "SRC/**", `src\**`: `src\**`, "./": "./", `a/[\w]/b\c`: `a/[\w]/b/c`,
		".//src/x": "src/x",
	} {
		got := rule.CleanGlob(in)
		if got != want || rule.CleanGlob(got) != got {
			t.Errorf("%q is %q and then %q, want %q", in, got, rule.CleanGlob(got), want)
		}
	}
	for in, want := range map[string]string{`src\**`: `src\** src/**`, `secrets\.env`: `secrets\.env secrets/.env`, "./a/**": "a/**", `\*.md`: `\*.md`} {
		if got := strings.Join(rule.GlobReadings([]string{in}), " "); got != want {
			t.Errorf("%q reads %q, want %q", in, got, want)
		}
	}
}

func FuzzGlob(f *testing.F) {
	for _, s := range []string{"./src/**", `src\a\**`, `a\[b\]`, "//", "./", `\`, `a\`, "././/x", `[\a]`, "./.git/*", `.\a`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		clean := rule.CleanGlob(s)
		if again := rule.CleanGlob(clean); again != clean {
			t.Errorf("%q is %q and then %q", s, clean, again)
		}
	})
}
