package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// Object is the thing that an entry is about. Its ID is unique among the objects of the kind in a project.
type Object struct {
	Kind  string
	ID    string
	Label string // for people: a slug, a name or a statement; may be empty
}

// Kinds of objects. Those of rules and evaluations are found by [About.Rules] and [About.Evaluations], too.
const (
	ObjectRule         = "rule"
	ObjectEvaluation   = "evaluation"
	ObjectProject      = "project"
	ObjectNode         = "node"
	ObjectAttachment   = "attachment"
	ObjectRelationship = "relationship"
	ObjectConflict     = "conflict"
	ObjectKey          = "key"
	ObjectSnapshot     = "snapshot"
	ObjectEnvironment  = "environment"
	ObjectGates        = "gates"
	ObjectDocument     = "document"
	ObjectWaiver       = "waiver"
	ObjectApproval     = "approval"
	ObjectTestCase     = "test_case"
	ObjectScan         = "scan"
	ObjectCandidate    = "candidate"
	ObjectAlert        = "alert"
	ObjectWebhook      = "webhook"
	ObjectAgent        = "agent"
	ObjectSuspension   = "suspension"
	ObjectServer       = "mcp_server"
	ObjectHold         = "hold"
	ObjectEdge         = "edge"
)

// RuleVersion is a version of a rule that an entry names without what it says.
type RuleVersion struct {
	RuleID  string `json:"rule_id"`
	Version int    `json:"version"`
	Action  string `json:"action"`
}

// About is the content of an entry: the action, its object, and the changes.
type About struct {
	Action string
	Object Object
	// Identity is for whom and by which agent the actor acted; nil where the actor says it all, and for evaluations.
	Identity *rule.Identity
	// Reason has the words of the actor.
	Reason string
	// Rules and Evaluations are the ids of those that the entry concerns.
	Rules       []string
	Evaluations []string
	// Changes are the fields that the entry records as changed. Recorded reports whether it records them; if not, State compared with the
	// State of the entry before it about the same object shows them.
	Changes  []rule.FieldChange
	Recorded bool
	// State has the fields of the object after the entry, by name; nil where the entry does not have them.
	State map[string]json.RawMessage
	// Made and Removed report that the object began and ended with the entry.
	Made, Removed bool
	// Versions are the rules whose versions the entry names.
	Versions []RuleVersion
}

// fields is a JSON object.
type fields map[string]json.RawMessage

func (f fields) text(name string) string {
	var s string
	_ = json.Unmarshal(f[name], &s) // other types have no text
	return s
}

func (f fields) object(name string) fields {
	var o fields
	_ = json.Unmarshal(f[name], &o) // other types have no fields
	return o
}

func (f fields) list(name string) []fields {
	var l []fields
	_ = json.Unmarshal(f[name], &l) // other types have no elements
	return l
}

func (f fields) changes(name string) ([]rule.FieldChange, bool) {
	var l []rule.FieldChange
	raw, ok := f[name]
	return l, ok && json.Unmarshal(raw, &l) == nil
}

// Actions of entries whose bodies name none.
const (
	ActionEvaluated = "evaluated"
	ActionImported  = "imported"
	ActionAnswered  = "answered"
	ActionRemoved   = "records removed"
)

// Read returns what an entry says. The entry of an evaluation says the same with its body and without. It fails if the body is damaged.
func Read(e *store.AuditEntry) (About, error) {
	if e.Kind == KindEvaluation {
		return About{Action: ActionEvaluated, Object: Object{Kind: ObjectEvaluation, ID: e.ID}, Evaluations: []string{e.ID}}, nil
	}
	if e.Kind == KindAgent && len(e.Body) == 0 { // removed under the retention setting
		return About{Action: ActionAnswered, Object: Object{Kind: ObjectAgent}, Recorded: true}, nil
	}
	text, err := Body(*e)
	if err != nil {
		return About{}, err
	}
	b, err := fieldsOf(text)
	if err != nil {
		return About{}, fmt.Errorf("audit: entry %d of project %s: %w", e.Seq, e.ProjectID, err)
	}
	a := About{Action: b.text("action"), Reason: b.text("reason")}
	a.Changes, a.Recorded = b.changes("changed")
	if raw, ok := b[identityField]; ok {
		_ = json.Unmarshal(raw, &a.Identity) // a damaged one names nobody
		delete(b, identityField)
	}
	delete(b, inForceField) // for programs
	if read := readers[e.Kind]; read != nil {
		read(&a, b)
	}
	if a.Object.Kind == "" {
		a.Object.Kind = e.Kind
	}
	if a.Made && !a.Recorded && a.State != nil {
		a.Changes, a.Recorded = Compare(nil, a.State), true
	}
	if a.Removed && !a.Recorded && a.State != nil {
		a.Changes, a.Recorded = Compare(a.State, nil), true
	}
	return a, nil
}

