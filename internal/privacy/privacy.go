// Package privacy keeps the personal data of records encrypted, under a key for each person. A record is sealed before it is in the audit log, so
// that the removal of the key removes the data from all records, and no hash of the log changes.
package privacy

import (
	"context"
	"reflect"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Keeper keeps the keys of people. It is safe for concurrent use.
type Keeper struct {
	cfg Config
	// alone holds the keys of the file after no key was found that others have wrapped.
	alone atomic.Pointer[wrapping]
}

// Config sets up [New]. All but Explained is required.
type Config struct {
	Store     store.Updater
	Read      store.PersonalKeyReader
	Retention store.RetentionReader
	Projects  store.ProjectReader
	Audit     store.AuditReader
	Key       *KeyFile
	Now       func() time.Time
	// Explained returns an error if the audit log does not explain the retention of a project, with its legal holds.
	Explained func(ctx context.Context, projectID string, kinds ...string) error
}

// Index finds recorded evaluations.
type Index interface {
	// About returns how many evaluations are sealed under a key, and those of some legal holds that cover one of them; unavailable while not all
	// records are searched.
	About(ctx context.Context, projectID, key string, holds []rule.LegalHold) (records int, covering []rule.LegalHold, err error)
	// Covering returns a function that returns those of some legal holds that cover an entry.
	Covering(ctx context.Context, projectID string, holds []rule.LegalHold) (func(*store.AuditEntry) []rule.LegalHold, error)
}

// People finds the personal data of people, and forgets them.
type People struct {
	*Keeper

	Index Index
}

// New returns a Keeper.
func New(cfg Config) *Keeper { return &Keeper{cfg: cfg} }

// ready returns the wrapping key, made at the first use. It is unavailable if keys in the database were wrapped by another one: a new key for a
// person beside the one that is there would survive its removal.
func (k *Keeper) ready(ctx context.Context) (*wrapping, error) {
	w, err := k.cfg.Key.open(true)
	if err != nil || k.alone.Load() == w {
		return w, err
	}
	others, err := k.cfg.Read.WrappedByOthers(ctx, w.names())
	if err != nil {
		return nil, err
	}
	if others > 0 {
		return nil, rule.Errorf(rule.CodeUnavailable, "%d keys of people were wrapped under another privacy_key_file; bring that file back, or a copy of it", others)
	}
	k.alone.Store(w)
	return w, nil
}

// Ready returns nil if personal data can be sealed, else an error of code unavailable that says what is missing.
func (k *Keeper) Ready(ctx context.Context) error {
	_, err := k.ready(ctx)
	return err
}

// keyNamed returns the key that a keyed hash names, and makes it if there is none.
func (k *Keeper) keyNamed(ctx context.Context, w *wrapping, projectID, name string) (store.PersonalKey, error) {
	for {
		stored, err := k.cfg.Read.Named(ctx, projectID, name)
		if rule.CodeOf(err) != rule.CodeNotFound {
			return stored, err
		}
		made, err := w.newKey(projectID, name)
		if err != nil {
			return made, err
		}
		made.CreatedAt = rule.Instant(k.cfg.Now())
		err = k.cfg.Store.Update(ctx, func(tx store.Tx) error { return tx.PersonalKeys.Insert(ctx, made) })
		if rule.CodeOf(err) != rule.CodeConflict { // else another request has made it
			return made, err
		}
	}
}

// Get returns how a project keeps personal data.
func (k *Keeper) Get(ctx context.Context, projectID string) (wire.Privacy, error) {
	var out wire.Privacy
	p, err := k.cfg.Projects.Get(ctx, projectID)
	if err != nil {
		return out, err
	}
	out.Policy = p.Policy.Personal
	if out.People, out.Forgotten, err = k.cfg.Read.Count(ctx, projectID); err != nil {
		return out, err
	}
	if !out.Policy.IsZero() || out.People > 0 {
		if err := k.Ready(ctx); err != nil {
			out.Problem = err.Error()
		}
	}
	return out, nil
}

// named returns the key of a person or of a record that names none; not_found if there is none.
func (k *Keeper) named(ctx context.Context, projectID string, ref wire.PersonRef) (store.PersonalKey, error) {
	var p rule.Problems
	person, evaluation := rule.FoldName(ref.Person), strings.ToLower(strings.TrimSpace(ref.Evaluation))
	if (person == "") == (evaluation == "") {
		p.Add("person", "give the person, or the evaluation whose record names none")
		return store.PersonalKey{}, p.Err("the request is invalid")
	}
	w, err := k.ready(ctx)
	if err != nil {
		return store.PersonalKey{}, err
	}
	name := w.nameOf(projectID, ofPerson, person)
	if evaluation != "" {
		name = w.nameOf(projectID, ofEvaluation, evaluation)
	}
	stored, err := k.cfg.Read.Named(ctx, projectID, name)
	if rule.CodeOf(err) == rule.CodeNotFound {
		return stored, rule.Errorf(rule.CodeNotFound, "no record of project %q is sealed under a key of that name; it may be forgotten already", projectID)
	}
	return stored, err
}

// Find returns the records of a person; not_found if nothing is sealed under the name.
func (k People) Find(ctx context.Context, projectID string, ref wire.PersonRef) (wire.PersonKept, error) {
	stored, err := k.named(ctx, projectID, ref)
	if err != nil {
		return wire.PersonKept{}, err
	}
	r, err := k.cfg.Retention.Get(ctx, projectID)
	if err != nil {
		return wire.PersonKept{}, err
	}
	n, holds, err := k.Index.About(ctx, projectID, stored.ID, r.InForce())
	out := wire.PersonKept{Key: stored.ID, Since: stored.CreatedAt, Records: n, Holds: make([]wire.HeldBy, len(holds))}
	for i := range holds {
		out.Holds[i] = wire.HeldBy{ID: holds[i].ID, Reason: holds[i].Reason}
	}
	return out, err
}

// Forget deletes the key of a person, so that the personal data of all records about the person are gone: here, in copies of records, and in the
// results of other nodes. It is a conflict while a legal hold covers one of the records. The entry in the audit log names the person by a keyed hash.
func (k People) Forget(ctx context.Context, projectID string, in wire.ForgetPerson) (wire.ForgottenPerson, error) {
	in.Reason = strings.TrimSpace(in.Reason)
	if err := checkReason(&in); err != nil {
		return wire.ForgottenPerson{}, err
	}
	stored, err := k.named(ctx, projectID, in.PersonRef)
	if err != nil {
		return wire.ForgottenPerson{}, err
	}
	if k.cfg.Explained != nil {
		if err := k.cfg.Explained(ctx, projectID, store.RetentionInForce); err != nil {
			return wire.ForgottenPerson{}, err
		}
	}
	head, err := k.cfg.Audit.Head(ctx, projectID)
	if err != nil {
		return wire.ForgottenPerson{}, err
	}
	before, err := k.cfg.Retention.Get(ctx, projectID)
	if err != nil {
		return wire.ForgottenPerson{}, err
	}
	records, covering, err := k.Index.About(ctx, projectID, stored.ID, before.InForce())
	if err != nil {
		return wire.ForgottenPerson{}, err
	}
	coveredBy, err := k.Index.Covering(ctx, projectID, before.InForce())
	if err != nil {
		return wire.ForgottenPerson{}, err
	}
	out := wire.ForgottenPerson{Key: stored.ID, Records: records, At: rule.Instant(k.cfg.Now())}
	err = k.cfg.Store.Update(ctx, func(tx store.Tx) error {
		if _, err := tx.Audit.Lock(ctx, projectID); err != nil { // no record is appended until the key is gone
			return err
		}
		now, err := tx.Retention.Get(ctx, projectID)
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(&now, &before) {
			return rule.Errorf(rule.CodeConflict, "the legal holds have changed; send the request again")
		}
		holds, err := recordedSince(ctx, tx, projectID, head.Seq, stored.ID, coveredBy)
		if err != nil {
			return err
		}
		if holds = append(holds, covering...); len(holds) > 0 {
			h := &holds[0]
			return rule.Errorf(rule.CodeConflict, "the legal hold %s covers records about the person (%s); it must be lifted first", h.ID, h.Reason)
		}
		if err := tx.PersonalKeys.Forget(ctx, projectID, stored.ID, out.At); err != nil {
			return err
		}
		body := map[string]any{"action": "forgotten", "person": stored.Name, "key": stored.ID, "records": out.Records, "reason": in.Reason}
		return audit.Append(ctx, tx, projectID, audit.Record{Kind: audit.KindPrivacy, At: out.At, Actor: auth.ActorFrom(ctx).Name, Body: audit.JSON(body)})
	})
	return out, err
}

// recordedSince returns the legal holds that cover an evaluation after an entry which is sealed under a key.
func recordedSince(
	ctx context.Context, tx store.Tx, projectID string, after int64, key string, coveredBy func(*store.AuditEntry) []rule.LegalHold,
) (holds []rule.LegalHold, err error) {
	for {
		entries, err := tx.Audit.Entries(ctx, projectID, after, entriesAtOnce)
		if err != nil || len(entries) == 0 {
			return holds, err
		}
		for i := range entries {
			if e := &entries[i]; e.Kind == audit.KindEvaluation && len(e.Body) > 0 {
				body, err := audit.Body(*e)
				if err != nil {
					return nil, err
				}
				if strings.Contains(string(body), key) {
					holds = append(holds, coveredBy(e)...)
				}
			}
		}
		after = entries[len(entries)-1].Seq
	}
}

// entriesAtOnce is how many entries are read at once.
const entriesAtOnce = 200

func checkReason(in *wire.ForgetPerson) error {
	var p rule.Problems
	switch n := utf8.RuneCountInString(in.Reason); {
	case n == 0:
		p.Add("reason", "is empty; say why, such as the number of the request")
	case n > rule.MaxWaiverReason:
		p.Add("reason", "has %d characters; at most %d are allowed", n, rule.MaxWaiverReason)
	}
	if person := rule.FoldName(in.Person); person != "" && strings.Contains(rule.FoldCase(in.Reason), person) {
		p.Add("reason", "names the person; the audit log keeps it for good, so leave the name out")
	}
	return p.Err("the request is invalid")
}
