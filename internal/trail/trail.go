// Package trail reads audit chains for people: it finds entries, lists the fields that each has changed, and exports them.
//
// An entry holds what changed, or the state of its object after it. In the second case the change is the difference to the entry before
// about the same object; imports name versions of rules, whose differences are read from the rules. docs/audit.md says what people see.
package trail

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/evaluate/find"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Store holds the parts of the database that a [Trail] reads.
type Store struct {
	Audit    store.AuditReader
	Projects store.ProjectReader
	Rules    store.RuleReader
}

// Trail reads the audit chains. It is safe for concurrent use.
type Trail struct {
	store Store
	chain find.Chain
}

// New returns a Trail of the entries in s, which index finds.
func New(s Store, index *find.Index) *Trail { return &Trail{s, find.NewChain(index)} }

// maxRules bounds the rules of an entry that a list names.
const maxRules = 20

// List returns a page of entries of a project's chain, newest first; not_found without the project, invalid if the filter has values that
// nothing can have.
func (t *Trail) List(ctx context.Context, projectID string, in wire.AuditEntryQuery) (wire.AuditPage, error) {
	q, err := t.query(ctx, projectID, &in.AuditFilter)
	if err != nil {
		return wire.AuditPage{}, err
	}
	found, err := t.chain.Find(ctx, projectID, q, in.Cursor, in.PageQuery)
	if err != nil {
		return wire.AuditPage{}, err
	}
	page := wire.AuditPage{
		Page:       wire.Page[wire.AuditEntry]{Items: make([]wire.AuditEntry, len(found.Entries)), Total: found.Total, Page: in.Page, PageSize: in.PageSize},
		NextCursor: found.Next, Unsearched: found.Unsearched,
	}
	for i := range found.Entries {
		page.Items[i], _ = entryOf(ctx, &found.Entries[i])
	}
	return page, t.name(ctx, projectID, page.Items)
}

// query reads a filter. Its error names every parameter that is wrong.
func (t *Trail) query(ctx context.Context, projectID string, f *wire.AuditFilter) (find.ChainQuery, error) {
	var p rule.Problems
	q := find.ChainQuery{Action: f.Action, Actor: f.Actor, Person: f.Person, Agent: f.Agent, Session: f.Session, Since: f.Since, Until: f.Until}
	if _, err := t.store.Projects.Get(ctx, projectID); err != nil {
		return q, err
	}
	for _, kind := range f.Kind {
		k := strings.ToLower(strings.TrimSpace(kind))
		if !slices.Contains(audit.Kinds, k) {
			p.Add("kind", "is %q; use some of %s", clip(kind), strings.Join(audit.Kinds, ", "))
		} else if !slices.Contains(q.Kinds, k) {
			q.Kinds = append(q.Kinds, k)
		}
	}
	if f.Verdict != "" {
		v, ok := rule.Parse(f.Verdict, rule.Verdicts)
		if !ok {
			p.Add("verdict", "is %q; use one of %s", clip(f.Verdict), rule.Names(rule.Verdicts))
		}
		q.Verdict = string(v)
	}
	if f.Rule != "" {
		r, err := t.store.Rules.Get(ctx, projectID, f.Rule)
		switch {
		case rule.CodeOf(err) == rule.CodeNotFound:
			p.Add("rule", "is %q, which is the id or the slug of no rule; a retired rule goes by its id", clip(f.Rule))
		case err != nil:
			return q, err
		}
		q.Rule = r.ID
	}
	if f.Evaluation != "" {
		if !rule.IsID(f.Evaluation) {
			p.Add("evaluation", "is %q, which is no id of an evaluation", clip(f.Evaluation))
		}
		q.Evaluation = strings.ToLower(f.Evaluation)
	}
	if f.Object != "" {
		kind, id, ok := strings.Cut(f.Object, ":")
		if !ok || kind == "" || id == "" {
			p.Add("object", "is %q; give the kind and the id of an entry's object, such as webhook:0198a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b", clip(f.Object))
		}
		q.Object = audit.Object{Kind: kind, ID: id}
	}
	if f.Since != nil && f.Until != nil && !f.Since.Before(*f.Until) {
		p.Add("until", "is not after since, so nothing can match")
	}
	return q, p.Err("the query is invalid")
}

func clip(s string) string {
	const limit = 200
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "..."
}

// hidden are the kinds of entries whose details only administrators see, as they alone see the things that the entries are about.
var hidden = []string{audit.KindKey, audit.KindSignIn, audit.KindWebhook}

