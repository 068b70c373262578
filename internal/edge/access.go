package edge

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

type waivers struct{ c *Corpus }

// Get implements [store.WaiverReader].
func (w waivers) Get(_ context.Context, projectID, id string) (rule.Waiver, error) {
	h, err := w.c.of(projectID)
	if err != nil {
		return rule.Waiver{}, err
	}
	if i := slices.IndexFunc(h.Waivers, func(x rule.Waiver) bool { return x.ID == id }); i >= 0 {
		return h.Waivers[i], nil
	}
	return rule.Waiver{}, rule.NotFound("waiver", id)
}

// sorted returns the waivers that a condition takes, in an order.
func (w waivers) sorted(projectID string, take func(*rule.Waiver) bool, order func(a, b rule.Waiver) int) ([]rule.Waiver, error) {
	h, err := w.c.of(projectID)
	if err != nil {
		return nil, err
	}
	list := []rule.Waiver{}
	for _, x := range h.Waivers {
		if take(&x) {
			list = append(list, x)
		}
	}
	slices.SortFunc(list, order)
	return list, nil
}

func newestWaiver(a, b rule.Waiver) int {
	return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(b.ID, a.ID))
}

// List implements [store.WaiverReader].
func (w waivers) List(_ context.Context, projectID, ruleID string, offset, limit int) ([]rule.Waiver, int, error) {
	list, err := w.sorted(projectID, func(x *rule.Waiver) bool { return ruleID == "" || x.RuleID == ruleID }, newestWaiver)
	return window(list, offset, limit), len(list), err
}

// Within implements [store.WaiverReader].
func (w waivers) Within(_ context.Context, s store.WaiverSpan) ([]rule.Waiver, int, error) {
	when := func(x *rule.Waiver) time.Time { return x.ExpiresAt }
	if s.Made {
		when = func(x *rule.Waiver) time.Time { return x.CreatedAt }
	}
	list, err := w.sorted(s.ProjectID, func(x *rule.Waiver) bool { return !when(x).Before(s.From) && when(x).Before(s.Until) },
		func(a, b rule.Waiver) int { return cmp.Or(when(&a).Compare(when(&b)), strings.Compare(a.ID, b.ID)) })
	return window(list, s.Offset, s.Limit), len(list), err
}

// ListLive implements [store.WaiverReader].
func (w waivers) ListLive(_ context.Context, projectID string, now time.Time) ([]rule.Waiver, error) {
	return w.sorted(projectID, func(x *rule.Waiver) bool { return x.RevokedAt == nil && x.ExpiresAt.After(now) }, newestWaiver)
}

type keys struct{ c *Corpus }

func (k keys) all() []store.Key {
	h, _ := k.c.now()
	if h == nil {
		return []store.Key{}
	}
	return slices.SortedFunc(slices.Values(h.Contents.Keys), func(a, b store.Key) int { return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(b.ID, a.ID)) })
}

// List implements [store.KeyReader].
func (k keys) List(_ context.Context, projectID string) ([]store.Key, error) {
	return slices.DeleteFunc(k.all(), func(x store.Key) bool { return x.ProjectID != projectID }), nil
}

// ListAll implements [store.KeyReader].
func (k keys) ListAll(context.Context) ([]store.Key, error) { return k.all(), nil }

// GetByHash implements [store.KeyReader].
func (k keys) GetByHash(_ context.Context, hash string) (store.Key, error) {
	if h, _ := k.c.now(); h != nil {
		if i := slices.IndexFunc(h.Contents.Keys, func(x store.Key) bool { return x.Hash == hash }); i >= 0 {
			return h.Contents.Keys[i], nil
		}
	}
	return store.Key{}, rule.NotFound("key", "of this secret")
}

// Count implements [store.KeyReader]. Where keys are required but none is for this project, nobody is let in: it counts one.
func (k keys) Count(context.Context) (int, error) {
	h, _ := k.c.now()
	if h == nil {
		return 0, nil
	}
	if n := len(h.Contents.Keys); n > 0 || !h.Contents.KeysRequired {
		return n, nil
	}
	return 1, nil
}

type agents struct {
	store.AgentReader
	c *Corpus
}

// Suspended implements [store.AgentReader].
func (a agents) Suspended(context.Context) ([]rule.Suspension, error) {
	h, _ := a.c.now()
	if h == nil {
		return []rule.Suspension{}, nil
	}
	return h.Suspensions, nil
}

// Suspensions implements [store.AgentReader].
func (a agents) Suspensions(ctx context.Context, f store.SuspensionFilter) ([]rule.Suspension, int, error) {
	list, err := a.Suspended(ctx)
	return window(list, f.Offset, f.Limit), len(list), err
}
