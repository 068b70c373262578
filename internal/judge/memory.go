package judge

import (
	"container/list"
	"sync"
)

// memory keeps the verdicts of the units that were used last. The zero value with a limit is ready to use.
type memory struct {
	limit int64 // bytes, by estimate

	mu    sync.Mutex
	size  int64
	units map[[2]string]*list.Element // by project and unit
	order list.List                   // of *remembered, the one used last in front
}

// remembered is a unit with the verdicts of rules on it.
type remembered struct {
	key     [2]string
	entries map[string]string // by rule
	size    int64
}

// overhead is what a verdict takes in memory beside its text, and a unit beside its verdicts, about.
const overhead = 200

// get implements kept.
func (m *memory) get(project, unit, rule string) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.units[[2]string{project, unit}]
	if e == nil {
		return "", false
	}
	text, ok := e.Value.(*remembered).entries[rule]
	if ok {
		m.order.MoveToFront(e)
	}
	return text, ok
}

// put takes a verdict. One that is there already stays, unless it is to be replaced.
func (m *memory) put(k keepsake, replace bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.units == nil {
		m.units = map[[2]string]*list.Element{}
	}
	key := [2]string{k.project, k.unit}
	e := m.units[key]
	if e == nil {
		e = m.order.PushFront(&remembered{key: key, entries: map[string]string{}, size: overhead})
		m.units[key] = e
		m.size += overhead
	}
	r := e.Value.(*remembered)
	added := int64(len(k.entry))
	if old, ok := r.entries[k.rule]; ok {
		if !replace {
			return
		}
		added -= int64(len(old))
	} else {
		added += overhead
	}
	r.entries[k.rule] = k.entry
	r.size += added
	m.size += added
	m.order.MoveToFront(e)
	for m.size > m.limit && m.order.Len() > 1 {
		m.drop(m.order.Back())
	}
}

func (m *memory) drop(e *list.Element) {
	r := m.order.Remove(e).(*remembered)
	delete(m.units, r.key)
	m.size -= r.size
}

// forget drops what belongs to a project.
func (m *memory) forget(project string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, e := range m.units {
		if key[0] == project {
			m.drop(e)
		}
	}
}
