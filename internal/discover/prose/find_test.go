package prose_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"tenet/internal/blocks"
	"tenet/internal/discover/prose"
	"tenet/internal/rule"
)

func find(text string, g prose.Genre) []prose.Norm {
	matter, rest, first := blocks.FrontMatter(text)
	_ = matter
	found, _ := prose.Find(context.Background(), blocks.Markdown(rest, first, blocks.Sentences), g)
	return found
}

// Wording decides whether a sentence is a norm, and how much it binds.
func TestModality(t *testing.T) {
	const no = rule.Modality("")
	tests := []struct {
		text  string
		genre prose.Genre
		want  rule.Modality
	}{
		{"All changes must be reviewed by two people.", prose.Document, rule.Must},
		{"Visitors shall not enter the server room.", prose.Policy, rule.MustNot},
		{"No employee may accept cash.", prose.Policy, rule.MustNot},
		{"Account names may not be reserved.", prose.Policy, rule.MustNot},
		{"Sharing of passwords is strictly prohibited.", prose.Policy, rule.MustNot},
		{"We do not tolerate harassment.", prose.Policy, rule.MustNot},
		{"Employees are required to keep records.", prose.Policy, rule.Must},
		{"The owner is responsible for reviewing access.", prose.Policy, rule.Must},
		{"Only administrators may change roles.", prose.Policy, rule.Must},
		{"IT reviews all passwords, whether they are kept here or elsewhere.", prose.Policy, rule.Must},
		{"A booking can have at most five passengers.", prose.Policy, rule.Must},
		{"Engineers should rotate keys yearly.", prose.Policy, rule.Should},
		{"Use of private phones is discouraged.", prose.Policy, rule.Should},
		{"Contributors are allowed to merge their own changes.", prose.Policy, rule.May},
		{"- Use parameterised queries", prose.Instructions, rule.Must},
		{"- Never log secrets", prose.Instructions, rule.MustNot},
		{"- Don't mock the database", prose.Instructions, rule.MustNot},
		{"- No commented-out code", prose.Instructions, rule.MustNot},
		{"- Prefer composition over inheritance", prose.Instructions, rule.Should},
		{"- Avoid global state", prose.Instructions, rule.Should},
		{"- **Errors**: wrap them with context", prose.Instructions, rule.Must},
		{"- **Always run `make test`** before a commit", prose.Instructions, rule.Must},
		{"When a test fails, fix it first.", prose.Instructions, rule.Must},
		{"You use Python 3.12 for all services.", prose.Instructions, rule.Must},
		{"Query logic belongs in the store package.", prose.Instructions, rule.Must},
		{"Be concise.", prose.Instructions, rule.Must},

		{"The service must have been started by somebody.", prose.Policy, no},
		{"Must every change be reviewed?", prose.Policy, no},
		{"\"Personal data\" means any data that must be protected by law.", prose.Policy, no},
		{"This package holds the rules and what must be known about them.", prose.Instructions, no},
		{"The verdict is one of MUST, SHOULD and MAY.", prose.Policy, no},
		{"You don't need to ask first.", prose.Instructions, no},
		{"No approval is required.", prose.Policy, no},
		{"If you must write a long line, that is fine.", prose.Instructions, no},
		{"The test may fail now and then.", prose.Instructions, no},
		{"The cache should work after that.", prose.Instructions, no},
		{"- Test generation", prose.Instructions, no},
		{"- **Documentation** - Generating and updating docs", prose.Instructions, no},
		{"- `make lint` - Run the linters", prose.Instructions, no},
		{"Here are the guidelines you need to follow.", prose.Policy, no},
		{"Violating these terms may lead to a temporary ban.", prose.Policy, no},
		{"Pull requests for small changes are welcome.", prose.Policy, no},
		{"The generator will never modify these files.", prose.Policy, no},
		{"The reason we suggest this is simple.", prose.Policy, no},
		{"See the handbook for more.", prose.Policy, no},
		{"It reviews all passwords, whether they are kept here or elsewhere.", prose.Policy, no},
		{"Run the server with `make run`.", prose.Document, no},
		{"To build the project, run `make`.", prose.Instructions, no},
		{"The manual says \"you must never do this\" somewhere.", prose.Instructions, no},
		{"The parser reads the file and returns its tree.", prose.Instructions, no},
		{"## Glossary\n\nAn owner must answer for a rule.", prose.Policy, no},
		{"## Commands\n\n- Run the tests", prose.Instructions, no},
		{"```\nYou must not read this.\n```", prose.Instructions, no},
		{"text\n\n    you must not read code that is indented", prose.Instructions, no},
		{"<!-- You must not read this. -->", prose.Instructions, no},
		{"| Name | You must |\n|---|---|\n| a | b |", prose.Policy, no},
	}
	for _, test := range tests {
		found := find(test.text, test.genre)
		switch {
		case test.want == no && len(found) > 0:
			t.Errorf("%q: found %s %q (%s)", test.text, found[0].Modality, found[0].Statement, found[0].Method)
		case test.want != no && (len(found) != 1 || found[0].Modality != test.want):
			t.Errorf("%q: found %+v, want one norm, %s", test.text, found, test.want)
		}
	}
}

