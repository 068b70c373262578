package find

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// entryOf returns the entry of a record in a chain.
func entryOf(rec *wire.EvaluationRecord) store.AuditEntry {
	e := rec.Evaluation
	return store.AuditEntry{
		ProjectID: "p", Kind: audit.KindEvaluation, ID: e.EvaluationID, Verdict: string(e.OverallVerdict), Mode: string(e.Mode), Actor: "key:ci",
		Body: audit.Compress(audit.JSON(rec)),
	}
}

func termsIn(t *testing.T, rec *wire.EvaluationRecord) map[store.Term]bool {
	t.Helper()
	e := entryOf(rec)
	terms, err := termsOf(&e)
	if err != nil {
		t.Fatal(err)
	}
	has := map[store.Term]bool{}
	for _, term := range terms {
		if has[term] {
			t.Errorf("term %d occurs twice", term)
		}
		has[term] = true
	}
	return has
}

func evaluation() *rule.Evaluation {
	return &rule.Evaluation{EvaluationID: "e", OverallVerdict: rule.Deny, Mode: rule.Preflight}
}

// TestStoredTermsStay holds the hashes of stored terms: if they change, a migration must empty the index.
func TestStoredTermsStay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		got, want store.Term
	}{
		{termOf(evaluated), 0x25fa89179a22aa62},
		{termOf(verdict, "DENY"), 0x1edfae3f33c7bc5b},
		{termOf(fact, "payment_id", "pmt-123"), -0x536569f2120cd57a},
		{termOf(word, "payment"), -0x40266cccf024c4cd},
		{termOf(entryKind, "rule"), 0x7c25b4e46b8d8962},
		{termOf(entryRule, "r"), 0x3394022abcaf5c94},
	} {
		if tt.got != tt.want {
			t.Errorf("term %#x, want %#x", int64(tt.got), int64(tt.want))
		}
	}
}

func TestTermsOfRemovedRecords(t *testing.T) {
	t.Parallel()
	e := entryOf(&wire.EvaluationRecord{Evaluation: evaluation(), Subject: wire.RecordedSubject{Action: "pay"}})
	e.Body = nil
	terms, err := termsOf(&e)
	if err != nil || len(terms) != 4 {
		t.Fatalf("terms %v, %v; want those of the entry", terms, err)
	}
	for _, term := range terms {
		if term.OfRecord() {
			t.Errorf("term %d is one of the record, which is removed", term)
		}
	}
	e.Body = []byte("damaged")
	if terms, err := termsOf(&e); err == nil || len(terms) != 4 {
		t.Errorf("terms %v, %v of a damaged record; want those of the entry, and an error", terms, err)
	}
	e.Kind = "rule"
	if terms, err := termsOf(&e); err == nil || len(terms) != 2 {
		t.Errorf("terms %v, %v of a damaged entry that is no evaluation; want its kind and actor, and an error", terms, err)
	}
}

func TestTermsAreBounded(t *testing.T) {
	t.Parallel()
	many := map[string]any{}
	for i := range MaxFacts {
		many[fmt.Sprintf("n%03d", i)] = float64(i)
	}
	words := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "w%dx ", i)
		}
		return b.String()
	}
	more := map[string]any{"more": "x"}
	maps.Copy(more, many)
	for name, tt := range map[string]struct {
		subject wire.RecordedSubject
		cut     bool
	}{
		"as many facts":        {wire.RecordedSubject{Facts: many}, false},
		"one fact more":        {wire.RecordedSubject{Facts: more}, true},
		"few words":            {wire.RecordedSubject{Action: words(100)}, false},
		"too many words":       {wire.RecordedSubject{Action: words(MaxWords + 1)}, true},
		"the same words again": {wire.RecordedSubject{Action: strings.Repeat(words(10), 500)}, false},
		"text without end":     {wire.RecordedSubject{Diff: strings.Repeat("+pay pay\n", maxText/9+2)}, true},
	} {
		rec := &wire.EvaluationRecord{Evaluation: evaluation(), Subject: tt.subject}
		has := termsIn(t, rec)
		if has[termOf(partialRecord)] != tt.cut {
			t.Errorf("%s: partial %v, want %v", name, !tt.cut, tt.cut)
		}
		if len(has) > MaxFacts+MaxWords+10 {
			t.Errorf("%s: %d terms", name, len(has))
		}
	}
}

func TestTermsOfSubjects(t *testing.T) {
	t.Parallel()
	content := "os.environ['KEY']"
	has := termsIn(t, &wire.EvaluationRecord{
		Evaluation: evaluation(), Kinds: []wire.SubjectKind{wire.CodeChange, wire.Facts}, NodeID: "asked",
		Subject: wire.RecordedSubject{
			Action: "Refund the Café", Scope: "finance/payments/eu", Repository: "https://github.com/Acme/Billing.git",
			Facts: map[string]any{"Payment": map[string]any{"ID": " PMT-7 ", "lines": []any{map[string]any{"sku": "A"}, map[string]any{"sku": "B"}}}, "amount": 12.50, "urgent": true, "note": nil},
			Files: []wire.InputFile{{Path: "src/ledger.py", Content: &content}},
			Diff:  "index 0123456..89abcde 100644\n+transfer\n",
		},
	})
	for what, term := range map[string]store.Term{
		"nested fact": termOf(fact, "payment.id", "pmt-7"), "element": termOf(fact, "payment.lines.sku", "b"), "number": termOf(factNumber, "amount", "12.5"),
		"boolean": termOf(fact, "urgent", "true"), "null": termOf(fact, "note", "null"), "scope": termOf(scope, "finance/payments/eu"),
		"wider scope": termOf(scope, "finance"), "repository": termOf(repository, "github.com/acme/billing"), "its path": termOf(repositoryPath, "acme/billing"),
		"kind": termOf(kind, "facts"), "node": termOf(node, "asked"), "accent": termOf(word, "cafe"), "path": termOf(word, "ledger"),
		"identifier": termOf(word, "os.environ"), "diff": termOf(word, "transfer"), "word of a fact": termOf(word, "pmt"),
	} {
		if !has[term] {
			t.Errorf("%s is not found", what)
		}
	}
	for what, term := range map[string]store.Term{
		"name of a blob": termOf(word, "0123456"), "part of a segment": termOf(scope, "fin"), "narrower scope": termOf(scope, "payments"),
	} {
		if has[term] {
			t.Errorf("%s is found", what)
		}
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	for want, v := range map[wire.RuleOutcome]rule.RuleVerdict{
		wire.RuleViolated: {Verdict: rule.Deny, Concerned: true}, wire.RuleWaived: {Verdict: rule.Deny, Waiver: &rule.AppliedWaiver{}},
		wire.RuleToConfirm: {Verdict: rule.NeedsConfirmation}, wire.RuleKept: {Verdict: rule.Allow, Concerned: true}, wire.RuleNotConcerned: {Verdict: rule.Allow},
	} {
		e := evaluation()
		v.RuleID = "r"
		e.RuleVerdicts = []rule.RuleVerdict{v}
		has := termsIn(t, &wire.EvaluationRecord{Evaluation: e})
		for _, o := range wire.RuleOutcomes {
			if has[termOf(ruleOutcome, "r", string(o))] != (o == want) {
				t.Errorf("a verdict %+v is found as %s: %v", v, o, o != want)
			}
		}
		if !has[termOf(ruleID, "r")] {
			t.Errorf("the rule is not found")
		}
	}
}
