package judge

import (
	"container/list"
	"sync"

	"tenet/internal/store"
)

// memory holds the stored verdicts of the units that were used last. The zero value with a limit is ready to use.
type memory struct {
	limit int64 // bytes, by estimate

	mu    sync.Mutex
	size  int64
	units map[[2]string]*list.Element // by project and unit
	order list.List                   // of *memoryUnit, the one used last in front
}

// memoryUnit is a unit with the verdicts of rules on it.
type memoryUnit struct {
	key     [2]string
	entries map[string]string // by rule
	size    int64
}

// overhead is about what a verdict takes in memory in addition to its text, and a unit in addition to its verdicts.
const overhead = 200

// get is a lookup.
func (m *memory) get(project, unit, rule string) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.units[[2]string{project, unit}]
	if e == nil {
		return "", false
	}
	text, ok := e.Value.(*memoryUnit).entries[rule]
	if ok {
		m.order.MoveToFront(e)
	}
	return text, ok
}

// put adds a verdict. It replaces one that it holds already only if replace says so.
func (m *memory) put(v *store.Verdict, replace bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.units == nil {
		m.units = map[[2]string]*list.Element{}
	}
	key := [2]string{v.ProjectID, v.Unit}
	e := m.units[key]
	if e == nil {
		e = m.order.PushFront(&memoryUnit{key: key, entries: map[string]string{}, size: overhead})
		m.units[key] = e
		m.size += overhead
	}
	r := e.Value.(*memoryUnit)
	added := int64(len(v.Entry))
	if old, ok := r.entries[v.Rule]; ok {
		if !replace {
			return
		}
		added -= int64(len(old))
	} else {
		added += overhead
	}
	r.entries[v.Rule] = v.Entry
	r.size += added
	m.size += added
	m.order.MoveToFront(e)
	for m.size > m.limit && m.order.Len() > 1 {
		m.drop(m.order.Back())
	}
}

func (m *memory) drop(e *list.Element) {
	r := m.order.Remove(e).(*memoryUnit)
	delete(m.units, r.key)
	m.size -= r.size
}

// forget drops the verdicts of a project.
func (m *memory) forget(project string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, e := range m.units {
		if key[0] == project {
			m.drop(e)
		}
	}
}