// One sentence with two duties is two norms, and each can stand alone.
func TestDuties(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{"Agents must log in daily and must not share their account.", []string{"Agents must log in daily", "Agents must not share their account."}},
		{"- Return errors; never log and continue", []string{"Return errors", "Never log and continue"}},
		{"- Keep functions short and do not repeat yourself", []string{"Keep functions short", "Do not repeat yourself"}},
		{"- Read the code and the docs", []string{"Read the code and the docs"}},
		{"Staff must not:\n\n- share passwords\n- leave doors open", []string{"Staff must not share passwords", "Staff must not leave doors open"}},
		{"## Don'ts\n\n- Use eval\n- Never skip tests", []string{"Do not use eval", "Never skip tests"}},
		{"**Never:**\n- Push to main\n\n**Always:**\n- Sign commits", []string{"Never push to main", "Always sign commits"}},
		{"- ❌ Commit secrets\n- ✅ Use the vault", []string{"Do not commit secrets", "Use the vault"}},
		{"Never:\n- a key is shared", []string{"Never: a key is shared"}},
		{"When committing:\n- Sign off; do not push", []string{"When committing: Sign off", "When committing: Do not push"}},
		{"When committing:\n\n- You must sign off.", []string{"When committing: You must sign off."}},
		{"Include the following information in a report:\n\n- the date\n- the place", []string{"Include the following information in a report: the date; the place"}},
		{"| Command | Note |\n|---|---|\n| `make build` | Do not run it in a session |", []string{"`make build`: Do not run it in a session"}},
		{"Keys must be [rotated](https://example.com/a_b) **every** year.", []string{"Keys must be rotated every year."}},
	}
	for _, test := range tests {
		var got []string
		for _, n := range find(test.text, prose.Instructions) {
			got = append(got, n.Statement)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%q:\n got %q\nwant %q", test.text, got, test.want)
		}
	}
}

// Exceptions stay with their rule, and so does the reason for it.
func TestExceptionsAndReasons(t *testing.T) {
	found := find("- Access must be logged, unless the system is a test system. Exceptions include emergency drills. This helps later audits.\n", prose.Policy)
	if len(found) != 1 {
		t.Fatalf("found %+v", found)
	}
	n := found[0]
	if want := []string{"Unless the system is a test system", "Exceptions include emergency drills."}; !slices.Equal(n.Exceptions, want) {
		t.Errorf("exceptions %q, want %q", n.Exceptions, want)
	}
	if n.Rationale != "This helps later audits." {
		t.Errorf("rationale %q", n.Rationale)
	}
}

