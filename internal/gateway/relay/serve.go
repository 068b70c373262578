package relay

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
)

// Program is a server that the gateway starts.
type Program struct {
	Command []string  // with its arguments
	Environ []string  // without what is the gateway's own
	Stderr  io.Writer // of the server
}

// Lines serves one client on a pair of streams, before a server that is a program. It returns when the client's input or the program ends.
func (g *Gateway) Lines(ctx context.Context, in io.Reader, out io.Writer, p Program) error {
	server, err := start(p.Command, p.Environ, p.Stderr)
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }()
	return over(ctx, g.session(rand.Text()).pump(ctx, newLines(in, out, MaxMessage), server))
}

// over leaves out that a context ended, which is how a gateway is stopped.
func over(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// Remote serves one client on a pair of streams, before a server that is reached over streamable HTTP. It returns when the client's input ends.
func (g *Gateway) Remote(ctx context.Context, in io.Reader, out io.Writer, to Remote) error {
	server := newRemote(ctx, to, func(format string, args ...any) { g.cfg.Note(g.cfg.Server+": "+format, args...) })
	defer func() { _ = server.Close() }()
	return over(ctx, g.session(rand.Text()).pump(ctx, newLines(in, out, MaxMessage), server))
}
