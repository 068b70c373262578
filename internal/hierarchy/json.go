package hierarchy

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"tenet/internal/wire"
)

// EncodeEffective writes the JSON of encoding/json several times faster: the effective rules of a large node are megabytes.
func EncodeEffective(e *wire.EffectiveRules) ([]byte, error) {
	w := jsonWriter{b: make([]byte, 0, 64+512*len(e.Rules))}
	w.text(`{"node_id":`, e.NodeID)
	w.raw(`,"effective_rules":[`)
	for i := range e.Rules {
		if i > 0 {
			w.raw(",")
		}
		w.rule(&e.Rules[i])
	}
	w.raw(`],"total":` + strconv.Itoa(e.Total) + `,"everywhere":{"total":` + strconv.Itoa(e.Everywhere.Total) + `,"rules":[`)
	for i := range e.Everywhere.Rules {
		if i > 0 {
			w.raw(",")
		}
		w.brief(&e.Everywhere.Rules[i])
	}
	w.raw("]}}\n")
	return w.b, w.err
}

// jsonWriter appends JSON, and keeps the first error.
type jsonWriter struct {
	b   []byte
	err error
}

func (w *jsonWriter) raw(s string) { w.b = append(w.b, s...) }

// text appends a name as it is and a string value.
func (w *jsonWriter) text(name, value string) {
	w.raw(name)
	b, err := jsontext.AppendQuote(w.b, value)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.b = b
}

func (w *jsonWriter) rule(e *wire.EffectiveRule) {
	w.raw(`{"rule":`)
	w.brief(&e.Rule)
	w.text(`,"source_node_id":`, e.SourceNodeID)
	w.raw(`,"overridden_rule_id":`)
	if e.OverriddenID == nil {
		w.raw("null")
	} else {
		w.text("", *e.OverriddenID)
	}
	if e.OverriddenSlug != "" {
		w.text(`,"overridden_slug":`, e.OverriddenSlug)
	}
	w.raw(`,"inherited":` + strconv.FormatBool(e.Inherited) + "}")
}

func (w *jsonWriter) brief(r *wire.RuleBrief) {
	w.text(`{"id":`, r.ID)
	if r.Slug != "" {
		w.text(`,"slug":`, r.Slug)
	}
	w.raw(`,"version":` + strconv.Itoa(r.Version))
	w.text(`,"statement":`, r.Statement)
	w.text(`,"modality":`, string(r.Modality))
	w.text(`,"severity":`, string(r.Severity))
	w.raw(`,"scope":[`)
	for i, s := range r.Scope {
		if i > 0 {
			w.raw(",")
		}
		w.text("", s)
	}
	w.text(`],"enforcement":`, string(r.Enforcement))
	w.text(`,"status":`, string(r.Status))
	w.raw("}")
}
