package relay

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// patience is how long a message holds up those behind it while it is evaluated. Checks decide within it, so that the order stays; what a
// model or a person decides is overtaken.
const patience = 100 * time.Millisecond

// ahead is how many messages of one side are read before the first of them has gone on.
const ahead = 64

// grace is how long the gateway waits for answers after the client has said its last word.
const grace = 30 * time.Second

// Pump passes messages between a client and a server until one of them ends or ctx does.
func (s *Session) pump(ctx context.Context, toClient, toServer stream) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Each side's messages go out in the order in which they came.
	carry := func(from stream, read func(context.Context, []byte) *step, bad func(error) *step) error {
		steps := make(chan *step, ahead)
		var late sync.WaitGroup
		sent := make(chan error, 1)
		go func() {
			var failed error
			for st := range steps {
				if failed != nil {
					continue
				}
				if !wait(ctx, st.ready, patience) {
					late.Go(func() {
						if wait(ctx, st.ready, 0) {
							_ = s.act(ctx, st, toClient, toServer) // a broken side ends what reads it
						}
					})
					continue
				}
				failed = s.act(ctx, st, toClient, toServer)
			}
			late.Wait()
			sent <- failed
		}()
		err := take(ctx, from, func(raw []byte, err error) bool {
			st := (*step)(nil)
			if err != nil {
				st = bad(err)
			} else {
				st = read(ctx, raw)
			}
			select {
			case steps <- st:
				return true
			case <-ctx.Done():
				return false
			}
		})
		close(steps)
		return errors.Join(err, <-sent)
	}
	go s.g.watchPins(ctx, func() { _ = toClient.send(ctx, listChanged, "") }) // a broken side ends what reads it
	ended := make(chan error, 1)
	go func() {
		ended <- carry(toServer, s.fromServer, func(err error) *step {
			s.g.cfg.Note("%s: a message of the server was dropped: %v", s.g.cfg.Server, err)
			return &step{ready: done}
		})
		s.abandon(ctx, toClient)
		cancel()
	}()
	err := carry(toClient, s.fromClient, func(err error) *step {
		return &step{ready: done, answer: failure(nil, codeParse, "Tenet: the message was not passed on: "+err.Error(), nil)}
	})
	if err == nil && ctx.Err() == nil {
		s.drain(ctx)
		if c, ok := toServer.(io.Closer); ok {
			err = c.Close()
		}
		select {
		case <-ended: //nolint:errcheck // the client has ended the session, so what the server says of it is of no use
		case <-time.After(grace):
		}
		return err
	}
	cancel()
	if closer, ok := toServer.(io.Closer); ok {
		_ = closer.Close()
	}
	return errors.Join(err, <-ended)
}

// abandon answers the requests that a server leaves behind that has ended.
func (s *Session) abandon(ctx context.Context, toClient stream) {
	s.mu.Lock()
	var answers [][]byte
	var ids []string
	for id, a := range s.asked {
		s.forget(id, a)
		if a.sent {
			answers, ids = append(answers, failure(a.id, codeRefused, "Tenet: the server has ended without an answer.", nil)), append(ids, id)
		}
	}
	s.mu.Unlock()
	for i, answer := range answers {
		_ = toClient.send(ctx, answer, ids[i])
	}
}

// drain waits until all requests of the client are answered, or grace is over.
func (s *Session) drain(ctx context.Context) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(grace); s.waiting() > 0 && time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// act sends what follows from a message.
func (s *Session) act(ctx context.Context, st *step, toClient, toServer stream) error {
	switch {
	case st.answer != nil:
		return toClient.send(ctx, st.answer, st.about)
	case st.forward != nil && (st.settle == nil || st.settle()):
		return toServer.send(ctx, st.forward, st.about)
	}
	return nil
}

// wait waits for a step to be ready, at most for a time; 0 is until ctx ends.
func wait(ctx context.Context, ready <-chan struct{}, most time.Duration) bool {
	select {
	case <-ready:
		return true
	default:
	}
	var over <-chan time.Time
	if most > 0 {
		t := time.NewTimer(most)
		defer t.Stop()
		over = t.C
	}
	select {
	case <-ready:
		return true
	case <-over:
	case <-ctx.Done():
	}
	return false
}

// take reads a stream to its end and calls each for every message in it, batches taken apart, until each returns false or ctx ends.
func take(ctx context.Context, from stream, each func(raw []byte, err error) bool) error {
	var mu sync.Mutex
	over := false
	ended := make(chan error, 1)
	go func() { // a read that waits does not end with ctx
		ended <- messages(ctx, from, func(raw []byte, err error) bool {
			mu.Lock()
			defer mu.Unlock()
			return !over && each(raw, err)
		})
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		mu.Lock()
		over = true
		mu.Unlock()
		return ctx.Err()
	}
}

// messages calls each for every message of a stream until it ends, or each returns false.
func messages(ctx context.Context, from stream, each func(raw []byte, err error) bool) error {
	for {
		raw, err := from.receive(ctx)
		var long tooLong
		switch {
		case errors.As(err, &long):
			if !each(nil, err) {
				return ctx.Err()
			}
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		parts, err := split(raw)
		if err != nil {
			if !each(nil, err) {
				return ctx.Err()
			}
			continue
		}
		for _, part := range parts {
			if !each(part, nil) {
				return ctx.Err()
			}
		}
	}
}