// entryOf returns an entry as the actor of ctx sees it, and what it says.
func entryOf(ctx context.Context, e *store.AuditEntry) (wire.AuditEntry, audit.About) {
	out := wire.AuditEntry{
		ProjectID: e.ProjectID, Seq: e.Seq, ID: e.ID, At: e.At, Kind: e.Kind, Actor: e.Actor, Verdict: e.Verdict, Mode: e.Mode, Hash: e.Hash,
		Removed: len(e.Body) == 0,
	}
	about, err := audit.Read(e)
	if err != nil {
		out.Problem = "its body is damaged"
		about = audit.About{}
	}
	out.Action, out.Identity = about.Action, about.Identity
	if e.Kind == audit.KindEvaluation {
		out.Identity = audit.EvaluationIdentity(e)
	}
	out.Object = wire.AuditObject{Kind: about.Object.Kind, ID: about.Object.ID, Label: clip(about.Object.Label)}
	if len(about.Evaluations) > 0 {
		out.EvaluationID = about.Evaluations[0]
	}
	if slices.Contains(hidden, e.Kind) && !auth.ActorFrom(ctx).Role.Allows(auth.Admin) {
		out.Withheld, out.Object.Label = true, ""
		about = audit.About{Action: about.Action, Object: about.Object}
		about.Object.Label = ""
	}
	out.Reason = about.Reason
	out.RuleCount = len(about.Rules)
	for _, id := range about.Rules[:min(len(about.Rules), maxRules)] {
		out.Rules = append(out.Rules, wire.AuditRule{ID: id})
	}
	if about.Recorded {
		for _, c := range about.Changes {
			if !slices.Contains(out.Fields, c.Field) {
				out.Fields = append(out.Fields, c.Field)
			}
		}
	}
	out.Summary = summary(&out, &about)
	return out, about
}

// summary is an entry in one line.
func summary(e *wire.AuditEntry, about *audit.About) string {
	switch {
	case e.Problem != "":
		return e.Problem
	case e.Kind == audit.KindEvaluation:
		return "evaluated: " + strings.ReplaceAll(e.Verdict, "_", " ")
	case e.Kind == audit.KindImport:
		parts := make([]string, len(about.Changes))
		for i, c := range about.Changes {
			parts[i] = fmt.Sprintf("%s %s", c.After, c.Field)
		}
		return strings.TrimSuffix("rules imported: "+strings.Join(parts, ", "), ": ")
	case e.Kind == audit.KindRetention:
		return "records removed under the retention setting"
	}
	text := strings.ReplaceAll(e.Object.Kind, "_", " ")
	if e.Object.Label != "" {
		text += " " + e.Object.Label
	}
	text = strings.TrimSuffix(text, ".") + ": " + e.Action
	if changed := e.Fields; len(changed) > 0 && !about.Made && !about.Removed {
		const most = 6
		names := strings.Join(changed[:min(len(changed), most)], ", ")
		if more := len(changed) - most; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		text += " (" + strings.ReplaceAll(names, "_", " ") + ")"
	}
	return text
}

