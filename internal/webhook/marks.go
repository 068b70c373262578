package webhook

import (
	"context"
	"time"

	"tenet/internal/store"
)

const (
	// ahead is how many deliveries may wait to be marked while others, as many at most, are being marked. If the node dies
	// just then, these are sent a second time, each of them once.
	ahead = 8
	// writeTimeout bounds one transaction of marks.
	writeTimeout = 15 * time.Second
)

// marks writes that deliveries have arrived while the next ones are being sent: what has come in while one transaction is
// committed goes into the next. Without it, each delivery would wait for a commit of its own.
type marks struct {
	list chan store.WebhookDelivery
	done chan struct{}
	err  error // once done is closed
}

// startMarks begins to write; it ends with flush.
func (w *Webhooks) startMarks() *marks {
	m := &marks{list: make(chan store.WebhookDelivery, ahead), done: make(chan struct{})}
	go func() {
		defer close(m.done)
		for d := range m.list {
			if m.err = w.write(m.waiting(d)); m.err != nil {
				return
			}
		}
	}()
	return m
}

// waiting is a delivery and what waits behind it.
func (m *marks) waiting(first store.WebhookDelivery) []store.WebhookDelivery {
	list := []store.WebhookDelivery{first}
	for {
		select {
		case d, ok := <-m.list:
			if !ok {
				return list
			}
			list = append(list, d)
		default:
			return list
		}
	}
}

// write does not depend on the job's context: what has been sent has been sent.
func (w *Webhooks) write(list []store.WebhookDelivery) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	return w.cfg.Store.Update(ctx, func(tx store.Tx) error { return tx.Deliveries.Finish(ctx, list) })
}

// add has a delivery marked, and waits while too many are not. It returns false if marking has failed; flush says why.
func (m *marks) add(d store.WebhookDelivery) bool {
	select {
	case m.list <- d:
		return true
	case <-m.done:
		return false
	}
}

// flush returns once all that was added is marked.
func (m *marks) flush() error {
	close(m.list)
	<-m.done
	return m.err
}
