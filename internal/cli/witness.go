package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"tenet/internal/checkpoint"
	"tenet/internal/witness"
)

// witnessCommand is `tenet witness`.
type witnessCommand struct {
	Folder string `type:"filled" required:"" placeholder:"DIR" help:"Folder of the witness's key and of the last checkpoints. One process may use it at a time. Back it up with both, or with neither."`
	Name   string `placeholder:"NAME" help:"Name of a new witness, such as witness.example.com."`
	Logs   string `type:"filled" placeholder:"FILE" help:"File with a line for each key of a log to cosign: log KEY. A policy of tenet audit log --policy is one."`
	Listen string `default:"127.0.0.1:8099" placeholder:"ADDR" help:"Address to listen on; default is ${default}."`
	Key    bool   `name:"print-key" help:"Print the key that verifies the cosignatures, and end."`
}

func (witnessCommand) Help() string {
	return `Cosigns the checkpoints of audit logs (C2SP tlog-witness), of this and other programs. A log that a witness has cosigned cannot show
somebody else another history. Run it on a machine that those who run the log cannot write to, best at another organization.

    tenet audit log --policy > tenet.policy                      # where the log is; take it to the witness
    tenet witness --folder /var/lib/witness --name witness.example.com --logs tenet.policy

It needs no database. Stop it before you copy its folder.`
}

func (k *witnessCommand) Run(ctx context.Context, s *session) error {
	log := slog.New(slog.NewTextHandler(s.err, nil))
	cfg := witness.Config{Folder: k.Folder, Name: k.Name, Logger: log}
	if k.Logs != "" {
		data, err := os.ReadFile(k.Logs)
		if err != nil {
			return err
		}
		if cfg.Logs, err = checkpoint.ParseLogs(data); err != nil {
			return fmt.Errorf("%s: %w", k.Logs, err)
		}
	}
	if !k.Key && len(cfg.Logs) == 0 {
		return errors.New("--logs must name a file with at least one log to cosign")
	}
	w, err := witness.Open(cfg)
	if err != nil {
		return err
	}
	if k.Key {
		_, err := fmt.Fprintln(s.out, w.Key())
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", k.Listen)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(s.out, "%s serves on http://%s\n  line for policies: witness NAME %s http://%s\n", s.bold("The witness"), listener.Addr(), w.Key(), listener.Addr()); err != nil {
		return err
	}
	server := &http.Server{Handler: w, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 20 * time.Second, WriteTimeout: 20 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	if err := untilStopped(ctx, failed); err != nil {
		return err
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	return server.Shutdown(stopping)
}
