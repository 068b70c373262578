package evaluate_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"tenet/internal/check"
	"tenet/internal/corpus"
	"tenet/internal/evaluate"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// library holds one document, of which it has read a part.
type library struct{ text, unread string }

func (l library) Text(context.Context, string, string) (title, text, unread string, err error) {
	return "Terms", l.text, l.unread, nil
}

// TestADocumentReadInPart has a page that nobody could read.
func TestADocumentReadInPart(t *testing.T) {
	r := patternRule(`(?i)pay late`)
	r.ID, r.ProjectID, r.Version, r.Status, r.Severity = nodeID("01"), "p", 1, rule.Effective, rule.High
	r.Normalize()
	view, err := corpus.New(1, []store.RuleState{{Rule: r}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		library library
		want    rule.Verdict
	}{
		{library{"Pay in time.", ""}, rule.Allow},
		{library{"Pay in time.", "page 2 shows no text and may be a picture of it"}, rule.NeedsConfirmation},
		{library{"Pay late.", "page 2 shows no text and may be a picture of it"}, rule.Deny},
	} {
		rec := &recorder{}
		e := evaluate.New(evaluate.Config{
			Views: fixed{view}, Judge: noModel(t), Recorder: rec, Checks: check.NewCache(10), Documents: tt.library,
			Now: func() time.Time { return noon },
		})
		got, err := e.Evaluate(t.Context(), evaluate.Request{ProjectID: "p", Submitted: &wire.Submitted{
			Kind: wire.DocumentKind, Of: &wire.DocumentSubject{DocumentID: nodeID("02")},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if got.OverallVerdict != tt.want {
			t.Errorf("%+v: %s, want %s: %+v", tt.library, got.OverallVerdict, tt.want, got.RuleVerdicts)
		}
		if tt.want == rule.NeedsConfirmation && (len(got.Coverage.Unexamined) != 1 || !strings.Contains(got.Coverage.Unexamined[0].Reason, "page 2")) {
			t.Errorf("%+v: unexamined %v", tt.library, got.Coverage.Unexamined)
		}
	}
}
