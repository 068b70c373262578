package worker_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"tenet/internal/worker"
)

// A function starts at once, however many run already, a goroutine that waits runs the next one, and ends when none comes.
func TestPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 20
		before := runtime.NumGoroutine()
		p := worker.NewPool()
		started, over := make(chan bool, many), make(chan bool)
		for range many {
			p.Go(func() { started <- true; <-over })
		}
		synctest.Wait()
		if len(started) != many {
			t.Errorf("%d of %d functions have started", len(started), many)
		}
		close(over)
		synctest.Wait()
		for range many {
			p.Go(func() {})
			synctest.Wait()
		}
		if n := runtime.NumGoroutine() - before; n != many {
			t.Errorf("%d goroutines wait after %d functions at once and %d one after the other", n, many, many)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := runtime.NumGoroutine() - before; n != 0 {
			t.Errorf("%d goroutines are left after a minute", n)
		}
		p.Go(func() {})
		synctest.Wait()
		p.Close()
		synctest.Wait()
		if n := runtime.NumGoroutine() - before; n != 0 {
			t.Errorf("%d goroutines are left after the end", n)
		}
	})
}
