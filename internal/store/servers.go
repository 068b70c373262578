package store

import (
	"context"
	"time"
)

// Server is a running program that serves the API on the database. It belongs to no project.
type Server struct {
	ID        string
	StartedAt time.Time
	SeenAt    time.Time // when it last wrote its row
	Data      []byte    // JSON: its state then
}

// ServerReader reads servers.
type ServerReader interface {
	// List lists the servers, those that have run longest first.
	List(ctx context.Context) ([]Server, error)
}

// ServerTx writes servers.
type ServerTx interface {
	ServerReader

	// Put stores a server, in place of one with the same id.
	Put(ctx context.Context, s Server) error
	// Delete removes a server. Removing one that is not there changes nothing.
	Delete(ctx context.Context, id string) error
	// DeleteUnseen removes the servers that were last seen before a time.
	DeleteUnseen(ctx context.Context, before time.Time) error
}
