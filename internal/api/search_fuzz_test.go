package api

import (
	"net/url"
	"testing"
	"unicode/utf8"

	"tenet/internal/llm/llmtest"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// textOf is the text of a rule that a highlight is in.
func textOf(r *rule.Rule, h wire.Highlight) string {
	switch h.Field {
	case "statement":
		return r.Statement
	case "rationale":
		return r.Rationale
	case "slug":
		return r.Slug
	case "tags":
		return r.Tags[h.Index]
	case "examples.input":
		return r.Examples[h.Index].Input
	case "source_refs.uri":
		return r.SourceRefs[h.Index].URI
	case "source_refs.section":
		return r.SourceRefs[h.Index].Section
	case "source_refs.quote":
		return r.SourceRefs[h.Index].Quote
	}
	panic("a highlight in " + h.Field)
}

// FuzzSearch looks for any text in every way: never a fault of the server, always an answer or a proper problem, and what is
// highlighted lies in the text.
func FuzzSearch(f *testing.F) {
	for _, seed := range []string{
		"customer data", `"customer data"`, `"unclosed`, "a AND (b OR NOT c)", "*", "^~-+!", "os.environ DATA-1", "🔒 encrypt 🔑", "顧客データ", "\u202eatad",
		"a\x00b", "\xff\xfe", "%00%ff", "2026-01-31T09:30:00Z", "https://example.com/gdpr#x", "role:manager/*", "§ 5.2 of the card policy", "GDPR Art. 32 (1) before June 2026", `cites:"Art. 32" in-force:2026-02-30`, "rule:data-1 made in 2026", "''';--", "İstanbul ſtrasse", " \u00a0\u2003",
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
			"context": {"facts": text, "scope": text}, "": nil,
		} {
			got := n.call("POST", searchPath+"/"+name, body)
			if name == "" {
				got = n.call("GET", searchPath+"?q="+url.QueryEscape(text), nil)
			}
			checkAnswer(t, got)
			if got.status >= 400 {
				continue
			}
			items := into[wire.FoundRules](got).Items // a superset of the others
			for _, item := range items {
				for _, h := range item.Highlights {
					of := textOf(&item.Rule, h)
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
