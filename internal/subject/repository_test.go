package subject

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tenet/internal/proptest"
	"tenet/internal/rule"
)

func TestRepositoryGlobs(t *testing.T) {
	for _, c := range []struct{ glob, yes, no string }{
		{"acme/billing", "acme/billing Acme/billing acme/billing.git github.com/acme/billing https://github.com/Acme/Billing.git git@gitlab.com:acme/billing ssh://git@github.com:22/acme/billing", "acme/bill x/acme/billing github.com/x/acme/billing"},
		{"github.com/acme/billing", "github.com/acme/billing https://github.com/acme/billing acme/billing git@work:acme/billing", "gitlab.com/acme/billing billing x/billing"},
		{"https://github.com/Acme/*.git", "github.com/acme/x acme/y", "gitlab.com/acme/x acme/a/b"},
		{"acme/*", "acme/pay github.com/acme/pay ACME/PAY", "other/pay acme/a/b"},
		{"ACME/**", "acme/pay acme/a/b github.com/acme/a/b", "other/pay"},
		{"billing", "acme/billing github.com/acme/billing billing", "acme/bill"},
		{"billing-*", "acme/billing-api", "billing-api/x"},
		{"/billing", "billing", "acme/billing"},
		{"github.com", "github.com/a/b a/b", "gitlab.com/a/b"},
		{"github.com/*", "github.com/a a", "github.com/a/b a/b"},
		{"{github.com/Acme,other}/x", "github.com/acme/x acme/x other/x gitlab.com/other/x", "gitlab.com/acme/x"},
		{"[Aa]cme/x", "acme/x ACME/x", "bcme/x"},
		{"acme/", "acme/x acme/x/y github.com/acme/x", "acmes/x"},
		{"acme/billing/", "acme/billing acme/billing/x", "acme/bill"},
		{"*", "a/b github.com/a/b", ""},
		{"*/acme/x", "github.com/acme/x", "acme/x"},
		{"**/x", "x a/x gitlab.com/a/b/x", "a/y github.com/a/b/x"},
		{`acme\pay-*`, "acme/pay-1", "acme/x"},
		{"my.group/sub/project", "my.group/sub/project gitlab.com/my.group/sub/project", "other/sub/project"},
		{"{a,b}.example.org/x/y", "a.example.org/x/y x/y", "c.example.org/x/y"},
	} {
		g, err := CompileRepositories([]string{c.glob})
		if err != nil {
			t.Errorf("%s: %v", c.glob, err)
			continue
		}
		for name := range strings.FieldsSeq(c.yes) {
			if ok, _ := g.Match(rule.ParseRepository(name)); !ok {
				t.Errorf("%s does not match %s", c.glob, name)
			}
		}
		for name := range strings.FieldsSeq(c.no) {
			if ok, _ := g.Match(rule.ParseRepository(name)); ok {
				t.Errorf("%s matches %s", c.glob, name)
			}
		}
	}
	g, _ := CompileRepositories([]string{"github.com/acme/x"})
	if _, certain := g.Match(rule.ParseRepository("acme/x")); certain {
		t.Error("a name without a host is certain to be on github.com")
	}
	if _, certain := g.Match(rule.ParseRepository("github.com/acme/x")); !certain {
		t.Error("the name itself is not certain")
	}
	for _, bad := range []string{"", " ", "!acme/x", "acme/[x", "a\x00", "{a"} {
		if _, err := CompileRepositories([]string{bad}); rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("%q: error %v, want invalid", bad, err)
		}
	}
}

// All spellings of a repository match what its name matches.
func TestPropertySpellingsMatchAlike(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z][a-z0-9-]{0,5}`)
		host := rapid.SampledFrom([]string{"github.com", "gitlab.com", "git.example.org"}).Draw(t, "host")
		owner, name := word.Draw(t, "owner"), word.Draw(t, "name")
		path := owner + "/" + name
		spellings := []string{
			host + "/" + path, "https://" + host + "/" + path, "https://u:p@" + host + "/" + path + ".git", "git@" + host + ":" + path + ".git", "ssh://git@" + host + ":22/" + path,
			strings.ToUpper(host + "/" + path), host + "//" + owner + "/./" + name + "/", "git://" + host + "/" + path + ".git/",
		}
		glob := rapid.SampledFrom([]string{path, owner + "/*", "*", "*/" + name, name, host + "/" + path, "https://" + host + "/" + path + ".git", strings.ToUpper(path), owner + "/**", "{" + path + ",x/y}"}).Draw(t, "glob")
		g, err := CompileRepositories([]string{glob})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range append(spellings, path, path+".git", "/"+path, strings.ToUpper(path)) {
			if ok, _ := g.Match(rule.ParseRepository(s)); !ok {
				t.Errorf("%s does not match %s", glob, s)
			}
		}
		for _, other := range []string{owner + "x/" + name + "x", host + "/" + owner + "x/" + name + "x"} {
			if ok, _ := g.Match(rule.ParseRepository(other)); ok && glob != "*" {
				t.Errorf("%s matches %s", glob, other)
			}
		}
	})
}
