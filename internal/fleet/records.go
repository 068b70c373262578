package fleet

import (
	"context"
	"encoding/base64"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tenet/internal/audit"
	"tenet/internal/checkpoint"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Take stores records of an edge, and returns the end of its chain here. Records that are stored already are passed over, so that sending them again
// does nothing. Invalid are records whose signature, hashes or order are wrong; then none is stored.
func (f *Edges) Take(ctx context.Context, projectID, name string, in wire.EdgeRecords) (wire.AuditHead, error) {
	e, err := f.cfg.Edges.Get(ctx, projectID, name)
	if err != nil {
		return wire.AuditHead{}, err
	}
	if e.Forgotten {
		return wire.AuditHead{}, forgotten(name)
	}
	entries, err := read(projectID, &e, in)
	if err != nil {
		return wire.AuditHead{}, err
	}
	used, err := rulesOf(entries)
	if err != nil {
		return wire.AuditHead{}, err
	}
	var end wire.AuditHead
	err = f.cfg.Updater.Update(ctx, func(tx store.Tx) error {
		now, err := tx.Edges.Get(ctx, projectID, name)
		if err != nil {
			return err
		}
		if now.Forgotten {
			return forgotten(name)
		}
		rest, err := after(ctx, tx.Edges, &now, entries)
		if err != nil {
			return err
		}
		if end = now.Received; len(rest) == 0 {
			return nil
		}
		unknown, err := unknown(ctx, tx.Rules, projectID, used[len(used)-len(rest):])
		if err != nil {
			return err
		}
		last := rest[len(rest)-1]
		end = wire.AuditHead{Seq: last.Seq, Hash: last.Hash}
		return tx.Edges.Append(ctx, name, rest, unknown)
	})
	return end, err
}

// forgotten returns the error for records of an edge that was forgotten.
func forgotten(name string) error {
	return rule.Errorf(rule.CodeConflict, "the edge %s was forgotten at this server, which takes no more of its records; give it a new name and folder", name)
}

// refused returns the error for records that cannot be taken.
func refused(format string, args ...any) error {
	return rule.Errorf(rule.CodeInvalid, "the records of the edge are refused: "+format, args...)
}

// read checks a batch: its signature, and that each entry is whole and follows the one before.
func read(projectID string, e *store.Edge, in wire.EdgeRecords) ([]store.AuditEntry, error) {
	if len(in.Entries) == 0 {
		return nil, refused("there are none")
	}
	entries := make([]store.AuditEntry, len(in.Entries))
	for i, r := range in.Entries {
		body, err := base64.StdEncoding.DecodeString(r.Body)
		if err != nil {
			return nil, refused("the body of entry %d is not base64", r.Seq)
		}
		entries[i] = store.AuditEntry{
			ProjectID: projectID, Seq: r.Seq, ID: r.ID, Kind: r.Kind, At: rule.Instant(r.At), Actor: r.Actor, Verdict: r.Verdict, Mode: r.Mode, Body: body,
			BodyHash: audit.BodyHash(body), PrevHash: r.PrevHash, Hash: r.Hash,
		}
		switch {
		case audit.Hash(entries[i]) != r.Hash:
			return nil, refused("the hash of entry %d does not fit its fields", r.Seq)
		case r.Seq < 1 || (r.Seq == 1) != (r.PrevHash == ""):
			return nil, refused("entry %d does not begin or continue a chain", r.Seq)
		case i > 0 && (r.Seq != entries[i-1].Seq+1 || r.PrevHash != entries[i-1].Hash):
			return nil, refused("entry %d does not follow the one before it", r.Seq)
		}
	}
	last := &entries[len(entries)-1]
	text, _, err := checkpoint.OpenText(in.Note, []string{e.Key})
	if err != nil {
		return nil, refused("%w", err)
	}
	if text != wire.RecordsText(projectID, e.Name, wire.AuditHead{Seq: last.Seq, Hash: last.Hash}) {
		return nil, refused("the edge has signed others")
	}
	return entries, nil
}

// after returns the entries behind the end of a stored chain. Those before must be the stored ones.
func after(ctx context.Context, stored store.EdgeReader, e *store.Edge, entries []store.AuditEntry) ([]store.AuditEntry, error) {
	first := entries[0].Seq
	if first > e.Received.Seq+1 {
		return nil, rule.Errorf(rule.CodeConflict, "the next record of the edge %s is %d, not %d", e.Name, e.Received.Seq+1, first)
	}
	known := int(min(e.Received.Seq-first+1, int64(len(entries))))
	if known > 0 {
		list, err := stored.Entries(ctx, e.ProjectID, e.Name, first-1, known)
		if err != nil {
			return nil, err
		}
		for i := range list {
			if list[i].Hash != entries[i].Hash {
				return nil, rule.Errorf(rule.CodeConflict, "entry %d of the edge %s is stored already, and was another one", list[i].Seq, e.Name)
			}
		}
	}
	rest := entries[known:]
	if len(rest) > 0 && rest[0].PrevHash != e.Received.Hash {
		return nil, rule.Errorf(rule.CodeConflict, "entry %d of the edge %s does not follow the stored ones", rest[0].Seq, e.Name)
	}
	return rest, nil
}

// Bounds of the bodies of a batch, unpacked, in bytes: one, and all.
const (
	maxUnpacked    = 64 << 20
	maxUnpackedAll = 1 << 30
)

// Bounds of the lists of rules that are remembered while a batch is read: their number, and the bytes of one.
const (
	maxLists = 16
	maxList  = 128 << 10
)

// lenient reads the JSON of records as the standard library does, which wrote those of earlier versions.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// rulesOf returns the rules that each of some entries was judged by; nil for one that is no evaluation. One body is in memory at a time. Many
// entries of an edge are judged by the same rules: a list that is written as an earlier one is that one.
func rulesOf(entries []store.AuditEntry) ([][]wire.RecordedRule, error) {
	used := make([][]wire.RecordedRule, len(entries))
	left := int64(maxUnpackedAll)
	var memory []byte
	var members audit.Members
	lists := map[string][]wire.RecordedRule{} // by their JSON
	for i := range entries {
		if entries[i].Kind != audit.KindEvaluation {
			continue
		}
		body, err := audit.DecompressWithin(entries[i].Body, min(left, maxUnpacked), memory)
		if err != nil {
			return nil, refused("the body of entry %d cannot be read", entries[i].Seq)
		}
		memory = body
		left -= int64(len(body))
		rules, ok := members.Find(body, "rules")
		if !ok {
			if rules, err = rulesIn(body); err != nil {
				return nil, refused("the body of entry %d is not a record", entries[i].Seq)
			}
		}
		list, ok := lists[string(rules)]
		if !ok && len(rules) > 0 {
			if err := json.Unmarshal(rules, &list, lenient); err != nil {
				return nil, refused("the body of entry %d is not a record", entries[i].Seq)
			}
			if len(lists) < maxLists && len(rules) <= maxList {
				lists[string(rules)] = list
			}
		}
		used[i] = list
	}
	return used, nil
}

// rulesIn returns the list of rules in a record of any form that the decoder of JSON reads.
func rulesIn(body []byte) (jsontext.Value, error) {
	var rec struct {
		Rules jsontext.Value `json:"rules"`
	}
	err := json.Unmarshal(body, &rec, lenient)
	return rec.Rules, err
}

// unknown counts the evaluations by versions of rules that are not stored.
func unknown(ctx context.Context, rules store.RuleReader, projectID string, used [][]wire.RecordedRule) (int64, error) {
	hashes := map[store.VersionRef]string{}
	distinct := map[*wire.RecordedRule][]wire.RecordedRule{} // lists, by their first rule: entries share them
	for _, list := range used {
		if len(list) > 0 {
			distinct[&list[0]] = list
		}
	}
	for _, list := range distinct {
		for _, r := range list {
			hashes[store.VersionRef{RuleID: r.RuleID, Version: r.Version}] = ""
		}
	}
	for ref := range hashes { // a batch has few versions of one rule
		r, err := rules.Version(ctx, projectID, ref.RuleID, ref.Version)
		if rule.CodeOf(err) == rule.CodeNotFound {
			continue
		}
		if err != nil {
			return 0, err
		}
		hashes[ref] = r.ContentHash()
	}
	differs := map[*wire.RecordedRule]bool{}
	for first, list := range distinct {
		differs[first] = slices.ContainsFunc(list, func(r wire.RecordedRule) bool {
			return hashes[store.VersionRef{RuleID: r.RuleID, Version: r.Version}] != r.ContentHash
		})
	}
	var n int64
	for _, list := range used {
		if len(list) > 0 && differs[&list[0]] {
			n++
		}
	}
	return n, nil
}

// Records reads audit entries of a project, and those of its edges by id.
type Records struct {
	store.AuditReader

	Edges store.EdgeReader
}

// Get implements [store.AuditReader].
func (r Records) Get(ctx context.Context, projectID, id string) (store.AuditEntry, error) {
	e, err := r.AuditReader.Get(ctx, projectID, id)
	if rule.CodeOf(err) == rule.CodeNotFound {
		if of, err := r.Edges.Entry(ctx, projectID, id); rule.CodeOf(err) != rule.CodeNotFound {
			return of, err
		}
	}
	return e, err
}
