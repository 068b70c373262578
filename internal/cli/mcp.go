package cli

import (
	"context"
	"net/http"

	"tenet/internal/client"
	"tenet/internal/mcp"
)

// mcpCommand is `tenet mcp`.
type mcpCommand struct{}

func (mcpCommand) Help() string {
	return `For coding agents and editors, which start it themselves. It works on the embedded database, or with --server and a key on a server,
where it may do what the key may do. A server also serves the protocol itself, at /mcp.

Like check, it does not read the tenet.yaml of the current folder unless --config names it: the current folder is the project that is being worked on.

Example, for Claude Code:

    claude mcp add tenet -- tenet mcp
    claude mcp add tenet --env TENET_KEY=tnt_... -- tenet mcp --server https://tenet.example.com`
}

func (mcpCommand) Run(ctx context.Context, s *session) (err error) {
	s.follow = true
	c, stop, err := s.connect(ctx, needsData, "")
	if err != nil {
		return err
	}
	defer func() {
		if stopErr := stop(); err == nil {
			err = stopErr
		}
	}()
	return mcp.Serve(ctx, mcp.Config{
		Version: version(), Client: func(http.Header) (*client.Client, error) { return c, nil },
	}, s.in, s.out)
}
