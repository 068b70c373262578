package client

import (
	"context"

	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Queue lists a page of what waits for a person.
func (c *Client) Queue(ctx context.Context, q wire.QueueQuery) (wire.Queue, error) {
	return Get(ctx, c, op.ListQueue.Where(q))
}

// DecideQueue decides on things that wait, each for itself.
func (c *Client) DecideQueue(ctx context.Context, d wire.DecideQueue) (wire.QueueDecided, error) {
	return Call(ctx, c, op.DecideQueue, d)
}

// MarkQueue says who takes care of things that wait, and until when they are put aside.
func (c *Client) MarkQueue(ctx context.Context, m wire.MarkQueue) (wire.QueueDecided, error) {
	return Call(ctx, c, op.MarkQueue, m)
}
