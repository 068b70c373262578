// Command dex runs dex, an identity provider, with its state in memory, for the tests of single sign-on. It reads its clients and people as JSON
// from standard input, listens on a free port of this machine, prints its issuer, and ends when its input does.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/dexidp/dex/connector"
	"github.com/dexidp/dex/server"
	"github.com/dexidp/dex/storage"
	"github.com/dexidp/dex/storage/memory"
	"github.com/prometheus/client_golang/prometheus"
)

// settings are the input, on one line.
type settings struct {
	Clients []storage.Client
	People  []person
	// IDTokenSeconds is how long tokens are good for.
	IDTokenSeconds int
}

type person struct {
	Name, Email, Password string
	Groups                []string
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "dex:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	line, err := lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("reading the settings: %w", err)
	}
	var s settings
	if err := json.Unmarshal(line, &s); err != nil {
		return fmt.Errorf("reading the settings: %w", err)
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server.ConnectorsConfig["people"] = func() server.ConnectorConfig { return &people{all: s.People} }
	state := storage.WithStaticConnectors(storage.WithStaticClients(memory.New(logger), s.Clients),
		[]storage.Connector{{ID: "people", Type: "people", Name: "People"}})
	issuer := "http://" + listener.Addr().String() + "/dex"
	refresh, err := server.NewRefreshTokenPolicy(logger, false, "", "1h", "0s")
	if err != nil {
		return err
	}
	provider, err := server.NewServer(ctx, server.Config{
		Issuer: issuer, Storage: state, SkipApprovalScreen: true, Logger: logger, PrometheusRegistry: prometheus.NewRegistry(),
		AllowedGrantTypes:  []string{"authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"},
		RefreshTokenPolicy: refresh, IDTokensValidFor: time.Duration(max(s.IDTokenSeconds, 1)) * time.Second,
	})
	if err != nil {
		return err
	}
	web := &http.Server{Handler: provider, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(listener) }()
	fmt.Fprintln(out, issuer)
	go func() {
		_, _ = io.Copy(io.Discard, lines) // until its parent has gone
		failed <- http.ErrServerClosed
	}()
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return web.Close()
}

// people is a connector to a fixed list of people.
type people struct{ all []person }

// Open implements server.ConnectorConfig.
func (p *people) Open(string, *slog.Logger) (connector.Connector, error) { return p, nil }

// Prompt implements connector.PasswordConnector.
func (p *people) Prompt() string { return "" }

// Login implements connector.PasswordConnector.
func (p *people) Login(_ context.Context, s connector.Scopes, name, password string) (connector.Identity, bool, error) {
	for _, one := range p.all {
		if one.Name == name && one.Password == password {
			return identity(&one, s), true, nil
		}
	}
	return connector.Identity{}, false, nil
}

// Refresh implements connector.RefreshConnector.
func (p *people) Refresh(_ context.Context, s connector.Scopes, before connector.Identity) (connector.Identity, error) {
	for _, one := range p.all {
		if one.Name == before.UserID {
			return identity(&one, s), nil
		}
	}
	return connector.Identity{}, errors.New("this person has left")
}

func identity(p *person, s connector.Scopes) connector.Identity {
	who := connector.Identity{UserID: p.Name, Username: p.Name, Email: p.Email, EmailVerified: true}
	if s.Groups {
		who.Groups = p.Groups
	}
	return who
}
