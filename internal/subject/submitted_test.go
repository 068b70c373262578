package subject

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

func TestSubmittedFieldsBecomeFacts(t *testing.T) {
	for text, want := range map[string]map[string]any{
		`{"kind":"transaction","transaction_type":"payment","amount":2.5,"currency":"EUR","facts":{"approver":"lee","amount":2.5}}`: {
			"transaction_type": "payment", "amount": 2.5, "currency": "EUR", "approver": "lee",
		},
		`{"kind":"business_event","event_type":"export","actor":"ann","occurred_at":"2026-03-01T12:00:00+02:00"}`: {
			"event_type": "export", "actor": "ann", "occurred_at": "2026-03-01T10:00:00Z",
		},
		`{"kind":"communication","channel":"email","content":"Hi","sender":"ann","recipients":["bob"],"facts":{"external":true}}`: {
			"channel": "email", "content": "Hi", "sender": "ann", "recipients": []any{"bob"}, "external": true,
		},
		`{"kind":"decision_request","decision_type":"hire","question":"Who?","context":{"budget":1},"options":["a",{"b":2}]}`: {
			"decision_type": "hire", "question": "Who?", "context": map[string]any{"budget": 1.0}, "options": []any{"a", map[string]any{"b": 2.0}},
		},
		`{"kind":"document","content":"x","document_type":"contract","title":"Offer"}`: {"document_type": "contract", "title": "Offer"},
	} {
		var s wire.Submitted
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		in, err := InputOf(&s)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, in.Facts); diff != "" {
			t.Errorf("%s: facts (-want +got):\n%s", s.Kind, diff)
		}
		built, err := Build(in)
		if err != nil || built.Kinds[0] != s.Kind || built.Is(CodeChange) {
			t.Errorf("%s: kinds %v, %v", s.Kind, built.Kinds, err)
		}
	}
}

func TestSubmittedContradictions(t *testing.T) {
	var s wire.Submitted
	if err := json.Unmarshal([]byte(`{"kind":"communication","sender":"ann","recipients":["bob"],"facts":{"sender":"bob","recipients":["bob"]}}`), &s); err != nil {
		t.Fatal(err)
	}
	if _, err := InputOf(&s); rule.CodeOf(err) != rule.CodeInvalid || !strings.Contains(err.Error(), "subject.facts.sender") || strings.Contains(err.Error(), "recipients") {
		t.Errorf("two senders: %v", err)
	}
	doc := wire.Submitted{Kind: Document, Of: &wire.DocumentSubject{DocumentID: "d"}}
	if err := WithText(&doc, "Offer", "the text", ""); err != nil {
		t.Fatal(err)
	}
	in, err := InputOf(&doc)
	if err != nil || in.Files[0].Path != "Offer" || *in.Files[0].Content != "the text" || in.Facts["document_id"] != "d" {
		t.Errorf("an uploaded document: %+v, %v", in, err)
	}
	both := wire.Submitted{Kind: Document, Of: &wire.DocumentSubject{DocumentID: "d", Content: "mine"}}
	if err := WithText(&both, "Offer", "the text", ""); rule.CodeOf(err) != rule.CodeInvalid {
		t.Errorf("two texts: %v", err)
	}
	for _, title := range []string{"", "../../etc/passwd", "/etc/passwd", "a\nb", strings.Repeat("x", 5000)} {
		doc := wire.DocumentSubject{Content: "x", Title: title}
		in := inputOf(&doc, new(rule.Problems))
		if in.Files[0].Path != "document" {
			t.Errorf("the title %.20q becomes the path %.20q", title, in.Files[0].Path)
		}
	}
}

// FuzzSubmitted reads any bytes as a submitted subject: what is read can be built or is refused by name, and reads back.
func FuzzSubmitted(f *testing.F) {
	for _, seed := range []string{
		`{"kind":"transaction","amount":1}`, `{"kind":"DOCUMENT","content":"a","title":"x/../y"}`, `{"kind":"poem"}`, `{"kind":1}`, `[]`, `null`,
		`{"kind":"code_change","diff":"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"}`, `{"kind":"decision_request","options":[null,{"a":[1e308]}]}`,
		`{"kind":"business_event","occurred_at":"0001-01-01T00:00:00Z","facts":{"":{}}}`, `{"kind":"communication","recipients":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s wire.Submitted
		if json.Unmarshal(data, &s) != nil || s.Of == nil {
			return
		}
		in, err := InputOf(&s)
		if err != nil {
			if rule.CodeOf(err) != rule.CodeInvalid {
				t.Fatal(err)
			}
			return
		}
		built, err := Build(in)
		if err == nil && built.Kinds[0] != s.Kind {
			t.Fatalf("kinds %v of a %s", built.Kinds, s.Kind)
		}
		again, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var back wire.Submitted
		if err := json.Unmarshal(again, &back); err != nil || back.Kind != s.Kind {
			t.Fatalf("%s: %v", again, err)
		}
	})
}
