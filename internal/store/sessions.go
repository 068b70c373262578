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

// Signout is the word of an identity provider that a person has signed out there.
type Signout struct {
	Issuer  string
	TokenID string // of the provider's message; each counts once
	// Subject and SID name the person and the session at the provider. One of them may be empty: a sign-out without SID ends all sessions
	// of the person.
	Subject, SID string
	At           time.Time
	// Until is when the store may forget it: once no session from before At can be alive.
	Until time.Time
}

// SessionReader reads sessions.
type SessionReader interface {
	// Get returns the session with a hash, or not_found if there is none or if it has ended at now.
	Get(ctx context.Context, hash string, now time.Time) (Session, error)
	// SignedOut reports whether a person's session at an identity provider, which began at since, has been signed out there. An empty sid
	// is that of a session that the provider has not named.
	SignedOut(ctx context.Context, issuer, subject, sid string, since time.Time) (bool, error)
}

// SessionTx writes sessions.
type SessionTx interface {
	SessionReader

	// Put stores a session, in place of one with the same hash.
	Put(ctx context.Context, s Session) error
	// Delete removes a session. Removing one that is not there changes nothing.
	Delete(ctx context.Context, hash string) error
	// SignOut stores a sign-out, or returns conflict if its message has been stored before.
	SignOut(ctx context.Context, s Signout) error
	// DeleteExpired removes the sessions that have ended at now, and the sign-outs that may be forgotten.
	DeleteExpired(ctx context.Context, now time.Time) error
}
