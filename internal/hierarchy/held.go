package hierarchy

import (
	"context"
	"strings"

	"tenet/internal/corpus"
	"tenet/internal/federation"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// HeldQuery selects rules that hold at a node; zero fields select everything.
type HeldQuery struct {
	Text        string
	Severity    rule.Severity
	Modality    rule.Modality
	Enforcement rule.Enforcement
	Origin      wire.Origin
	SourceID    string
	Weakened    bool
}

// HeldRules returns a page of the rules that hold at a node, the nearest first and those of no node last, with their number; not_found
// without the node.
func (h *Hierarchy) HeldRules(ctx context.Context, projectID, nodeID string, q HeldQuery, page rule.Page) ([]wire.HeldRule, int, error) {
	view, within, err := h.within(ctx, projectID, nodeID)
	if err != nil {
		return nil, 0, err
	}
	chain := view.Federation().Chain(within.NodeID)
	s := &selection{HeldQuery: q, page: page, out: []wire.HeldRule{}, view: view, node: chain[len(chain)-1]}
	s.Text, s.SourceID = strings.ToLower(strings.TrimSpace(q.Text)), strings.ToLower(q.SourceID)
	if q.Origin == wire.OriginIdle {
		s.idle(within)
		return s.out, s.total, nil
	}
	for end := len(within.Entries); end > 0; {
		begin := end - 1 // of the entries of one node, in order
		for begin > 0 && within.Entries[begin-1].NodeID == within.Entries[begin].NodeID {
			begin--
		}
		for i := begin; i < end; i++ {
			s.entry(&within.Entries[i])
		}
		end = begin
	}
	if (q.Origin == "" || q.Origin == wire.OriginEverywhere) && q.SourceID == "" && !q.Weakened {
		for _, r := range within.Everywhere {
			if s.matches(r) && s.next() {
				s.out = append(s.out, wire.HeldRule{Rule: brief(r, r.Scope), Origin: wire.OriginEverywhere})
			}
		}
	}
	return s.out, s.total, nil
}

// selection is the work of [Hierarchy.HeldRules].
type selection struct {
	HeldQuery

	page  rule.Page
	out   []wire.HeldRule
	total int
	view  *corpus.View
	node  *federation.Node
}

// next counts a rule that the query selects, and reports whether it is on the page.
func (s *selection) next() bool {
	s.total++
	return s.total > s.page.Offset() && len(s.out) < s.page.Size
}

func (s *selection) matches(r *rule.Rule) bool {
	return (s.Severity == "" || r.Severity == s.Severity) && (s.Modality == "" || r.Modality == s.Modality) &&
		(s.Enforcement == "" || r.Enforcement == s.Enforcement) &&
		(s.Text == "" || contains(r.Statement, s.Text) || contains(r.Slug, s.Text))
}

func (s *selection) entry(e *federation.Entry) {
	origin := wire.OriginAdded
	switch {
	case e.Inherited || e.Above():
		origin = wire.OriginInherited
	case e.Overrides != "":
		origin = wire.OriginOverride
	}
	if (s.Origin != "" && s.Origin != origin) || (s.SourceID != "" && s.SourceID != e.NodeID) || (s.Weakened && e.Overrides == "") || !s.matches(e.Rule) {
		return
	}
	if s.Weakened && len(federation.Loosens(s.view, s.attachment(e))) == 0 {
		return
	}
	if !s.next() {
		return
	}
	a := s.attachment(e)
	at := a.CreatedAt
	s.out = append(s.out, wire.HeldRule{
		Rule: brief(e.Rule, e.Scope()), Origin: origin, SourceNodeID: e.NodeID, SourcePath: s.view.Federation().Path(e.NodeID),
		AttachedBy: a.CreatedBy, ApprovedBy: a.ApprovedBy, AttachedAt: &at, Override: s.override(a, e.Overrides != ""),
	})
}

// attachment returns the attachment of the rule of an entry to the node that supplies it.
func (s *selection) attachment(e *federation.Entry) *rule.Attachment {
	n, ok := s.view.Federation().Node(e.NodeID)
	if ok {
		if a := n.Attachment(e.Rule.ID); a != nil {
			return a
		}
	}
	return &rule.Attachment{NodeID: e.NodeID, RuleID: e.Rule.ID}
}

// override describes the rule that an attachment is to override; nil without one.
func (s *selection) override(a *rule.Attachment, acts bool) *wire.OverrideDetail {
	if a.OverrideID == nil {
		return nil
	}
	out := &wire.OverrideDetail{
		RuleID: *a.OverrideID, Acts: acts, Loosens: append([]string{}, federation.Loosens(s.view, a)...), AllowWeakening: a.AllowWeakening, Reason: a.Reason,
	}
	if r, ok := s.view.Rule(*a.OverrideID); ok {
		out.Slug, out.Statement = r.Slug, r.Statement
	}
	return out
}

// idle lists the rules that are attached to the node and do not hold there.
func (s *selection) idle(within *corpus.Within) {
	for _, a := range s.node.Attached {
		r, ok := s.view.Rule(a.RuleID)
		if !ok || !s.matches(r) || (s.Weakened && len(federation.Loosens(s.view, a)) == 0) || (s.SourceID != "" && s.SourceID != s.node.ID) {
			continue
		}
		if _, holds := within.Entry(a.RuleID); holds || !s.next() {
			continue
		}
		at := a.CreatedAt
		s.out = append(s.out, wire.HeldRule{
			Rule: brief(r, r.Scope), Origin: wire.OriginIdle, SourceNodeID: s.node.ID, SourcePath: s.view.Federation().Path(s.node.ID),
			AttachedBy: a.CreatedBy, ApprovedBy: a.ApprovedBy, AttachedAt: &at, Override: s.override(a, false),
		})
	}
}

// contains reports whether words in lower case occur in a text, in any letter case.
func contains(text, words string) bool {
	if strings.ContainsFunc(words, func(r rune) bool { return r >= 0x80 }) {
		return strings.Contains(strings.ToLower(text), words)
	}
	for i := 0; i+len(words) <= len(text); i++ {
		n := 0
		for n < len(words) && lower(text[i+n]) == words[n] {
			n++
		}
		if n == len(words) {
			return true
		}
	}
	return false
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}
