package console

import (
	"cmp"
	"slices"
	"strings"

	"tenet/internal/client"
	"tenet/internal/console/wordmark"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// diffShown is the number of rules on a page of a difference.
const diffShown = 25

// diffChanges are the parts of a difference.
var diffChanges = []string{"modified", "added", "removed"}

// ruleChange is a rule that differs, with its fields word by word.
type ruleChange struct {
	wire.RuleModified

	changes []fieldChange
}

// releaseDiff is the view of the difference of two snapshots.
type releaseDiff struct {
	wire.Difference

	change   string
	modified []ruleChange
	notes    []wire.RuleNote // added or removed
	place    pager
}

// compareSnapshots shows a page of the difference of two snapshots, or of a snapshot and the live rules.
func compareSnapshots(p *page) error {
	query := p.r.URL.Query()
	from, to := query.Get("from"), cmp.Or(query.Get("to"), wire.LiveRules)
	if from == "" {
		return rule.Errorf(rule.CodeInvalid, "choose the snapshot to compare with")
	}
	from, to, err := sidesOf(p, from, to)
	if err != nil {
		return err
	}
	v := releaseDiff{change: query.Get("change")}
	if !slices.Contains(diffChanges, v.change) {
		v.change = ""
	}
	q := wire.DiffQuery{Change: cmp.Or(v.change, diffChanges[0]), Limit: diffShown, Offset: (pageOf(p.r) - 1) * diffShown}
	if v.Difference, err = client.Get(p.ctx, p.api, op.DiffSnapshots.At(from, to).Where(q)); err != nil {
		return err
	}
	if v.change == "" { // the first part that has something
		v.change = diffChanges[0]
		for _, change := range diffChanges {
			if v.count(change) > 0 {
				v.change = change
				break
			}
		}
		if q.Change != v.change {
			q.Change = v.change
			if v.Difference, err = client.Get(p.ctx, p.api, op.DiffSnapshots.At(from, to).Where(q)); err != nil {
				return err
			}
		}
	}
	for _, m := range v.Modified {
		one := ruleChange{RuleModified: m}
		for _, f := range m.Fields {
			one.changes = append(one.changes, fieldChange{name: strings.ReplaceAll(f.Field, "_", " "), pieces: wordmark.Compare(readable(f.Before), readable(f.After))})
		}
		v.modified = append(v.modified, one)
	}
	v.notes = slices.Concat(v.Added, v.Removed)
	v.place = pager{pageOf(p.r), diffShown, len(v.modified) + len(v.notes), v.count(v.change)}
	return p.show(head{Title: "Compare " + v.name(true) + " with " + v.name(false), Nav: "releases"}, releaseDiffView(p, v))
}

// sidesOf replaces the names of environments by the snapshots that are active there.
func sidesOf(p *page, from, to string) (string, string, error) {
	sides := []string{from, to}
	if slices.ContainsFunc(sides, func(s string) bool { return slices.Contains(wire.Environments, wire.Environment(s)) }) {
		all, err := client.Get(p.ctx, p.api, op.ListEnvironments)
		if err != nil {
			return "", "", err
		}
		for i := range sides {
			for _, e := range all {
				if string(e.Environment) != sides[i] {
					continue
				}
				if e.Active == nil {
					return "", "", rule.Errorf(rule.CodeConflict, "nothing is deployed to %s", e.Environment)
				}
				sides[i] = e.Active.SnapshotID
				break
			}
		}
	}
	return sides[0], sides[1], nil
}

// count is the number of rules of a part.
func (v *releaseDiff) count(change string) int {
	switch change {
	case "added":
		return v.RulesAdded
	case "removed":
		return v.RulesRemoved
	}
	return v.RulesModified
}

// name is the name of one side.
func (v *releaseDiff) name(first bool) string {
	if first {
		return cmp.Or(v.FromName, "the live rules")
	}
	return cmp.Or(v.ToName, "the live rules")
}

// same reports whether the two sides hold the same.
func (v *releaseDiff) same() bool {
	return v.RulesAdded+v.RulesRemoved+v.RulesModified+v.Relationships == 0 && !v.Federation
}
