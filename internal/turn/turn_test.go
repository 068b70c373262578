package turn_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"tenet/internal/turn"
)

// A group with many waiters does not keep the others waiting: each gets every second place.
func TestGroupsTakePlacesByTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := turn.New(1)
		if err := places.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []string
		wait := func(group string) {
			go func() {
				if err := places.Take(turn.With(t.Context(), group)); err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, group)
				mu.Unlock()
				places.Give()
			}()
			synctest.Wait() // they arrive in this order
		}
		for range 4 {
			wait("flood")
		}
		wait("b")
		wait("b")
		wait("c")
		places.Give()
		synctest.Wait()
		if want := []string{"flood", "b", "c", "flood", "b", "flood", "flood"}; !slices.Equal(order, want) {
			t.Errorf("places went to %v, want %v", order, want)
		}
	})
}

func TestAWaiterWhoLeavesTakesNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := turn.New(1)
		if err := places.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(turn.With(t.Context(), "a"))
		left := make(chan error, 1)
		go func() { left <- places.Take(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-left; err != context.Canceled { //nolint:errorlint // exactly this one is promised
			t.Errorf("a waiter who leaves: %v", err)
		}
		places.Give()
		if err := places.Take(t.Context()); err != nil {
			t.Error(err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		places.Give()
		if places.Take(ended) == nil {
			t.Error("a context that has ended got a place")
		}
		if err := places.Take(t.Context()); err != nil { // the place is still there
			t.Error(err)
		}
	})
}

// However waiters come and leave, no more than the places are taken at once, and none is lost.
func TestPlacesAreNeitherLostNorDoubled(t *testing.T) {
	const most = 3
	places := turn.New(most)
	var taken atomic.Int64
	var all sync.WaitGroup
	for group := range 4 {
		for range 4 {
			all.Go(func() {
				for i := range 200 {
					ctx, cancel := context.WithCancel(turn.With(t.Context(), fmt.Sprint(group)))
					if i%3 == 0 {
						go cancel()
					}
					if places.Take(ctx) == nil {
						if taken.Add(1) > most {
							t.Error("more than all places are taken")
						}
						taken.Add(-1)
						places.Give()
					}
					cancel()
				}
			})
		}
	}
	all.Wait()
	for range most {
		if err := places.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
