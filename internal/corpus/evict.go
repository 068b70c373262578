package corpus

import (
	"cmp"
	"slices"
)

// spare is the part of the memory limit that is free after views were dropped: a sixteenth.
const spare = 16

// inMemory is a view that may be dropped.
type inMemory struct {
	projectID string
	followed  *followed
	view      *View
	bytes     int64
	used      int64
}

// fit drops views until the rest fits into the memory limit, in the background: how much a view takes is known only once its words are read, which no load waits for.
// One round goes on at a time, and ends once the words of all views are read.
func (l *Live) fit() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.projects) == 1 {
		return // the last view stays in any case
	}
	if l.fitting != nil {
		l.again = true // the round may have begun without the view that was loaded now
		return
	}
	l.fitting = make(chan struct{})
	go func() {
		for {
			views := l.views()
			l.evict(views, measure(views))
			if l.fits() {
				return
			}
		}
	}()
}

// fits ends the rounds of fit, unless one more must follow.
func (l *Live) fits() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.again {
		l.again = false
		return false
	}
	close(l.fitting)
	l.fitting = nil
	return true
}

// views returns all views in memory.
func (l *Live) views() []inMemory {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]inMemory, 0, len(l.projects))
	for id, f := range l.projects {
		if v := f.view.Load(); v != nil {
			all = append(all, inMemory{projectID: id, followed: f, view: v})
		}
	}
	return all
}

// measure notes how much memory views take, and returns the sum. It waits until their words are read, so the caller holds no lock.
func measure(views []inMemory) (total int64) {
	for i := range views {
		views[i].bytes = views[i].view.Bytes()
		total += views[i].bytes
	}
	return total
}

// evict drops the least recently used of some views, all but one at most, if the total of their bytes is beyond the memory limit. A view that was replaced since they
// were collected, by a write or by another load, is in use and stays.
func (l *Live) evict(views []inMemory, total int64) {
	if total <= l.cfg.MaxBytes {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range views {
		views[i].used = views[i].followed.used.Load()
	}
	slices.SortFunc(views, func(a, b inMemory) int { return cmp.Compare(a.used, b.used) })
	// Some more are dropped than must be, so that not each view that is loaded compares all others.
	for _, m := range views[:len(views)-1] {
		if total <= l.cfg.MaxBytes-l.cfg.MaxBytes/spare {
			return
		}
		if !m.followed.view.CompareAndSwap(m.view, nil) {
			continue
		}
		total -= m.bytes
		if l.cfg.InForce != nil {
			l.cfg.InForce.Forget(m.projectID)
		}
	}
}
