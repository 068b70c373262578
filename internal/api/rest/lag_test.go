package rest

import (
	"fmt"
	"testing"
	"time"
)

func TestWritersSeeTheirOwnChanges(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	w := newWriters(func() time.Time { return now })
	if at, ok := w.since("ann"); !ok || !at.IsZero() {
		t.Errorf("who has written nothing must see all until %s, %t", at, ok)
	}
	first, second := w.begin("ann"), w.begin("ann")
	now = now.Add(time.Second)
	first()
	if _, ok := w.since("ann"); ok {
		t.Error("a caller whose request still writes may read at a replica")
	}
	now = now.Add(time.Second)
	second()
	if at, ok := w.since("ann"); !ok || !at.Equal(now) {
		t.Errorf("she must see all until %s, %t; want %s", at, ok, now)
	}
	if _, ok := w.since("bob"); !ok {
		t.Error("the write of one caller holds another")
	}
	for i := range maxWriters {
		w.begin(fmt.Sprint(i))()
	}
	now = now.Add(writersLast + time.Second)
	w.begin("eve")()
	if n := len(w.last); n != 1 {
		t.Errorf("%d callers are remembered", n)
	}
}
