package judge

import (
	"encoding/hex"
	"slices"
	"testing"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/llm"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

const goldenDiff = `diff --git a/x/a.go b/x/a.go
--- a/x/a.go
+++ b/x/a.go
@@ -10,3 +10,4 @@ func f() {
 one
-two
+too
+log(secret)
 three
@@ -40,2 +41,2 @@ func g() {
-a
+b
 c
diff --git a/y.png b/y.png
Binary files a/y.png and b/y.png differ
diff --git a/old.txt b/new.txt
similarity index 100%
rename from old.txt
rename to new.txt
`

// Databases hold verdicts, records, waivers and embeddings under these hashes. A changed hash lets a model judge all of it
// again, ends waivers, and makes recorded rules unknown. They may change only with PromptVersion or a migration.
func TestHashesOfStoredDataStay(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	r := &rule.Rule{
		ID: "0192f0c4-0000-7000-8000-000000000001", ProjectID: "default", Slug: "SEC-1", Version: 3,
		Statement: "Do not log <secrets> & tokens.", Modality: rule.MustNot, Severity: rule.Critical, Scope: []string{"a/b"},
		Tags: []string{"t"}, Rationale: "Why.", Exceptions: []string{"Tests."},
		Examples:   []rule.Example{{Input: "log(x)", Verdict: rule.Deny, Note: "n"}},
		SourceRefs: []rule.SourceRef{}, EffectivePeriod: rule.EffectivePeriod{From: &at}, Status: rule.Effective,
		AppliesTo: &rule.AppliesTo{Paths: []string{"**/*.go"}}, Check: &rule.Check{When: "true"}, Enforcement: rule.Enforce, Owner: "o",
		CreatedAt: at, CreatedBy: "c", UpdatedAt: at, UpdatedBy: "u", ChangeNote: "x",
	}
	s, err := subject.Build(subject.Input{
		Diff: goldenDiff, Facts: map[string]any{"n": 1.5, "s": "<x>"}, Intent: "fix", Repository: "acme/r", Scope: "a/b",
	})
	if err != nil {
		t.Fatal(err)
	}
	denial := rule.RuleVerdict{
		RuleID: r.ID, DecidedBy: rule.ByModel, Locations: []rule.Location{{FilePath: "x/a.go", Snippet: "log(secret)"}},
		Evidence: []rule.Evidence{{Kind: rule.EvidenceQuote, Quote: " log(secret)\n  x", FilePath: "x/a.go"}},
	}
	d := New(Config{}).newDecision(s, []*rule.Rule{r}, plan{bytes: 400, parts: 8, batch: 10, model: "m:1,n:2", confirm: "c:1"}, 0)
	keys := d.cacheKeys()
	for name, hash := range map[string][2]string{
		"the content of a rule":  {r.ContentHash(), "afcb8335b23f9a053a2db3d4c0142433e1de282ee8dcbb27644dd7d5c8d25aaf"},
		"the embedded text":      {corpus.TextHash(r), "0ac3e5d8c100d33f5c4d86880d8b9725"},
		"the subject":            {s.Hash(), "fbbbbb25f8fdddaf11c3159af444ef89d8f62ec75b2c41754c8e283164358fd3"},
		"the object of a denial": {rule.FingerprintOf(&denial, r.ContentHash()), "958b76a45101957f366887d54c4d36371bf214820ff4e057b52205aacc454db7"},
		"the request":            {hex.EncodeToString(d.seed[:]), "6abf0eb82ea70829db466166f1545d00fafdcab5b75e05774ddf538ef5f8144d"},
		"the whole":              {keys.whole, "Bu-q8f0LEwmbXC3GMjxqmWWxu8Bk6-UC7mJa4YwKdrs"},
		"the rule":               {keys.rules[0], "IB1t5Q6g8SyLaciLqKoz2mkZtSIk28enykgffqudqBY"},
	} {
		if hash[0] != hash[1] {
			t.Errorf("the hash of %s is %s, want %s", name, hash[0], hash[1])
		}
	}
	units := []string{
		"i9En1u2MTafWlG1Ztk95RxgVlcD0xNZBYVTHRCU2FLs", "D-nyXEq0mVbiy-_Qbmh2PsbdEzLL8weEpQ7iWWYDviE",
		"ty4hh7lL7KK_c2NutdJV9aeOLUbfYXfjkp5t2UKmaxU", "gMpHRg41g84ESO03_eqq6qNyTz4Uy2KSipFARkqs3bE",
	}
	if !slices.Equal(keys.units, units) {
		t.Errorf("the hashes of the units are %q, want %q", keys.units, units)
	}
	triage := New(Config{}).newTriage(s, []*rule.Rule{r}, triagePlan{bytes: 400, parts: 8, batch: 150, calls: 128, model: "m:1,n:2"}, 0)
	for name, hash := range map[string][2]string{
		"the batch of triage": {triage.cacheKeys().rules[0], "AZ0WrBMAQSZ-tzEWip29Bo8zabMb2CoMS6Dl08NH67c"},
		"the whole of triage": {triage.cacheKeys().whole, "fjkR9nq6Qpvj8gtF2tHCG6VVT2NCRPefVnVPXu6_2eo"},
	} {
		if hash[0] != hash[1] {
			t.Errorf("the hash of %s is %s, want %s", name, hash[0], hash[1])
		}
	}
	if entry := llm.JSON(storedTriage{7, []int{1, 5}}); entry != `{"of":7,"named":[1,5]}` {
		t.Errorf("an answer of triage is stored as %s", entry)
	}
	entry := llm.JSON(storedVerdict{
		Verdict: "DENY", Reasoning: "r <b>", Issue: "i", Fix: "f", Quotes: []quote{{"q", "f"}}, Absence: "a", Passes: 2, Agreed: 1,
	})
	const stored = `{"v":"DENY","r":"r <b>","i":"i","f":"f","q":[{"quote":"q","file":"f"}],"a":"a","n":2,"k":1}`
	if entry != stored {
		t.Errorf("a verdict is stored as %s, want %s", entry, stored)
	}
}
