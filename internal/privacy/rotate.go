package privacy

import (
	"bytes"
	"context"
	"os"
	"slices"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// names returns the names of the keys in the file.
func (w *wrapping) names() []string {
	names := []string{w.name}
	for i := range w.older {
		names = append(names, w.older[i].name)
	}
	return names
}

// Rotate puts a new key before the one in the file. Both open what they have wrapped, and the new one wraps from then on. It is a conflict while an
// earlier rotation has not ended.
func (f *KeyFile) Rotate() error {
	w, err := f.open(true)
	if err != nil {
		return err
	}
	if len(w.older) > 0 {
		return rule.Errorf(rule.CodeConflict, "%s has a new key already; end its rotation with --retire", f.path)
	}
	key, err := newWrapper(newKey())
	if err != nil {
		return err
	}
	return f.replace(&wrapping{wrapper: key, older: []wrapper{w.wrapper}, tag: w.tag})
}

func (f *KeyFile) replace(w *wrapping) error {
	return writeKeyFile(f.path, w.text(), func(temp string) error { return os.Rename(temp, f.path) })
}

// rewrapped is how many keys a transaction wraps again.
const rewrapped = 100

// Retire wraps the keys of all people under the first key of the file again, and takes the older ones out of the file, which then open nothing any
// more. No node can make keys under these from its start on. It may be broken off and run again. An older file, for the keys of a backup from before
// an earlier rotation, may be nil. It returns the number of keys that it wrapped; on conflict some keys open with none of these.
func (k *Keeper) Retire(ctx context.Context, from *KeyFile, progress func(done, all int)) (n int, err error) {
	file, err := k.cfg.Key.open(false)
	if err != nil {
		return 0, err
	}
	w := *file
	if from != nil {
		if w.older, err = withOlder(file, from); err != nil {
			return 0, err
		}
	}
	if len(w.older) == 0 {
		return 0, rule.Errorf(rule.CodeConflict, "%s has no older key to retire; run rotate-key without --retire first", k.cfg.Key.path)
	}
	all, err := k.cfg.Read.WrappedByOthers(ctx, []string{w.name})
	if err != nil {
		return 0, err
	}
	at := rule.Instant(k.cfg.Now())
	if err := k.cfg.Store.Update(ctx, func(tx store.Tx) error { return tx.PersonalKeys.RetireWrapping(ctx, w.names()[1:], at) }); err != nil {
		return 0, err
	}
	left, example := 0, store.PersonalKey{}
	for last := (store.PersonalKey{}); ; {
		progress(min(n, all), all)
		list, err := k.cfg.Read.NotWrappedBy(ctx, w.name, last.ProjectID, last.ID, rewrapped)
		if err != nil {
			return n, err
		}
		if len(list) == 0 {
			break
		}
		last = list[len(list)-1]
		var again []store.PersonalKey
		for i := range list {
			key, err := w.unwrap(&list[i])
			if err != nil {
				left, example = left+1, list[i]
				continue
			}
			fresh := list[i]
			if err := w.wrapInto(&fresh, key); err != nil {
				return n, err
			}
			again = append(again, fresh)
		}
		for len(again) > 0 { // a transaction is of one project, which a cluster has on one server
			of := slices.IndexFunc(again, func(p store.PersonalKey) bool { return p.ProjectID != again[0].ProjectID })
			if of < 0 {
				of = len(again)
			}
			if err := k.cfg.Store.Update(ctx, func(tx store.Tx) error { return tx.PersonalKeys.Rewrap(ctx, again[:of]) }); err != nil {
				return n, err
			}
			n, again = n+of, again[of:]
		}
	}
	if left > 0 {
		return n, rule.Errorf(rule.CodeConflict, "%d keys, such as %s of project %q, open with none of the given keys; the older keys stay in %s", left, example.ID, example.ProjectID, k.cfg.Key.path)
	}
	if len(file.older) == 0 {
		return n, nil
	}
	return n, k.cfg.Key.replace(&wrapping{wrapper: w.wrapper, tag: w.tag})
}

// withOlder returns the older keys of a file with those of another one.
func withOlder(file *wrapping, from *KeyFile) ([]wrapper, error) {
	other, err := from.open(false)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(other.tag, file.tag) {
		return nil, rule.Errorf(rule.CodeInvalid, "%s is no older file of this installation", from.path)
	}
	older := slices.Clone(file.older)
	for _, key := range append([]wrapper{other.wrapper}, other.older...) {
		if key.name != file.name {
			older = append(older, key)
		}
	}
	return older, nil
}
