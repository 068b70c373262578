package corpus_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

func says(n int, statement, rationale string) store.RuleState {
	return newRule(n, func(r *rule.Rule) { r.Statement, r.Rationale = statement, rationale })
}

func names(hits []corpus.Hit) string {
	var out []string
	for _, h := range hits {
		out = append(out, h.Rule.Slug)
	}
	return strings.Join(out, " ")
}

func library(t testing.TB) *corpus.View {
	return view(t,
		says(1, "Passwords must not be logged.", "Logs are read by many people."),
		says(2, "Read settings with os.environ only.", ""),
		says(3, "The environment must be described in snake_case names.", "Names such as user_name are searched for."),
		says(4, "個人情報を記録してはならない。", ""),
		newRule(5, func(r *rule.Rule) {
			r.Slug = "SEC-003"
			r.Statement = "Keys rotate."
			r.Tags = []string{"Cryptography", "storage of keys"}
		}),
		says(6, "Retention of personal data must end.", "Data retention is limited by law; the data of persons is deleted."),
		says(7, "Personal opinions need no retention.", "What is data to one is noise to another."),
		says(8, "Le café est fermé.", ""),
		says(9, "Invoices must not be paid twice.", "Paying must be checked, and not be repeated."),
	)
}

func TestKeywordFinds(t *testing.T) {
	v := library(t)
	for _, tt := range []struct{ name, query, want string }{
		{"forms of a word", "logging password.", "R-1"},
		{"an identifier as a whole first, then its parts", "os.environ.", "R-2 R-3"},
		{"a part of an identifier", "user.", "R-3"},
		{"a snake case name", "user_name.", "R-3"},
		{"a slug, in any letter case", "sec-003", "SEC-003"},
		{"a part of a slug", "sec.", "SEC-003"},
		{"a tag", "cryptography.", "SEC-003"},
		{"two characters of a script without spaces", "情報", "R-4"},
		{"one character of it", "録", "R-4"},
		{"characters that do not stand together", "録情", ""},
		{"letters without their accents", "cafe ferme.", "R-8"},
		{"the beginning of the last word", "crypt", "SEC-003"},
		{"not the beginning of a word that has ended", "crypt ", ""},
		{"not the beginning of an earlier word", "crypt zebra.", ""},
		{"a phrase", `"personal data"`, "R-6"},
		{"a phrase in other quotation marks", "“retention of personal”", "R-6"},
		{"a phrase in another form of its words", `"personal retention"`, ""},
		{"small words count in a phrase", `"must not be paid"`, "R-9"},
		{"a phrase within one text only", `"end data"`, ""},
		{"a phrase through an identifier", `"settings with os environ only"`, "R-2"},
		{"a phrase with an identifier", `"environ only"`, "R-2"},
		{"a phrase within one tag only", `"cryptography storage"`, ""},
		{"a tag of two words", `"storage of keys"`, "SEC-003"},
		{"a phrase and a word", `"personal data" zebra`, "R-6"},
		{"two phrases", `"personal data" "noise to another"`, ""},
		{"a mark without its match", `"personal opin`, "R-7 R-6"},
		{"small words alone", "not be.", "R-9 R-1 R-3"},
		{"nothing", "", ""},
		{"only signs", `"" -- !! ()`, ""},
		{"an unknown word", "zebra", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			hits, total := v.Keyword(tt.query, corpus.Filter{}, 0, 10)
			if got := names(hits); got != tt.want || total != len(hits) {
				t.Errorf("%q finds %q of %d, want %q", tt.query, got, total, tt.want)
			}
		})
	}
}

