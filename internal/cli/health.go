package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/tlsfile"
)

// healthCommand is `tenet health`.
type healthCommand struct {
	Timeout time.Duration `default:"3s" help:"Longest time to wait for the answer."`
	output
}

func (healthCommand) Help() string {
	return `Asks the server of --server or $TENET_SERVER, and else the one that the settings describe on this machine, whether it can evaluate.
Exit code 0 says yes, 1 says that it is there but not ready, 2 that it cannot be reached. Health checks of containers call it.`
}

// Run asks /ready.
func (k *healthCommand) Run(ctx context.Context, s *session) error {
	ctx, cancel := context.WithTimeout(ctx, k.Timeout)
	defer cancel()
	address, transport, err := serverOfSettings(s)
	if err != nil {
		return err
	}
	c, err := client.New(address, "", &http.Client{Transport: transport})
	if err != nil {
		return err
	}
	err = client.Ready(ctx, c)
	switch answer, answered := errors.AsType[*client.Error](err); {
	case err == nil:
		return show(s, k.output, readiness{Server: address, Ready: true}, nil, printReadiness)
	case answered && answer.Err.Code == rule.CodeUnavailable:
		if err := show(s, k.output, readiness{Server: address, Problem: answer.Error()}, nil, printReadiness); err != nil {
			return err
		}
		return exit(exitFound)
	default:
		return fmt.Errorf("%s: %w", address, err)
	}
}

// readiness is the answer of a server to whether it can evaluate.
type readiness struct {
	Server  string `json:"server"`
	Ready   bool   `json:"ready"`
	Problem string `json:"problem,omitempty"`
}

func printReadiness(s *session, r readiness) error {
	state := "is ready"
	if !r.Ready {
		state = "is not ready: " + r.Problem
	}
	_, err := fmt.Fprintf(s.out, "%s %s\n", r.Server, state)
	return err
}

// serverOfSettings returns the address of the server that --server or the settings name, and how to reach it.
func serverOfSettings(s *session) (string, http.RoundTripper, error) {
	if named := cmp.Or(s.globals.Server, s.env("TENET_SERVER")); named != "" {
		return named, http.DefaultTransport, nil
	}
	cfg, err := s.configure(defaultSettings(), nil)
	if err != nil {
		return "", nil, err
	}
	at, err := localAddress(cfg.Listen)
	if err != nil {
		return "", nil, err
	}
	if cfg.TLSCert == "" {
		return "http://" + at, http.DefaultTransport, nil
	}
	trust, err := tlsfile.Local(cfg.TLSCert)
	if err != nil {
		return "", nil, err
	}
	return "https://" + at, &http.Transport{TLSClientConfig: trust}, nil
}

// localAddress is the address at which a server that listens there is reached from its own machine.
func localAddress(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", fmt.Errorf("listen: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
		if strings.HasPrefix(listen, "[") {
			host = "::1"
		}
	}
	return net.JoinHostPort(host, port), nil
}
