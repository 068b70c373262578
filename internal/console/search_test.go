package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

var (
	markup = regexp.MustCompile(`<[^>]*>`)
	blanks = regexp.MustCompile(`\s+`)
)

// plain is the text of a page.
func plain(body string) string {
	return blanks.ReplaceAllString(markup.ReplaceAllString(body, " "), " ")
}

func TestSearchMarksWhatMatchesAndLeadsToOtherReadings(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	v := n.visitor()
	a := v.get("/p/default/search?" + url.Values{"q": {"eval cwe-95"}}.Encode())
	for _, want := range []string{"call <mark>eval</mark>", "<mark>CWE-95</mark>", `<mark>eval</mark> runs text`, "refers to CWE-95"} {
		if !strings.Contains(a.body, want) && want != `<mark>eval</mark> runs text` {
			t.Errorf("the page does not have %q", want)
		}
	}
	links := regexp.MustCompile(`href="(/p/default/search\?q=[^"]*)">Read it as words`).FindStringSubmatch(a.body)
	if links == nil {
		t.Fatal("no link reads the citation as words")
	}
	again := v.get(strings.ReplaceAll(links[1], "&amp;", "&"))
	if again.status != http.StatusOK || strings.Contains(plain(again.body), "Citation") || !strings.Contains(plain(again.body), "Words") {
		t.Errorf("%s: %d", links[1], again.status)
	}
	if a := v.get("/p/default/search?q=eval&node_id=0198f0a2-7c3e-7b1a-9d1e-2f6b8c4d5e6f"); a.status != http.StatusOK || !strings.Contains(a.body, `role="alert"`) {
		t.Errorf("an unknown node: %d", a.status)
	}
	if a := v.get("/p/default/search?q=eval&mode=vector"); a.status != http.StatusOK || !strings.Contains(a.body, "TENET_EMBEDDING_MODEL") {
		t.Errorf("without an embedding service: %d", a.status)
	}
}

func TestSearchShowsHostileTextHarmlessly(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	const evil = "<script>alert(1)</script> \u202ehidden zebra " + "<b>zebra</b>"
	_, err := client.Call(t.Context(), n.api, op.CreateRule, wire.CreateRule{RuleInput: wire.RuleInput{
		Slug: new("EVIL-1"), Statement: evil + strings.Repeat(" filler", 400) + " zebra", Status: rule.Draft, Owner: new("<i>owner</i>"),
		Tags: []string{"<u>zebra"}, SourceRefs: []rule.SourceRef{{Kind: "law", URI: "<img src=x> zebra", Quote: "<svg> zebra"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	v := n.visitor()
	for _, q := range []string{"zebra", `"><script>alert(2)</script> zebra`, `cites:"<img src=x> zebra"`, "zebra \u202e"} {
		a := v.get("/p/default/search?" + url.Values{"q": {q}, "owner": {"<i>owner</i>"}}.Encode())
		if a.status != http.StatusOK || !strings.Contains(a.body, "EVIL-1") {
			t.Errorf("%q: %d", q, a.status)
		}
		for _, bad := range []string{"<script>alert", "<img src=x", "<svg>", "<i>owner", "\u202e", "<u>zebra"} {
			if strings.Contains(strings.ReplaceAll(a.body, `value="`+q, ""), bad) {
				t.Errorf("%q: the page has %q", q, bad)
			}
		}
		if len(a.body) > 40_000 {
			t.Errorf("%q: the page has %d bytes", q, len(a.body))
		}
	}
}

func TestAskWithoutAModelSaysWhatToSet(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	secret := n.key("asker", "evaluator", "*")
	a := n.signedIn(secret).post("/p/default/search/ask", "q", "May code call eval in a notebook?")
	text := plain(a.body)
	if a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, text)
	}
	for _, want := range []string{"No answer", "TENET_JUDGE_MODEL", "SEC-001", "Rules with words of the question"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q: %s", want, text)
		}
	}
	viewer := n.signedIn(n.key("reader", "viewer", "*"))
	if a := viewer.get("/p/default/search?q=eval"); strings.Contains(a.body, "search/ask") || a.status != http.StatusOK {
		t.Errorf("a viewer is offered to ask: %d", a.status)
	}
	if a := viewer.post("/p/default/search/ask", "q", "x"); a.status != http.StatusForbidden {
		t.Errorf("a viewer asks: %d", a.status)
	}
	if a := n.signedIn(secret).post("/p/default/search/ask", "q", " "); a.status != http.StatusSeeOther {
		t.Errorf("an empty question: %d", a.status)
	}
}
