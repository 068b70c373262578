package wire

import (
	"crypto/sha256"
	hexadecimal "encoding/hex"
	"sync"

	"tenet/internal/rule"
)

// contents are buffers for the JSON of rules.
var contents = sync.Pool{New: func() any { return new([]byte) }}

// ContentHash returns [rule.Rule.ContentHash] in a fraction of the time: a bundle is verified by the hashes of all its rules.
func ContentHash(r *rule.Rule) string {
	content := r.Content()
	buf := contents.Get().(*[]byte)
	*buf = AppendJSON((*buf)[:0], &content, true)
	sum := sha256.Sum256(*buf)
	contents.Put(buf)
	return hexadecimal.EncodeToString(sum[:])
}

func (t *jsonText) rule(r *rule.Rule) {
	t.open()
	t.text("id", r.ID)
	t.text("project_id", r.ProjectID)
	t.textIf("slug", r.Slug)
	t.number("version", int64(r.Version))
	t.text("statement", r.Statement)
	t.text("modality", string(r.Modality))
	t.text("severity", string(r.Severity))
	list(t, "scope", r.Scope, oneText)
	list(t, "tags", r.Tags, oneText)
	t.text("rationale", r.Rationale)
	listIf(t, "exceptions", r.Exceptions, oneText)
	listIf(t, "examples", r.Examples, func(t *jsonText, e *rule.Example) {
		t.open()
		t.text("input", e.Input)
		t.text("verdict", string(e.Verdict))
		t.textIf("note", e.Note)
		t.end()
	})
	list(t, "source_refs", r.SourceRefs, func(t *jsonText, s *rule.SourceRef) {
		t.open()
		t.text("kind", s.Kind)
		t.textIf("uri", s.URI)
		t.textIf("document_id", s.DocumentID)
		t.textIf("section", s.Section)
		t.textIf("quote", s.Quote)
		t.end()
	})
	t.name("effective_period")
	t.open()
	if p := &r.EffectivePeriod; p.From != nil {
		t.time("from", *p.From)
	}
	if p := &r.EffectivePeriod; p.Until != nil {
		t.time("until", *p.Until)
	}
	t.end()
	t.text("status", string(r.Status))
	if a := r.AppliesTo; a != nil {
		t.name("applies_to")
		t.open()
		listIf(t, "paths", a.Paths, oneText)
		listIf(t, "exclude_paths", a.ExcludePaths, oneText)
		listIf(t, "repositories", a.Repositories, oneText)
		listIf(t, "kinds", a.Kinds, oneText)
		listIf(t, "tools", a.Tools, oneText)
		t.end()
	}
	if r.Check != nil {
		t.name("check")
		t.check(r.Check)
	}
	t.text("enforcement", string(r.Enforcement))
	if r.Waivable != nil {
		t.truth("waivable", *r.Waivable)
	}
	t.text("owner", r.Owner)
	t.time("created_at", r.CreatedAt)
	t.text("created_by", r.CreatedBy)
	t.text("authored_by", r.AuthoredBy)
	t.time("updated_at", r.UpdatedAt)
	t.text("updated_by", r.UpdatedBy)
	if r.Tests != nil {
		t.other("tests", r.Tests)
	}
	if r.Health != nil {
		t.number("health", int64(*r.Health))
	}
	if len(r.Findings) > 0 {
		t.other("lint", r.Findings)
	}
	if r.Pending != nil {
		t.other("pending", r.Pending)
	}
	t.textIf("change_note", r.ChangeNote)
	t.end()
}

func (t *jsonText) check(c *rule.Check) {
	t.open()
	t.textIf("cel", c.CEL)
	if p := c.Pattern; p != nil {
		t.name("pattern")
		t.open()
		t.text("regex", p.Regex)
		t.textIf("unless", p.Unless)
		listIf(t, "paths", p.Paths, oneText)
		listIf(t, "exclude_paths", p.ExcludePaths, oneText)
		t.textIf("lines", string(p.Lines))
		t.trueIf("multiline", p.Multiline)
		t.end()
	}
	t.textIf("when", c.When)
	t.textIf("decides", string(c.Decides))
	t.trueIf("proposed", c.Proposed)
	t.textIf("message", c.Message)
	t.textIf("fix", c.Fix)
	t.end()
}

func (t *jsonText) rulePage(p *Page[rule.Rule]) {
	t.open()
	list(t, "items", p.Items, (*jsonText).rule)
	t.number("total", int64(p.Total))
	t.number("page", int64(p.Page))
	t.number("page_size", int64(p.PageSize))
	t.end()
}

func (t *jsonText) searchPage(p *RuleSearchPage) {
	t.open()
	list(t, "items", p.Items, func(t *jsonText, i *RuleSearchItem) {
		t.open()
		t.name("rule")
		t.rule(&i.Rule)
		t.name("score")
		t.float(i.Score)
		t.textIf("reason", i.Reason)
		if len(i.Matched) > 0 {
			t.other("matched", i.Matched)
		}
		listIf(t, "highlights", i.Highlights, func(t *jsonText, h *Highlight) {
			t.open()
			t.text("field", h.Field)
			t.numberIf("index", h.Index)
			t.number("start", int64(h.Start))
			t.number("end", int64(h.End))
			t.end()
		})
		t.end()
	})
	t.number("total", int64(p.Total))
	t.number("page", int64(p.Page))
	t.number("page_size", int64(p.PageSize))
	t.text("query", p.Query)
	t.textIf("mode", string(p.Mode))
	if p.Degraded != nil {
		t.other("degraded", p.Degraded)
	}
	t.end()
}