// readers read the bodies of entries by kind.
var readers = map[string]func(*About, fields){
	KindRule: readRule, KindImport: readImport, KindCorpus: readCorpus, KindRelation: readRelation, KindConflict: readConflict,
	KindFederation: readFederation, KindProject: readProject, KindKey: readKey, KindRelease: readRelease, KindDocument: readDocument,
	KindWaiver: readWaiver, KindApproval: readApproval, KindTestCase: readTestCases, KindDiscovery: readDiscovery, KindAlert: readAlert, KindWebhook: readWebhook,
	KindQueue: readQueue, KindSuspension: readSuspension, KindTools: readTools, KindSample: readSample, KindAgent: readAgent, KindRetention: readRetention, KindHold: readHold,
}

// concern adds rules that the entry concerns.
func (a *About) concern(ids ...string) {
	for _, id := range ids {
		if id != "" && !slices.Contains(a.Rules, id) {
			a.Rules = append(a.Rules, id)
		}
	}
}

// label is the name that people use for a rule.
func label(r fields) string {
	if slug := r.text("slug"); slug != "" {
		return slug
	}
	return r.text("statement")
}

func readRule(a *About, b fields) {
	r := b.object("rule")
	if revision := b.object("revision"); revision != nil {
		if r == nil {
			r = fields{"id": revision["rule_id"], "slug": revision["slug"]}
		}
		if !a.Recorded {
			a.Changes, a.Recorded = revision.changes("changes")
		}
		for _, name := range []string{"decision_note", "note"} {
			if a.Reason == "" {
				a.Reason = revision.text(name)
			}
		}
	}
	a.Object = Object{ObjectRule, r.text("id"), label(r)}
	a.concern(a.Object.ID)
	a.Made = a.Action == "created"
	if statement := r["statement"]; statement != nil {
		a.State = without(r, "id", "project_id", "version", "created_at", "created_by", "updated_at", "updated_by", "change_note")
	}
	if a.Reason == "" {
		a.Reason = r.text("change_note")
	}
}

// without is a copy of an object that lacks some fields.
func without(f fields, names ...string) fields {
	f = maps.Clone(f)
	for _, name := range names {
		delete(f, name)
	}
	return f
}

// appendCount adds a number that an entry gives, unless it is 0.
func appendCount(list []rule.FieldChange, b fields, name string) []rule.FieldChange {
	var n int
	if json.Unmarshal(b[name], &n) != nil {
		var l []json.RawMessage
		_ = json.Unmarshal(b[name], &l) // neither a number nor a list counts nothing
		n = len(l)
	}
	if n == 0 {
		return list
	}
	return append(list, rule.FieldChange{Field: name, After: JSON(n)})
}

func readCorpus(a *About, b fields) {
	corpus := b.object("corpus")
	a.Object = Object{Kind: "corpus", ID: "corpus"}
	a.State = fields{"rules": corpus["rules"], "digest": corpus["digest"]}
	if len(corpus) == 0 {
		a.State = nil
	}
}

func readRelation(a *About, b fields) {
	r := b.object("relationship")
	a.Object = Object{ObjectRelationship, r.text("id"), words(r.text("kind"))}
	a.concern(r.text("from_rule_id"), r.text("to_rule_id"))
	a.Made, a.Removed = a.Action == "created", a.Action == "removed"
	a.State = without(r, "id", "project_id", "created_at", "created_by")
	if a.Reason == "" {
		a.Reason = r.text("reason")
	}
}

func words(s string) string { return strings.ReplaceAll(s, "_", " ") }

func readConflict(a *About, b fields) {
	a.Object = Object{ObjectConflict, b.text("conflict_id"), ""}
	a.concern(b.text("rule_id"), b.text("other_rule_id"))
	a.Reason = b.text("note")
	a.State = fields{"state": JSON(a.Action)}
}

