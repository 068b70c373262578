package cli

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
)

// A server whose HTTP server has ended fails; one that is asked to stop does not.
func TestServingEndsWithItsServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		failed <- net.ErrClosed
		if err := untilStopped(ctx, failed); !errors.Is(err, net.ErrClosed) {
			t.Errorf("the server has ended: %v", err)
		}
		cancel()
		if err := untilStopped(ctx, failed); err != nil {
			t.Errorf("asked to stop: %v", err)
		}
	})
}