func TestKeywordRank(t *testing.T) {
	for _, tt := range []struct{ name, query, first, second string }{
		{"the statement counts more than the rationale", "rotation.", "Rotation of keys is described elsewhere here.", "Other matters are to be described elsewhere here."},
		{"words that stand together count more", "sealed envelopes.", "Keep sealed envelopes under the table of the room.", "Keep envelopes under the table of the sealed room."},
		{"rare words count more", "cat zebra.", "A zebra.", "A cat."},
		{"a whole word counts more than a beginning", "log", "The log.", "The logistics."},
		{"a short text counts more than a long one", "seal.", "Seal it.", "Seal it, and then do all the other things that are written down in the long list of things."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := view(t,
				says(1, tt.second, "The rotation is why."), says(2, tt.first, "Nothing is why."),
				says(3, "A cat of ours.", ""), says(4, "A cat of theirs.", ""),
			)
			hits, _ := v.Keyword(tt.query, corpus.Filter{}, 0, 10)
			if len(hits) < 2 || hits[0].Rule.Slug != "R-2" || hits[0].Score <= hits[1].Score {
				t.Errorf("%q finds %s, want R-2 first with a higher score", tt.query, names(hits))
			}
		})
	}
}

func TestKeywordTakesAnyText(t *testing.T) {
	v := library(t)
	for _, query := range []string{
		`"`, `""`, `"""`, `" "`, "+-*/()[]{}:~^", "AND OR NOT", "NULL'; DROP TABLE rules;--", "\x00", "a\x00b", "\xff\xfe\xfd", "🔐", "🔐log", "\\", "%", "_", ".", "-",
		strings.Repeat("password ", 250), strings.Repeat(`"a" `, 500), strings.Repeat("個", 2000), strings.Repeat("x", 2000), strings.Repeat("a.b", 700),
		strings.Repeat(`"`, 2001), "e\u0301\u0301\u0301",
	} {
		hits, total := v.Keyword(query, corpus.Filter{}, 0, 10)
		if len(hits) > total {
			t.Errorf("%.20q: %d hits of %d", query, len(hits), total)
		}
		for _, h := range hits {
			corpus.Highlight(query, h.Entry)
		}
	}
	if hits, total := v.Keyword("password", corpus.Filter{}, -5, -1); len(hits) != 0 || total != 1 {
		t.Errorf("a page of less than nothing has %d hits of %d, want 0 of 1", len(hits), total)
	}
	if hits, total := v.Hybrid("password", nil, corpus.Filter{}, math.MaxInt, math.MaxInt); len(hits) != 0 || total != 1 {
		t.Errorf("the farthest page has %d hits of %d, want 0 of 1", len(hits), total)
	}
	if hits, total := v.Keyword("password", corpus.Filter{}, 10, 10); len(hits) != 0 || total != 1 {
		t.Errorf("the page behind the last has %d hits of %d, want 0 of 1", len(hits), total)
	}
}

// many is rules of few different words, so that there are many hits, many of them with equal scores.
func many(n int) []store.RuleState {
	random := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("audit backup cache deploy encrypt firewall gateway hash invoice journal")
	var list []store.RuleState
	for i := range n {
		list = append(list, newRule(i, func(r *rule.Rule) {
			r.Statement = words[random.IntN(10)] + " " + words[random.IntN(10)] + " " + words[random.IntN(10)]
			r.Severity = rule.Severities[random.IntN(4)]
			r.Modality = rule.Modalities[random.IntN(5)]
			r.Status = rule.Statuses[random.IntN(6)]
			r.Enforcement = rule.Enforcements[random.IntN(3)]
			r.Scope = [][]string{{}, {"a"}, {"a/b"}, {"a/b/c", "d"}, {"*"}}[random.IntN(5)]
			r.Tags = [][]string{{}, {"Red"}, {"blue", "RED"}}[random.IntN(3)]
			r.Owner = []string{"", "team"}[random.IntN(2)]
			if random.IntN(2) == 0 {
				r.Check = &rule.Check{CEL: "true"}
			}
		}))
	}
	return list
}

