package judge

import (
	"encoding/hex"
	"encoding/json"
	"slices"

	"tenet/internal/llm"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// storedTriage is an answer of triage as the cache stores it, under the hash of a batch and that of a unit, or of the whole
// subject. Of units that were shown together each gets the whole answer, if no other one says anything: a rule that was named for
// another one of them stays named. An answer for the whole is exact, and goes before those for units.
//
// The cache stores no answer of a fallback model and none with a fault, and of a subject that reads like an order only that for the
// whole, as with verdicts.
type storedTriage struct {
	Of    int   `json:"of"`    // statements of the batch
	Named []int `json:"named"` // their places, in ascending order
}

// decodeTriage reads a stored answer about n statements. An unreadable one counts as missing.
func decodeTriage(entry string, n int) (s storedTriage, ok bool) {
	if json.Unmarshal([]byte(entry), &s) != nil || s.Of != n || s.Named == nil {
		return s, false
	}
	last := -1
	for _, at := range s.Named {
		if at <= last || at >= n {
			return s, false
		}
		last = at
	}
	return s, true
}

// cacheKeys hashes what answers depend on: prompt version and model, what every part shows, and the unit or all units; and the
// statements of the batch.
func (t *triage) cacheKeys() *cacheKeys {
	k := unitKeys(TriagePromptVersion, t.settings.model, &t.layout)
	k.rules = make([]string, len(t.batches))
	for i, b := range t.batches {
		k.rules[i] = b.key
	}
	return k
}

// takeStored takes the stored answers of each batch and notes which units the model has to see.
func (t *triage) takeStored(k *cacheKeys, find lookup) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, r := range t.representatives() {
		b := t.batches[i]
		take := func(unit string) bool {
			entry, _ := find(r.ProjectID, unit, b.key)
			s, ok := decodeTriage(entry, len(b.statements))
			if !ok {
				return false
			}
			for _, at := range s.Named {
				if !slices.Contains(b.stored, at) {
					b.stored = append(b.stored, at)
				}
			}
			u := wire.ReusedTriage{Unit: unit, Batch: b.key, Entry: entry}
			if len(t.reused) == 0 {
				u.Seed, u.Plan = hex.EncodeToString(t.seed[:]), t.settings.String()
			}
			t.reused = append(t.reused, u)
			return true
		}
		b.need = []int{}
		if take(k.whole) {
			continue
		}
		for u, unit := range k.units {
			if !take(unit) {
				b.need = append(b.need, u)
			}
		}
	}
}

// store hands the answers of this triage to the cache; see storedTriage for which.
func (t *triage) store(k *cacheKeys, epoch int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []store.Verdict
	for i, r := range t.representatives() {
		b := t.batches[i]
		put := func(unit string, named []int) {
			list = append(list, store.Verdict{ProjectID: r.ProjectID, Unit: unit, Rule: b.key, Entry: llm.JSON(storedTriage{len(b.statements), append([]int{}, named...)}), Epoch: epoch})
		}
		substitute := false
		for _, c := range b.calls {
			substitute = substitute || c.fallback
			if c.fault != "" || c.fallback || t.instruction() != "" {
				continue
			}
			for _, u := range t.layout.uninfluenced(c.group.parts[c.part].units) {
				put(k.units[u], c.named)
			}
		}
		if len(b.calls) > 0 && !substitute && b.open() == "" {
			var named []int
			for at, is := range b.named() {
				if is {
					named = append(named, at)
				}
			}
			put(k.whole, named)
		}
	}
	if len(list) > 0 {
		t.source.store(list)
	}
}