// How much a violation matters is told by the wording, the heading and what it is about.
func TestSeverity(t *testing.T) {
	for text, want := range map[string]rule.Severity{
		"Names should be short.":    rule.Low,
		"Names must be short.":      rule.Medium,
		"Names must not be reused.": rule.High,
		"Names MUST be short.":      rule.High,
		"Passwords must be long.":   rule.High,
		"Under no circumstances may staff accept cash; it must be refused.": rule.Critical,
		"# Security\n\nNames must be short.":                                rule.High,
	} {
		found := find(text, prose.Policy)
		if len(found) == 0 || found[0].Severity != want {
			t.Errorf("%q: found %+v, want severity %s", text, found, want)
		}
	}
}

// Lines are those of the file, whatever its line ends, marks and front matter.
func TestLines(t *testing.T) {
	text := "\ufeff---\ntitle: x\n---\n# One\n\nSome text. Keys\nmust be rotated\nevery year. More.\n\n> A visitor must sign in.\n\n" +
		"1. First\n   - Doors must\n     be locked.\n\nTitle\n=====\n\nLogs shall be kept.\n"
	want := []struct {
		line, end int
		quote     string
		section   string
	}{
		{6, 8, "Keys\nmust be rotated\nevery year.", "One"},
		{10, 10, "A visitor must sign in.", "One"},
		{13, 14, "Doors must\nbe locked.", "One"},
		{19, 19, "Logs shall be kept.", "Title"},
	}
	for _, ends := range []string{"\n", "\r\n"} {
		decoded, ok := blocks.Decode([]byte(strings.ReplaceAll(text, "\n", ends)))
		if !ok {
			t.Fatal("not decoded")
		}
		found := find(decoded, prose.Policy)
		if len(found) != len(want) {
			t.Fatalf("found %+v", found)
		}
		for i, w := range want {
			n := found[i]
			if n.Line != w.line || n.EndLine != w.end || n.Quote != w.quote || strings.Join(n.Section, "/") != w.section {
				t.Errorf("%q: found %d-%d %q in %q, want %+v", ends, n.Line, n.EndLine, n.Quote, n.Section, w)
			}
		}
	}
}

// HTML is read as it is shown, with the lines of its source.
func TestHTML(t *testing.T) {
	page := "<!DOCTYPE html>\n<html><head><title>You must not read this</title>\n<style>p { must: not }</style></head>\n<body>\n<h2>Access\nrules</h2>\n" +
		"<p>Every visitor\nmust sign&nbsp;in. <b>Staff</b> <!-- must -->are\nrequired to ask.</p><p>Staff must not:</p>\n<ul><li>share\nkeys<li>smoke</ul>\n" +
		"<script>\n\"You must not read this.\"\n</script>\n<table><tr><td>Doors<td>must be locked</tr></table>\n"
	var got []string
	list, _, err := blocks.HTML(page, blocks.Sentences)
	if err != nil {
		t.Fatal(err)
	}
	found, _ := prose.Find(context.Background(), list, prose.Policy)
	for _, n := range found {
		got = append(got, strings.Join([]string{strings.Join(n.Section, "/"), string(n.Modality), n.Statement, strings.Repeat("|", n.Line) + strings.Repeat("+", n.EndLine-n.Line)}, " "))
	}
	want := []string{
		"Access rules MUST Every visitor must sign in. |||||||+",
		"Access rules MUST Staff are required to ask. ||||||||+",
		"Access rules MUST_NOT Staff must not share keys ||||||||||+",
		"Access rules MUST_NOT Staff must not smoke |||||||||||",
		"Access rules MUST Doors: must be locked |||||||||||||||",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A search that is called off ends with what it has.
func TestFindEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if found, _ := prose.Find(ctx, blocks.Markdown("Doors must be locked.", 1, blocks.Sentences), prose.Policy); len(found) != 0 {
		t.Errorf("found %+v", found)
	}
}

// Tags say what a norm is about.
func TestTags(t *testing.T) {
	found := find("# Testing\n\nEvery commit must keep the logs free of secrets.", prose.Policy)
	if want := []string{"git", "logging", "security", "testing"}; len(found) != 1 || !slices.Equal(found[0].Tags(""), want) {
		t.Errorf("found %+v, want tags %v", found, want)
	}
}