func TestPagesFitTogether(t *testing.T) {
	const n, page = 700, 37
	v := embedded(t, many(n))
	question := direction(3)
	for name, search := range map[string]func(offset, limit int) ([]corpus.Hit, int){
		"keyword": func(o, l int) ([]corpus.Hit, int) { return v.Keyword("audit backup deploy.", corpus.Filter{}, o, l) },
		"vector":  func(o, l int) ([]corpus.Hit, int) { return v.Nearest(question, corpus.Filter{}, o, l) },
		"hybrid": func(o, l int) ([]corpus.Hit, int) {
			return v.Hybrid("audit backup deploy.", question, corpus.Filter{}, o, l)
		},
	} {
		t.Run(name, func(t *testing.T) {
			all, total := search(0, n)
			if len(all) != total || total < 300 {
				t.Fatalf("%d hits of %d", len(all), total)
			}
			seen := map[string]bool{}
			for offset := 0; offset < total; offset += page {
				hits, again := search(offset, page)
				if again != total || names(hits) != names(all[offset:min(offset+page, total)]) {
					t.Fatalf("the page at %d is not what the whole has there, or %d is not %d", offset, again, total)
				}
				for _, h := range hits {
					seen[h.Rule.ID] = true
				}
			}
			if len(seen) != total {
				t.Errorf("%d different rules on all pages, want %d", len(seen), total)
			}
		})
	}
	hits, _ := v.Keyword("audit backup deploy.", corpus.Filter{}, 0, n)
	for i, h := range hits[1:] {
		if before := hits[i]; h.Score > before.Score || (h.Score == before.Score && h.Rule.ID < before.Rule.ID) {
			t.Fatalf("hit %d (%v, %s) does not come after (%v, %s)", i+1, h.Score, h.Rule.ID, before.Score, before.Rule.ID)
		}
	}
}

// TestFiltersOfSearchesAreThoseOfLists compares how a search selects, by columns, with how a list does, rule by rule.
func TestFiltersOfSearchesAreThoseOfLists(t *testing.T) {
	yes, no := true, false
	v := embedded(t, many(400))
	for name, f := range map[string]corpus.Filter{
		"modality":    {Modality: rule.MustNot},
		"severity":    {Severity: rule.Critical},
		"status":      {Status: rule.Draft},
		"statuses":    {Statuses: []rule.Status{rule.Approved, rule.Effective}},
		"enforcement": {Enforcement: rule.Shadow},
		"all of them": {Modality: rule.Must, Severity: rule.Low, Enforcement: rule.Enforce},
		"checked":     {Checked: &yes},
		"unchecked":   {Checked: &no},
		"scope":       {Scope: "a"},
		"lower scope": {Scope: "a/b"},
		"any scope":   {Scope: "*/b"},
		"no scope":    {Scope: "zebra"},
		"tag":         {Tags: []string{"red"}},
		"tags":        {Tags: []string{"Red", "Blue"}},
		"owner":       {Owner: "team"},
		"text":        {Text: "AUDIT"},
		"where":       {Where: func(r *rule.Rule) bool { return strings.HasSuffix(r.ID, "7") }},
		"all":         {Severity: rule.High, Tags: []string{"red"}, Scope: "a", Where: func(r *rule.Rule) bool { return r.Owner != "" }},
		"unknown":     {Severity: "DIRE"},
	} {
		t.Run(name, func(t *testing.T) {
			listed, _ := v.List(f, 0, 1000)
			var want []string
			for _, e := range listed {
				want = append(want, e.Rule.Slug)
			}
			slices.Sort(want)
			everything := "audit backup cache deploy encrypt firewall gateway hash invoice journal."
			for kind, search := range map[string]func() ([]corpus.Hit, int){
				"keyword": func() ([]corpus.Hit, int) { return v.Keyword(everything, f, 0, 1000) },
				"vector":  func() ([]corpus.Hit, int) { return v.Nearest(direction(1), f, 0, 1000) },
				"hybrid":  func() ([]corpus.Hit, int) { return v.Hybrid(everything, direction(1), f, 0, 1000) },
			} {
				hits, total := search()
				got := strings.Fields(names(hits))
				slices.Sort(got)
				if diff := cmp.Diff(want, got); diff != "" && len(want)+len(got) > 0 || total != len(want) {
					t.Errorf("%s finds %d, want %d (-want +got):\n%s", kind, total, len(want), diff)
				}
			}
		})
	}
}

