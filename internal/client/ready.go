package client

import (
	"context"
	"net/http"
)

// Ready returns nil if the server can evaluate. While it is there and cannot, the error is an [*Error] that is unavailable, with the reason.
func Ready(ctx context.Context, c *Client) error {
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/ready", anywhere: true, limit: maxProblem})
	return err
}
