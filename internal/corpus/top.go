package corpus

import "slices"

// top keeps the best of what is offered to it. It is a heap with the worst in front.
type top struct {
	view *View
	list []found
	most int
	full bool
}

func newTop(v *View, most int) *top { return &top{view: v, most: most} }

func (t *top) offer(h found) {
	if !t.full {
		t.list = append(t.list, h)
		if len(t.list) < t.most {
			return
		}
		t.full = true
		for i := len(t.list)/2 - 1; i >= 0; i-- {
			t.sink(i)
		}
		return
	}
	if h.score < t.list[0].score || t.view.compare(h, t.list[0]) > 0 {
		return
	}
	t.list[0] = h
	t.sink(0)
}

// sink moves an element down to where the ones below it are better.
func (t *top) sink(i int) {
	for {
		worst := 2*i + 1
		if worst >= len(t.list) {
			return
		}
		if r := worst + 1; r < len(t.list) && t.view.compare(t.list[r], t.list[worst]) > 0 {
			worst = r
		}
		if t.view.compare(t.list[worst], t.list[i]) < 0 {
			return
		}
		t.list[i], t.list[worst] = t.list[worst], t.list[i]
		i = worst
	}
}

// sorted returns what was kept, the best first, and leaves the heap unusable.
func (t *top) sorted() []found {
	slices.SortFunc(t.list, t.view.compare)
	return t.list
}