func TestSearchesDoNotDependOnHistory(t *testing.T) {
	states := many(300)
	old := slices.Clone(states)
	for i := range old {
		old[i].Rule.Statement = fmt.Sprintf("audit old%d", i)
	}
	v := embedded(t, old)
	for i := 0; i < len(states); i += 23 {
		var err error
		if v, err = v.Apply(int64(i+2), states[i:min(i+23, len(states))]); err != nil {
			t.Fatal(err)
		}
	}
	v = v.WithVectors("m", embeddingsOf(states))
	fresh := embedded(t, states)
	for _, query := range []string{"audit cache.", "old5", `"audit backup"`, "inv", "hash"} {
		got, n := v.Keyword(query, corpus.Filter{}, 0, 50)
		want, m := fresh.Keyword(query, corpus.Filter{}, 0, 50)
		if names(got) != names(want) || n != m {
			t.Errorf("%q finds %s of %d after edits and %s of %d in a new view", query, names(got), n, names(want), m)
		}
		for i := range got {
			if got[i].Score != want[i].Score {
				t.Fatalf("%q: hit %d has the score %v after edits and %v in a new view", query, i, got[i].Score, want[i].Score)
			}
		}
	}
	got, _ := v.Nearest(direction(2), corpus.Filter{}, 0, 20)
	want, _ := fresh.Nearest(direction(2), corpus.Filter{}, 0, 20)
	if names(got) != names(want) {
		t.Errorf("nearest are %s after edits and %s in a new view", names(got), names(want))
	}
}

func TestHighlight(t *testing.T) {
	v := view(t, says(1, "Café owners must log os.environ reads, and logging stays.", "個人情報 is environ."))
	e, _ := v.Get("R-1")
	for _, tt := range []struct{ query, want string }{
		{"logs cafe.", "statement:Café statement:log statement:logging"},
		{"os.environ.", "statement:os.environ rationale:environ"},
		{"environ.", "statement:environ rationale:environ"},
		{"own", "statement:owners"},
		{"own.", ""},
		{`"must log"`, "statement:log statement:logging"},
		{"人情", "rationale:人情"},
		{"must", "statement:must"},
		{"", ""},
	} {
		var got []string
		for _, s := range corpus.Highlight(tt.query, e) {
			text := e.Rule.Statement
			if s.Field == "rationale" {
				text = e.Rule.Rationale
			}
			got = append(got, s.Field+":"+text[s.Start:s.End])
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.query, diff)
		}
	}
}

func FuzzSearch(f *testing.F) {
	v := library(f)
	for _, seed := range []string{"", "password", `"personal data" sec`, "個人情", "os.env", "\xff\x00", strings.Repeat(`"a`, 50)} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, query, statement string) {
		hits, total := v.Keyword(query, corpus.Filter{}, 0, 5)
		if len(hits) != min(total, 5) {
			t.Fatalf("%q: %d hits of %d", query, len(hits), total)
		}
		e := &corpus.Entry{Rule: &rule.Rule{Statement: statement, Rationale: query}}
		last := corpus.Span{Field: "statement"}
		for _, s := range corpus.Highlight(query, e) {
			text := statement
			if s.Field == "rationale" {
				text = query
			}
			if s.Field != last.Field {
				last = corpus.Span{Field: s.Field}
			}
			if s.Start < last.End || s.Start >= s.End || s.End > len(text) {
				t.Fatalf("%q in %q: span %v after %v", query, text, s, last)
			}
			last = s
		}
	})
}