// name sets the slugs of the rules of entries.
func (t *Trail) name(ctx context.Context, projectID string, entries []wire.AuditEntry) error {
	seen := map[string]bool{}
	var ids []string
	for i := range entries {
		for _, r := range entries[i].Rules {
			if !seen[r.ID] {
				seen[r.ID] = true
				ids = append(ids, r.ID)
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rules, err := t.store.Rules.GetMany(ctx, projectID, ids)
	if err != nil {
		return err
	}
	for i := range entries {
		for j := range entries[i].Rules {
			r := &entries[i].Rules[j]
			r.Slug = rules[r.ID].Slug
		}
	}
	return nil
}

// Entry returns an entry by its number, with what it has changed; p is the page of the rules that it names by version. The error is
// not_found without the project or the entry.
func (t *Trail) Entry(ctx context.Context, projectID string, seq int64, p wire.PageQuery) (wire.AuditEntryDetail, error) {
	var out wire.AuditEntryDetail
	if _, err := t.store.Projects.Get(ctx, projectID); err != nil {
		return out, err
	}
	list, err := t.store.Audit.Entries(ctx, projectID, seq-1, 1)
	if err != nil {
		return out, err
	}
	if len(list) == 0 || list[0].Seq != seq {
		return out, rule.NotFound("entry of the audit chain", fmt.Sprint(seq))
	}
	e := &list[0]
	var about audit.About
	out.AuditEntry, about = entryOf(ctx, e)
	out.BodyHash, out.PrevHash = e.BodyHash, e.PrevHash
	out.Changes = []rule.FieldChange{}
	out.RuleChanges = wire.Page[wire.AuditRuleChange]{Items: []wire.AuditRuleChange{}, Page: p.Page, PageSize: p.PageSize}
	if !out.Withheld && out.Problem == "" {
		if err := t.changes(ctx, projectID, e, &about, &out); err != nil {
			return out, err
		}
		if out.RuleChanges, err = t.versions(ctx, projectID, about.Versions, p); err != nil {
			return out, err
		}
		out.Record = record(e)
	}
	one := []wire.AuditEntry{out.AuditEntry}
	err = t.name(ctx, projectID, one)
	out.Rules = one[0].Rules
	return out, err
}

// record is the body of an entry that is no evaluation; nil if it cannot be read.
func record(e *store.AuditEntry) json.RawMessage {
	if e.Kind == audit.KindEvaluation {
		return nil
	}
	body, err := audit.Body(*e)
	if err != nil || !json.Valid(body) {
		return nil
	}
	return body
}

// maxBefore is how many entries about the same object are read for one with a state to compare with.
const maxBefore = 10

// changes sets what an entry has changed: as it records it, or by comparison with the entry before about the same object.
func (t *Trail) changes(ctx context.Context, projectID string, e *store.AuditEntry, about *audit.About, out *wire.AuditEntryDetail) error {
	if about.Recorded || about.State == nil || about.Object.ID == "" {
		out.Changes = append(out.Changes, about.Changes...)
		return nil
	}
	q := find.ChainQuery{Kinds: []string{e.Kind}, Object: about.Object}
	found, err := t.chain.Before(ctx, projectID, q, e.Seq, maxBefore)
	if err != nil {
		return err
	}
	for i := range found {
		before, err := audit.Read(&found[i])
		if err != nil || before.State == nil {
			continue
		}
		out.Compared = found[i].Seq
		out.Changes = append(out.Changes, audit.Compare(before.State, about.State)...)
		return nil
	}
	out.Changes = append(out.Changes, audit.Compare(nil, about.State)...)
	return nil
}

// proposed is the action of an import that proposes a revision, which makes no version.
const proposed = "propose"

// versions returns a page of the rules that an entry names by version, with what has changed.
func (t *Trail) versions(ctx context.Context, projectID string, named []audit.RuleVersion, p wire.PageQuery) (wire.Page[wire.AuditRuleChange], error) {
	out := wire.Page[wire.AuditRuleChange]{Items: []wire.AuditRuleChange{}, Total: len(named), Page: p.Page, PageSize: p.PageSize}
	from := min(p.Offset(), len(named))
	named = named[from:min(from+p.PageSize, len(named))]
	var now, before []store.VersionRef
	for _, v := range named {
		now = append(now, store.VersionRef{RuleID: v.RuleID, Version: v.Version})
		before = append(before, store.VersionRef{RuleID: v.RuleID, Version: v.Version - 1})
	}
	if len(named) == 0 {
		return out, nil
	}
	after, err := t.store.Rules.AtVersions(ctx, projectID, unique(now))
	if err != nil {
		return out, err
	}
	earlier, err := t.store.Rules.AtVersions(ctx, projectID, unique(before))
	if err != nil {
		return out, err
	}
	for _, v := range named {
		r := after[v.RuleID]
		c := wire.AuditRuleChange{RuleID: v.RuleID, Slug: r.Slug, Version: v.Version, Action: v.Action, Changes: []rule.FieldChange{}}
		if v.Action != proposed && r.ID != "" {
			c.Changes = diff(earlier[v.RuleID], r)
		}
		out.Items = append(out.Items, c)
	}
	return out, nil
}

// unique leaves one reference for each rule.
func unique(refs []store.VersionRef) []store.VersionRef {
	seen := map[string]bool{}
	return slices.DeleteFunc(refs, func(r store.VersionRef) bool {
		again := seen[r.RuleID]
		seen[r.RuleID] = true
		return again
	})
}

// diff lists the fields in which two versions of a rule differ. Values that say nothing are absent.
func diff(before, after rule.Rule) []rule.FieldChange {
	list := rule.Diff(before, after)
	if before.ID != "" && before.Status != after.Status {
		list = append(list, rule.FieldChange{Field: "status", Before: audit.JSON(before.Status), After: audit.JSON(after.Status)})
	}
	for i := range list {
		list[i].Before, list[i].After = audit.Value(list[i].Before), audit.Value(list[i].After)
	}
	return list
}
