package api

import (
	"net/url"
	"testing"
	"unicode/utf8"

	"tenet/internal/llm/llmtest"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// FuzzSearch looks for any text in every way: never a fault of the server, always an answer or a proper problem, and what is
// highlighted lies in the text.
func FuzzSearch(f *testing.F) {
	for _, seed := range []string{
		"customer data", `"customer data"`, `"unclosed`, "a AND (b OR NOT c)", "*", "^~-+!", "os.environ DATA-1", "🔒 encrypt 🔑", "顧客データ", "\u202eatad",
		"a\x00b", "\xff\xfe", "%00%ff", "2026-01-31T09:30:00Z", "https://example.com/gdpr#x", "role:manager/*", "''';--", "İstanbul ſtrasse", " \u00a0\u2003",
	} {
		f.Add(seed)
	}
	n := newNode(f)
	seedSearch(n)
	e := &llmtest.Embedder{}
	n.equip(e, nil)
	n.embed(rule.DefaultProject, e)
	f.Fuzz(func(t *testing.T, text string) {
		n.t = t
		for name, body := range map[string]fields{
			"fulltext": {"query": text}, "vector": {"query": text}, "hybrid": {"query": text, "scope": text}, "category": {"tags": []string{text}, "scope": text},
			"context": {"facts": text, "scope": text},
		} {
			got := n.call("POST", searchPath+"/"+name, body)
			checkAnswer(t, got)
			if got.status >= 400 {
				continue
			}
			for _, item := range into[wire.RuleSearchPage](got).Items {
				for _, h := range item.Highlights {
					of := item.Rule.Statement
					if h.Field == "rationale" {
						of = item.Rule.Rationale
					}
					if h.Start < 0 || h.Start >= h.End || h.End > utf8.RuneCountInString(of) {
						t.Fatalf("%s: highlight %+v of %q", name, h, of)
					}
				}
			}
		}
		escaped := url.QueryEscape(text)
		for _, target := range []string{
			"temporal?as_of=" + escaped, "temporal?as_of=2026-03-01&q=" + escaped, "citation?source=" + escaped, "conflict?rule_id=" + escaped,
			"subject?role=" + escaped + "&location=" + escaped,
		} {
			checkAnswer(t, n.call("POST", searchPath+"/"+target, nil))
		}
	})
}

// FuzzInstant reads any time: what is read lies in the years that can be written.
func FuzzInstant(f *testing.F) {
	for _, seed := range []string{"2026-01-31", "20260131", "2026-01-31T09:30", "2026-01-31T09:30:00.123456789+01:00", "2026-01-31T09:30:00 01:00", "T", "9999-12-31T23:59:59-23:59", "0000-00-00", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		at, err := parseInstant(s)
		if err != nil {
			return
		}
		if _, err := at.MarshalText(); err != nil || at.Location().String() != "UTC" {
			t.Fatalf("%q is %v: %v", s, at, err)
		}
	})
}
