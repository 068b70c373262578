package app

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"tenet/internal/api/rest"
	"tenet/internal/config"
	"tenet/internal/rule"
	"tenet/internal/sso"
	"tenet/internal/telemetry"
)

// leastWriteTimeout bounds an answer, except for those that are streams and those that wait longer for a model.
const leastWriteTimeout = 5 * time.Minute

// writeTimeout bounds an answer. One that waits for triage and for the judge may take as long as these may, and a minute more.
func writeTimeout(cfg config.Config) time.Duration {
	return max(leastWriteTimeout, cfg.Judging()*3/2+time.Minute)
}

// Start listens and serves in the background, follows other nodes, and loads the default project. It refuses an address
// that others can reach until an API key exists. Callers call Stop even if it fails.
func (a *App) Start(ctx context.Context) error {
	for _, address := range []string{a.cfg.Listen, a.cfg.GRPCListen} {
		if err := mayListen(ctx, a.callers, address); err != nil {
			return err
		}
	}
	if err := compareHistory(ctx, a.cfg, a.parts.book, a.log); err != nil {
		return err
	}
	var err error
	if a.tls, err = openTLS(a.cfg, a.log); err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", a.cfg.Listen)
	if err != nil {
		return err
	}
	a.listener = listener
	handler, atEnd, err := a.serveConsole()
	if err != nil {
		return err
	}
	if a.cfg.AccessLog {
		handler = rest.AccessLog(handler, a.log)
	}
	handler = telemetry.Handler(forwardedBy(a.proxies, handler))
	if a.tls != nil {
		handler = withClientCertificate(a.tls, handler)
		listener = tls.NewListener(listener, a.tls.Server(false, "h2", "http/1.1"))
		a.followers = append(a.followers, a.tls.Run)
	}
	a.run(ctx, a.followers...)
	if !a.working {
		a.work()
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		WriteTimeout: writeTimeout(a.cfg), MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
	}
	server.RegisterOnShutdown(atEnd)
	server.RegisterOnShutdown(a.parts.bundles.End)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			a.failed <- err
		}
	}()
	a.onStop = append(a.onStop, func(ctx context.Context) error {
		err := server.Shutdown(ctx)
		if err != nil {
			err = errors.Join(err, server.Close()) // clients that are still connected have had their time
		}
		<-ended
		return err
	})
	if a.cfg.GRPCListen == "" {
		return nil
	}
	g := &gateways{
		listen: a.cfg.GRPCListen, api: a.handler, maxBody: a.cfg.MaxBody, headers: a.cfg.FactHeaders(), log: a.log, ready: a.Ready,
		needsKey: !loopbackOnly(a.cfg.GRPCListen), tls: a.tls, whenFailed: func(err error) {
			select {
			case a.failed <- err:
			default: // the HTTP server has failed already
			}
		},
	}
	at, stop, err := g.serve(ctx)
	if err != nil {
		return err
	}
	a.grpcAddr = at
	a.onStop = append(a.onStop, stop)
	return nil
}

// Failed returns a channel that gets the error with which the HTTP server ends before Stop.
func (a *App) Failed() <-chan error { return a.failed }

// Addr is the address the node listens on.
func (a *App) Addr() string { return a.listener.Addr().String() }

// loopbackOnly reports whether an address to listen on can be reached from this machine only.
func loopbackOnly(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// mayListen refuses an address that others can reach until an API key exists.
func mayListen(ctx context.Context, callers sso.Callers, address string) error {
	if address == "" || loopbackOnly(address) {
		return nil
	}
	required, err := callers.Required(ctx)
	if err != nil {
		return err
	}
	if !required {
		return rule.Errorf(rule.CodeInvalid,
			"%s can be reached from other machines, but there is no API key; make one with `tenet keys create`, name identity providers with sso_file, or listen on 127.0.0.1", address)
	}
	return nil
}

// load brings the default project into memory and then makes the node ready. It retries while the database is away.
func (a *App) load(ctx context.Context) {
	for {
		_, err := a.live.View(ctx, a.edge.project())
		if err == nil && a.edge != nil {
			showBundle(ctx, a)
		}
		if err == nil {
			close(a.ready)
			return
		}
		if ctx.Err() != nil {
			return
		}
		a.log.WarnContext(ctx, "cannot load the rules; trying again", slog.Any("error", err))
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
}
