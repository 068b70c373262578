package contradict_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"tenet/internal/conflict/contradict"
	"tenet/internal/rule"
	"tenet/packs"
)

// pairRule is a rule of a pair.
type pairRule struct {
	Slug            string               `yaml:"slug"`
	Modality        rule.Modality        `yaml:"modality"`
	Statement       string               `yaml:"statement"`
	Scope           []string             `yaml:"scope"`
	Exceptions      []string             `yaml:"exceptions"`
	EffectivePeriod rule.EffectivePeriod `yaml:"effective_period"`
	AppliesTo       *rule.AppliesTo      `yaml:"applies_to"`
}

func (p *pairRule) rule() *rule.Rule {
	return &rule.Rule{
		Slug: p.Slug, Modality: p.Modality, Statement: p.Statement, Scope: p.Scope, Exceptions: p.Exceptions,
		EffectivePeriod: p.EffectivePeriod, AppliesTo: p.AppliesTo,
	}
}

type pair struct {
	Want   contradict.Kind `yaml:"want"`
	Why    string          `yaml:"why"`
	Missed bool            `yaml:"missed"`
	A      pairRule        `yaml:"a"`
	B      pairRule        `yaml:"b"`
}

func readPairs(t testing.TB) map[string][]pair {
	t.Helper()
	data, err := os.ReadFile("testdata/pairs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file map[string][]pair
	if err := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(&file); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestPairs tries the tests on pairs written by hand, both ways round, and tells precision and recall of each part.
func TestPairs(t *testing.T) {
	total := 0
	for _, part := range []string{"tuned", "held_out", "beside", "meaning_tuned", "meaning_held_out", "meaning_fresh", "sitting_tuned", "sitting_held_out", "sitting_fresh", "fourth_tuned", "fourth_fresh", "fifth_tuned", "fifth_fresh", "sixth_tuned", "sixth_fresh", "seventh_tuned", "seventh_fresh", "eighth_fresh", "ninth_tuned", "ninth_fresh", "ninth_after"} {
		right, missed, wrong := 0, 0, 0
		pairs := readPairs(t)[part]
		total += len(pairs)
		for _, p := range pairs {
			about := p.A.Statement + " / " + p.B.Statement + " " + p.Why
			found, ok := contradict.Rules(p.A.rule(), p.B.rule())
			back, also := contradict.Rules(p.B.rule(), p.A.rule())
			if ok != also || found.Kind != back.Kind || found.Confidence != back.Confidence {
				t.Errorf("%s: %+v, and the other way round %+v", about, found, back)
			}
			switch wanted := p.Want != "none" && !p.Missed; {
			case ok != wanted:
				t.Errorf("%s: found %+v, want %s, missed: %v", about, found, p.Want, p.Missed)
			case ok && found.Kind != p.Want:
				t.Errorf("%s: found a contradiction in %s, want %s", about, found.Kind, p.Want)
			case ok && (found.Confidence <= 0 || found.Confidence > 1 || !strings.Contains(strings.ToLower(found.Reason), quotedWord(p.A.Statement))):
				t.Errorf("%s: confidence %v, reason %q", about, found.Confidence, found.Reason)
			}
			switch {
			case ok && p.Want == "none":
				wrong++
			case ok:
				right++
			case p.Want != "none":
				missed++
			}
		}
		t.Logf("%s: %d pairs, precision %.2f, recall %.2f, %d found, %d of them false", part, len(pairs), share(right, wrong), share(right, missed), right+wrong, wrong)
	}
	if total < 120 {
		t.Errorf("%d pairs only", total)
	}
}

// quotedWord is a word of a statement that a reason must have: the last of its first sentence.
func quotedWord(statement string) string {
	sentence, _, _ := strings.Cut(strings.ToLower(statement), ". ")
	words := strings.Fields(sentence)
	return strings.Trim(words[len(words)-1], ".%")
}

func share(n, rest int) float64 { return float64(n) / float64(max(1, n+rest)) }

// TestPacks tries the rules of the starter packs, which do not contradict each other, and each against what it would say with its
// force turned round.
func TestPacks(t *testing.T) {
	all, err := packs.All()
	if err != nil {
		t.Fatal(err)
	}
	var rules []*rule.Rule
	for _, p := range all {
		var file struct {
			Rules []pairRule `yaml:"rules"`
		}
		if err := yaml.Unmarshal(p.Rules, &file); err != nil {
			t.Fatal(err)
		}
		for i := range file.Rules {
			rules = append(rules, file.Rules[i].rule())
		}
	}
	turned, found := 0, 0
	for _, r := range rules {
		other := *r
		for _, change := range [][2]string{{"must not ", "must "}, {"should not ", "should "}, {"must ", "must not "}, {"should ", "should not "}} {
			if strings.Contains(r.Statement, change[0]) {
				other.Statement = strings.Replace(r.Statement, change[0], change[1], 1)
				break
			}
		}
		if other.Modality == rule.MustNot {
			other.Modality = rule.Must
		}
		turned++
		if _, ok := contradict.Rules(r, &other); ok {
			found++
		}
	}
	readings := make([]*contradict.Reading, len(rules))
	for i, r := range rules {
		readings[i] = contradict.Read(r)
		for j := range i {
			if f, ok := contradict.Compare(readings[i], readings[j]); ok {
				t.Errorf("%s / %s: %+v", r.Slug, rules[j].Slug, f)
			}
		}
	}
	t.Logf("%d rules, of which %d are found to contradict themselves turned round", turned, found)
	if turned < 100 || found*100 < turned*90 {
		t.Errorf("of %d rules only %d are found to contradict themselves turned round", turned, found)
	}
}

func TestReasonTellsBothSides(t *testing.T) {
	found, ok := contradict.Rules(
		&rule.Rule{Modality: rule.Must, Statement: "Invoices must be paid within 14 days."},
		&rule.Rule{Modality: rule.Must, Statement: "Invoices must be paid in at most 30 days."},
	)
	if !ok || !strings.Contains(found.Reason, "within 14 days") || !strings.Contains(found.Reason, "at most 30 days") {
		t.Errorf("%v, %+v", ok, found)
	}
}

func FuzzRules(f *testing.F) {
	for _, part := range readPairs(f) {
		for _, p := range part {
			f.Add(p.A.Statement, p.B.Statement, "", false)
		}
	}
	f.Add("`", "must not no more than 10 %.", "unless", true)
	f.Add("must", "€ €5k 1e999 99999999999999999999", "Ünder 5 Ω;", true)
	f.Fuzz(func(t *testing.T, a, b, exception string, forbids bool) {
		modality := rule.Must
		if forbids {
			modality = rule.MustNot
		}
		x := &rule.Rule{Modality: rule.Must, Statement: a}
		y := &rule.Rule{Modality: modality, Statement: b, Exceptions: []string{exception}}
		found, ok := contradict.Rules(x, y)
		back, also := contradict.Rules(y, x)
		if ok != also || found.Confidence != back.Confidence {
			t.Errorf("%+v, and the other way round %+v", found, back)
		}
		if ok != (found.Confidence > 0 && found.Confidence <= 1 && found.Reason != "") {
			t.Errorf("%v: %+v", ok, found)
		}
		for i, spans := range contradict.Marks(x, y) {
			last := 0
			for _, s := range spans {
				if s.From < last || s.To <= s.From || s.To > len([]string{a, b}[i]) {
					t.Errorf("marks %v of %q and %q", spans, a, b)
				}
				last = s.To
			}
		}
		if _, own := contradict.Rules(x, x); own && a == "" {
			t.Error("an empty statement contradicts itself")
		}
	})
}

func BenchmarkCompare(b *testing.B) {
	x := contradict.Read(&rule.Rule{Modality: rule.Must, Statement: "Invoices of suppliers must be paid within 14 days."})
	y := contradict.Read(&rule.Rule{Modality: rule.Must, Statement: "Invoices must be paid in at most 30 days."})
	for b.Loop() {
		contradict.Compare(x, y)
	}
}

func BenchmarkRead(b *testing.B) {
	r := &rule.Rule{Modality: rule.Must, Statement: "Payments above 1,000 must be approved by someone other than the person who requested them."}
	for b.Loop() {
		contradict.Read(r)
	}
}

// Modality and statement are read together: a statement that must and must not be followed contradicts itself, whichever way it is worded.
func TestTheSameStatementUnderMustAndMustNot(t *testing.T) {
	for _, s := range []string{
		"Keep backups for ten years.", "Backups must be kept for 10 years.", "Keep backups.", "Log failed logins.", "Payments must be approved by two people.",
		"Store passwords with at least 12 characters.",
	} {
		a, b := &rule.Rule{Slug: "A", Modality: rule.Must, Statement: s}, &rule.Rule{Slug: "B", Modality: rule.MustNot, Statement: s}
		f, ok := contradict.Rules(a, b)
		back, also := contradict.Rules(b, a)
		if !ok || !also || f.Confidence < .9 || back.Confidence != f.Confidence {
			t.Errorf("%s: %+v, %v; the other way round %+v, %v", s, f, ok, back, also)
		}
		if f, ok := contradict.Rules(a, &rule.Rule{Slug: "B", Modality: rule.Must, Statement: s}); ok {
			t.Errorf("%s: twice as MUST contradicts itself: %+v", s, f)
		}
	}
	// A prohibition in its own words is one under either modality.
	forbids := "Secrets must not be logged."
	if f, ok := contradict.Rules(&rule.Rule{Slug: "A", Modality: rule.Must, Statement: forbids}, &rule.Rule{Slug: "B", Modality: rule.MustNot, Statement: forbids}); ok {
		t.Errorf("%+v", f)
	}
}