func readFederation(a *About, b fields) {
	if n := b.object("node"); n != nil {
		a.Object = Object{ObjectNode, n.text("id"), n.text("name")}
		a.State = without(n, "id", "project_id", "created_at", "created_by", "updated_at", "updated_by")
	} else if at := b.object("attachment"); at != nil {
		a.Object = Object{ObjectAttachment, at.text("node_id") + " " + at.text("rule_id"), b.text("rule")}
		a.concern(at.text("rule_id"), at.text("override_id"))
		a.State = without(at, "created_at", "created_by")
	}
	a.Made = a.Action == "node created" || a.Action == "rule attached"
	a.Removed = a.Action == "node deleted" || a.Action == "rule removed"
}

func readProject(a *About, b fields) {
	p := b.object("project")
	a.Object = Object{ObjectProject, p.text("id"), p.text("name")}
	a.State = without(p, "id", "created_at", "updated_at")
	a.Made = a.Action == "created"
	if policy := b.object("policy"); policy != nil && a.Reason == "" {
		a.Reason = policy.text("reason")
	}
}

func readKey(a *About, b fields) {
	a.Object = Object{ObjectKey, b.text("key_id"), b.text("name")}
	a.Made, a.Removed = a.Action == "created", a.Action == "revoked"
	a.State = fields{"name": b["name"], "role": b["role"], "project_id": b["project_id"]}
	maps.Copy(a.State, b.object("settings"))
	if a.Removed {
		a.State = nil // the entry does not have them
	}
}

func readRelease(a *About, b fields) {
	switch environment, snapshot, edge := b.text("environment"), b.text("snapshot_id"), b.text("edge"); {
	case edge != "":
		a.Object, a.State = Object{ObjectEdge, edge, edge}, without(b, "action", "edge", "reread")
		a.Removed = a.Action == "edge forgotten"
	case a.Action == "gates":
		a.Object, a.State = Object{ObjectGates, environment, environment}, b.object("gates")
	case environment != "":
		a.Object = Object{ObjectEnvironment, environment, environment}
		a.State = fields{"snapshot_id": b["snapshot_id"]}
	default:
		a.Object = Object{ObjectSnapshot, snapshot, b.text("name")}
		a.State = without(b, "action", "snapshot_id", "note", "reason", "changed")
		a.Made = a.Action == "snapshot"
	}
	if note := b.text("note"); note != "" && a.Reason == "" {
		a.Reason = note
	}
}

func readDocument(a *About, b fields) {
	d := b.object("document")
	a.Object = Object{ObjectDocument, d.text("id"), d.text("title")}
	a.State = without(d, "id", "project_id", "created_at", "created_by")
	a.Made, a.Removed = a.Action == "uploaded", a.Action == "deleted"
}

func readWaiver(a *About, b fields) {
	w := b.object("waiver")
	a.Object = Object{ObjectWaiver, w.text("id"), w.text("rule_slug")}
	a.concern(w.text("rule_id"))
	a.State = without(w, "id", "project_id", "status")
	a.Made = a.Action == "created"
	if a.Reason == "" {
		a.Reason = w.text("reason")
	}
}

func readTestCases(a *About, b fields) {
	a.Object = Object{Kind: ObjectTestCase}
	lists := map[string][]fields{"test_cases": b.list("test_cases"), "added": b.list("added"), "removed": b.list("removed")}
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		for _, c := range lists[name] {
			a.concern(c.text("rule_id"))
			a.Changes = append(a.Changes, caseChange(a.Action, name, c))
		}
	}
	if cases := lists["test_cases"]; len(cases) == 1 {
		a.Object.ID, a.Object.Label = cases[0].text("id"), cases[0].text("name")
	}
	a.Recorded = true
}

// caseChange is the change that a test case comes, goes or is confirmed.
func caseChange(action, list string, c fields) rule.FieldChange {
	raw := JSON(without(c, "project_id", "last_reasoning", "last_run_at", "last_verdict", "last_status"))
	change := rule.FieldChange{Field: "test case", After: raw}
	if action == "deleted" || list == "removed" {
		change.Before, change.After = raw, nil
	}
	return change
}

func readDiscovery(a *About, b fields) {
	switch candidate, scan := b.text("candidate_id"), b.text("scan_id"); {
	case candidate != "":
		a.Object = Object{ObjectCandidate, candidate, ""}
		state := fields{"status": JSON("pending")}
		for action, status := range map[string]string{
			"candidate approved": "approved", "candidate dismissed": "dismissed", "candidate merged": "merged",
		} {
			if a.Action == action {
				state["status"] = JSON(status)
			}
		}
		a.State = state
	default:
		a.Object = Object{ObjectScan, scan, b.text("repository")}
		a.State = without(b, "action", "scan_id", "reason", "changed")
		a.Made = a.Action == "scan started"
	}
	a.concern(b.text("rule_id"))
}

