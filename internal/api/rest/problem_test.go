package rest

import (
	"context"
	"testing"
)

// Package api tests the status of each code.
func TestTheTableOfCodesIsKnown(t *testing.T) {
	if len(kinds) != 10 {
		t.Errorf("the table has %d codes; the test of package api has 10", len(kinds))
	}
}

type forgetful struct{}

func (forgetful) Routes(r *Router) {
	Handle(r, Operation{ID: "open", Route: "GET /open", Summary: "Open to all by mistake"}, func(ctx context.Context, _ *None) (string, error) { return "", nil })
}

// An operation that declares no role does not serve with a default one: the server does not start.
func TestAnOperationWithoutARole(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("an operation without a role is mounted")
		}
	}()
	New(Config{Keys: openDoor{}}, forgetful{})
}
