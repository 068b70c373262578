package api

import (
	"context"
	"slices"
	"strings"

	"tenet/internal/api/rest"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// mending is a request to mend a conflict, with the rules that it concerns.
type mending struct {
	api   Conflicts
	id    string
	body  *wire.MendConflict
	sides [2]rule.Rule // first the rule that is changed or prevails
}

func (s Conflicts) mend(ctx context.Context, in *conflictRef, body *wire.MendConflict) (wire.MendedConflict, error) {
	m := &mending{api: s, id: in.ID, body: body}
	if err := m.check(ctx); err != nil {
		return wire.MendedConflict{}, err
	}
	if body.DryRun {
		return m.try(ctx)
	}
	out, err := m.write(ctx)
	if err != nil || out.Outcome == wire.MendOutcomeWaits {
		return out, err
	}
	out.Conflict, out.Reason, err = s.Conflicts.Mended(ctx, rest.Project(ctx), in.ID, m.note())
	out.Outcome = outcomeOf(out.Reason)
	return out, err
}

func outcomeOf(reason string) string {
	if reason != "" {
		return wire.MendOutcomeRemains
	}
	return wire.MendOutcomeMended
}

// check reads the rules of the conflict, and refuses a request that does not say one thing to do to one of them.
func (m *mending) check(ctx context.Context) error {
	one, other, err := m.api.Conflicts.Sides(ctx, rest.Project(ctx), m.id)
	if err != nil {
		return err
	}
	var p rule.Problems
	is := func(r *rule.Rule) bool { return m.body.Rule == r.ID || m.body.Rule == r.Slug && r.Slug != "" }
	switch {
	case is(&one):
		m.sides = [2]rule.Rule{one, other}
	case is(&other):
		m.sides = [2]rule.Rule{other, one}
	default:
		p.Add("rule", "is not one of the rules of the conflict, which are %s and %s", one.Label(), other.Label())
	}
	m.body.Exception, m.body.Reason = strings.TrimSpace(m.body.Exception), strings.TrimSpace(m.body.Reason)
	ways := 0
	for _, given := range []bool{m.body.Change != nil, m.body.Exception != "", m.body.Override} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		p.Add("change", "give just one of change, exception and override")
	}
	if m.body.Override && m.body.Reason == "" {
		p.Add("reason", "must say why the one rule prevails")
	}
	if m.body.AllowWeakening && m.body.Exception != "" {
		p.Add("allow_weakening", "goes with override and change")
	}
	if m.body.Change != nil && m.body.Change.ChangeNote != "" {
		p.Add("change.change_note", "belongs into reason")
	}
	if m.body.Change != nil && m.body.Change.AllowWeakening {
		p.Add("change.allow_weakening", "belongs beside change")
	}
	return p.Err("the request cannot mend the conflict")
}

// edit changes the rule as the request says.
func (m *mending) edit(r *rule.Rule) {
	if m.body.Change != nil {
		r.Assign(m.body.Change)
		return
	}
	r.Exceptions = append(slices.Clone(r.Exceptions), m.body.Exception)
}

// note returns the words that the conflict keeps.
func (m *mending) note() string {
	way := "changed " + m.sides[0].Label()
	switch {
	case m.body.Override:
		way = m.sides[0].Label() + " overrides " + m.sides[1].Label()
	case m.body.Exception != "":
		way = "added an exception to " + m.sides[0].Label()
	}
	if m.body.Reason == "" {
		return way
	}
	return way + ": " + m.body.Reason
}

// try returns what the request would lead to.
func (m *mending) try(ctx context.Context) (wire.MendedConflict, error) {
	out := wire.MendedConflict{Changes: []rule.FieldChange{}}
	first, projectID := m.sides[0], rest.Project(ctx)
	if m.body.Override {
		out.Outcome, out.Weakens = wire.MendOutcomeMended, first.Weakens(&m.sides[1])
	} else {
		tried, err := m.api.Catalog.Preview(ctx, projectID, first.ID, m.edit)
		if err != nil {
			return out, err
		}
		first, out.Weakens = tried.Rule, tried.Weakens
		if len(tried.Changes) > 0 {
			out.Changes = tried.Changes
		}
		out.Others = slices.DeleteFunc(tried.Conflicts, func(c rule.RevisionConflict) bool { return c.RuleID == m.sides[1].ID })
		if tried.Waits {
			out.Outcome = wire.MendOutcomeWaits
		}
	}
	var err error
	var remains string
	out.Conflict, remains, err = m.api.Conflicts.Try(ctx, projectID, m.id, &first, &m.sides[1])
	if !m.body.Override {
		out.Reason = remains
	}
	if out.Outcome == "" {
		out.Outcome = outcomeOf(out.Reason)
	}
	return out, err
}

// write makes the change of the rule, or the relationship.
func (m *mending) write(ctx context.Context) (wire.MendedConflict, error) {
	out := wire.MendedConflict{Changes: []rule.FieldChange{}}
	projectID, before := rest.Project(ctx), m.sides[0]
	if m.body.Override {
		_, err := m.api.Catalog.Relate(ctx, projectID, before.ID, wire.RelationshipInput{
			To: m.sides[1].ID, Kind: rule.Overrides, Reason: m.body.Reason, AllowWeakening: m.body.AllowWeakening,
		})
		return out, err
	}
	note := m.body.Reason
	if note == "" {
		note = "mends the conflict with " + m.sides[1].Label()
	}
	after, err := m.api.Catalog.Revise(ctx, projectID, before.ID, m.body.Version, rule.Permission{AllowWeakening: m.body.AllowWeakening, Reason: note}, func(r *rule.Rule) error {
		m.edit(r)
		return nil
	})
	if err != nil {
		return out, err
	}
	if after.Pending != nil {
		out.Outcome, out.Revision, out.Changes = wire.MendOutcomeWaits, after.Pending.Number, after.Pending.Changes
		out.Conflict, err = m.api.Conflicts.Get(ctx, projectID, m.id)
		return out, err
	}
	if changes := rule.Diff(before, after); len(changes) > 0 {
		out.Changes = changes
		return out, nil
	}
	return out, rule.Errorf(rule.CodeInvalid, "the change leaves the rule as it is")
}
