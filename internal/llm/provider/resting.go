package provider

import (
	"cmp"
	"slices"
	"time"
)

// Rest is a model that is left alone because it has failed again and again.
type Rest struct {
	Model string
	Until time.Time // when one call goes through as a probe
}

// Resting lists those models of a [Model], an [Embedder] or a chain that are left alone at a time, by id. Models of other makers have none.
func Resting(model any, now time.Time) []Rest {
	var list []Rest
	switch m := model.(type) {
	case *chain:
		for _, one := range m.models {
			list = append(list, Resting(one, now)...)
		}
	case interface {
		resting(now time.Time) (Rest, bool)
	}:
		if r, ok := m.resting(now); ok {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b Rest) int { return cmp.Compare(a.Model, b.Model) })
	return list
}

func (l *link) resting(now time.Time) (Rest, bool) {
	until, open := l.breaker.open(now)
	return Rest{Model: l.id(), Until: until}, open
}

// open reports whether the breaker keeps calls away, and until when.
func (b *breaker) open(now time.Time) (until time.Time, open bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.until, b.failures >= patience && now.Before(b.until)
}