func readAlert(a *About, b fields) {
	a.Object = Object{ObjectAlert, b.text("id"), words(b.text("type"))}
	a.concern(b.text("rule_id"))
	status := b.text("status")
	if a.Action == "" {
		a.Action = status
	}
	a.Reason = b.text("resolution_note")
	if !a.Recorded {
		before := string(rule.AlertActive)
		if status == string(rule.AlertDone) && b.text("acknowledged_by") != "" {
			before = string(rule.AlertAcknowledged)
		}
		a.Changes, a.Recorded = []rule.FieldChange{{Field: "status", Before: JSON(before), After: JSON(status)}}, true
	}
}

func readWebhook(a *About, b fields) {
	a.Object = Object{ObjectWebhook, b.text("policy_id"), b.text("name")}
	a.State = without(b, "action", "policy_id", "changed")
	a.Made, a.Removed = a.Action == "create", a.Action == "delete"
	if a.Action == "rotate" && !a.Recorded {
		a.Changes, a.Recorded = []rule.FieldChange{{Field: "secret"}}, true
	}
}

func readQueue(a *About, b fields) {
	id := b.text("evaluation_id")
	a.Object = Object{ObjectEvaluation, id, ""}
	a.Evaluations = []string{id}
}

func readAgent(a *About, b fields) {
	a.Action = ActionAnswered
	a.Object = Object{ObjectAgent, b.text("agent"), b.text("agent")}
	a.Recorded = true
	for _, name := range []string{"status", "model", "intent"} {
		if v := b[name]; v != nil && !bytes.Equal(v, []byte(`""`)) {
			a.Changes = append(a.Changes, rule.FieldChange{Field: name, After: v})
		}
	}
}

func readSuspension(a *About, b fields) {
	s := b.object("suspension")
	label := s.text("agent")
	if person := s.text("person"); person != "" {
		label += " of " + person
	}
	a.Object = Object{ObjectSuspension, s.text("id"), label}
	a.State = without(s, "id", "project_id", "reason", "lift_reason")
	a.Made = a.Action == "suspended"
}

func readTools(a *About, b fields) {
	a.Object = Object{ObjectServer, b.text("server"), b.text("server")}
	a.State = fields{"tools": b["tools"]}
	a.Made = true
}

func readSample(a *About, b fields) {
	a.Object = Object{ObjectEvaluation, b.text("evaluation_id"), b.text("slug")}
	a.concern(b.text("rule_id"))
	a.Changes, a.Recorded = []rule.FieldChange{{Field: b.text("kind"), Before: b["said"], After: b["judged"]}}, true
}

func readRetention(a *About, b fields) {
	a.Action = ActionRemoved
	if a.Object = (Object{Kind: ObjectEvaluation}); b.text("kind") == KindAgent {
		a.Object.Kind = ObjectAgent
	}
	a.Recorded = true
	a.Changes = []rule.FieldChange{{Field: "through_seq", After: b["through_seq"]}, {Field: "before", After: b["before"]}}
}

// Compare lists the fields in which two states of an object differ, by name; a nil state has none.
func Compare(before, after map[string]json.RawMessage) []rule.FieldChange {
	names := map[string]bool{}
	for name := range before {
		names[name] = true
	}
	for name := range after {
		names[name] = true
	}
	list := []rule.FieldChange{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		x, y := Value(before[name]), Value(after[name])
		if !bytes.Equal(x, y) {
			list = append(list, rule.FieldChange{Field: name, Before: x, After: y})
		}
	}
	return list
}

// Value is a JSON value without white space; nil for one that says nothing.
func Value(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return nil
	}
	switch b.String() {
	case `null`, `""`, `[]`, `{}`:
		return nil
	}
	return b.Bytes()
}

// Changed lists the fields in which two values of a struct differ, for the body of an entry. Either may be nil.
func Changed(before, after any) []rule.FieldChange { return Compare(stateOf(before), stateOf(after)) }

func stateOf(v any) map[string]json.RawMessage {
	var state map[string]json.RawMessage
	if v != nil {
		if err := json.Unmarshal(JSON(v), &state); err != nil {
			panic("audit: the state of an object must be a JSON object: " + err.Error())
		}
	}
	return state
}
