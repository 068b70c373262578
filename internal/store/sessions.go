package store

import (
	"context"
	"time"
)

// Session holds the state of a person who is signed in. A session belongs to no project.
type Session struct {
	// Hash is the SHA-256 of the token that the browser holds, in a form without secrets.
	Hash string
	Data []byte
	// ExpiresAt is the end of the session.
	ExpiresAt time.Time
}

// SessionReader reads sessions.
type SessionReader interface {
	// Get returns the session with a hash, or not_found if there is none or if it has ended at now.
	Get(ctx context.Context, hash string, now time.Time) (Session, error)
}

// SessionTx writes sessions.
type SessionTx interface {
	SessionReader

	// Put stores a session, in place of one with the same hash.
	Put(ctx context.Context, s Session) error
	// Delete removes a session. Removing one that is not there changes nothing.
	Delete(ctx context.Context, hash string) error
	// DeleteExpired removes the sessions that have ended at now.
	DeleteExpired(ctx context.Context, now time.Time) error
}
