package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"time"

	"tenet/internal/app"
	"tenet/internal/config"
	"tenet/internal/rule"
	"tenet/internal/telemetry"
)

// serveCommand is `tenet serve`.
type serveCommand struct {
	Listen     string   `placeholder:"ADDR" help:"Address to listen on; default is 127.0.0.1:8080 ($$TENET_LISTEN)."`
	NoSeed     bool     `help:"Start the first time with an empty corpus instead of the starter packs ($$TENET_NO_SEED)."`
	JudgeModel string   `placeholder:"MODEL" help:"Model that judges rules without a check, as provider:model ($$TENET_JUDGE_MODEL)."`
	ReadURL    []string `name:"read-url" sep:"none" placeholder:"URL" help:"Replica of the PostgreSQL database, where lists are read; several times for several ($$TENET_READ_URLS)."`
	NoConsole  bool     `help:"Serve the API without the web console ($$TENET_CONSOLE=false)."`
	LogFormat  string   `placeholder:"FORMAT" help:"text (default) or json ($$TENET_LOG_FORMAT)."`
	LogLevel   string   `placeholder:"LEVEL" help:"debug, info (default), warn or error ($$TENET_LOG_LEVEL)."`
}

func (serveCommand) Help() string {
	return `Without API keys, everybody who reaches the server may do everything; it then listens on loopback addresses only.
"tenet keys create" makes keys.

All other settings are set in tenet.yaml or as TENET_... in the environment.`
}

// stopTime is how long requests under way may take to finish when the server stops.
const stopTime = 15 * time.Second

// flushTime is how long the last traces may take to be sent.
const flushTime = 5 * time.Second

// Run serves until ctx ends. Being asked to stop is how a server ends, also while it is still starting.
func (k *serveCommand) Run(ctx context.Context, s *session) error {
	err := k.serve(ctx, s)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func (k *serveCommand) serve(ctx context.Context, s *session) error {
	cfg, err := s.configure(defaultSettings(), k.flags())
	if err != nil {
		return err
	}
	return runNode(ctx, s, cfg, serverReserve, nil, func(node *app.App, log *slog.Logger) error {
		defer announce(dataFolder(s, &cfg), app.URL(node))()
		if err := s.greet(ctx, node, cfg, log); err != nil {
			return err
		}
		if err := untilStopped(ctx, node.Failed()); err != nil {
			return err
		}
		log.InfoContext(ctx, "stopping")
		return nil
	})
}

// runNode starts a server, or an edge if there is one, calls while it serves, and stops it.
func runNode(ctx context.Context, s *session, cfg config.Config, reserve int, edge *app.Edge, while func(node *app.App, log *slog.Logger) error) error {
	log, err := logger(s, cfg)
	if err != nil {
		return err
	}
	flush, err := trace(ctx, s, log)
	if err != nil {
		return err
	}
	defer flush()
	kept := tune(s, reserve)
	defer runtime.KeepAlive(kept)
	least, err := failModes(&cfg)
	if err != nil {
		return err
	}
	node, err := app.New(ctx, cfg, log, app.Options{Env: s.env, Version: version(), Edge: edge, FailModes: least})
	if err != nil {
		return err
	}
	defer func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancel()
		if err := node.Stop(stopping); err != nil {
			log.ErrorContext(stopping, "stopping", slog.Any("error", err))
		}
	}()
	if err := node.Start(ctx); err != nil {
		return fmt.Errorf("cannot serve on %s: %w", cfg.Listen, err)
	}
	return while(node, log)
}

// trace begins to send traces if the environment asks for them. The returned function sends the last ones.
func trace(ctx context.Context, s *session, log *slog.Logger) (flush func(), err error) {
	stop, err := telemetry.Open(ctx, s.env, version())
	if err != nil {
		return nil, err
	}
	return func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
		defer cancel()
		if err := stop(stopping); err != nil {
			log.WarnContext(stopping, "the last traces could not be sent", slog.Any("error", err))
		}
	}, nil
}

// untilStopped waits until ctx ends, and returns nil then, or until the HTTP server fails.
func untilStopped(ctx context.Context, failed <-chan error) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return fmt.Errorf("the HTTP server has ended: %w", err)
	}
}

// flags are the settings that the command line gives.
func (k *serveCommand) flags() map[string]string {
	flags := map[string]string{}
	for key, value := range map[string]string{
		"listen": k.Listen, "read_urls": strings.Join(k.ReadURL, ","), "judge_model": k.JudgeModel, "log_format": k.LogFormat, "log_level": k.LogLevel,
	} {
		if value != "" {
			flags[key] = value
		}
	}
	if k.NoSeed {
		flags["no_seed"] = "true"
	}
	if k.NoConsole {
		flags["console"] = "false"
	}
	return flags
}

func logger(s *session, cfg config.Config) (*slog.Logger, error) {
	level, err := cfg.Level()
	if err != nil {
		return nil, err
	}
	o := &slog.HandlerOptions{Level: level}
	if cfg.LogFormat == "json" {
		return slog.New(telemetry.Logs(slog.NewJSONHandler(s.err, o))), nil
	}
	return slog.New(telemetry.Logs(slog.NewTextHandler(s.err, o))), nil
}

// greet says that the server is there and how to use it: for people, or as one record of a JSON log.
func (s *session) greet(ctx context.Context, node *app.App, cfg config.Config, log *slog.Logger) error {
	rules, keys, err := node.Rules(ctx)
	if err != nil {
		return err
	}
	url := app.URL(node)
	if cfg.LogFormat == "json" {
		log.InfoContext(ctx, "serving", slog.String("url", url), slog.Int("rules", rules), slog.Bool("keys", keys), slog.String("model", node.Model()), slog.String("grpc", node.GRPCAddr()))
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n\n", s.bold("Tenet "+version()+" serves on"), s.green(url))
	row := func(name, text string) { fmt.Fprintf(&b, "  %s %s\n", s.dim(fmt.Sprintf("%-7s", name)), text) }
	row("rules", fmt.Sprintf("%d in the project default", rules))
	row("model", modelLine(node.Model()))
	row("access", accessLine(keys))
	if at := node.GRPCAddr(); at != "" {
		row("gateway", at+" (gRPC: ExtMcp, ext_authz)")
	}
	row("docs", url+"/docs")
	fmt.Fprintf(&b, "\n%s\n\n%s\n\n", s.dim("Try it:"), tryIt(url, keys))
	if cfg.Console {
		fmt.Fprintf(&b, "%s %s\n\n", s.bold("Open the console:"), s.green(url+"/"))
	}
	_, err = fmt.Fprint(s.out, b.String())
	return err
}

func modelLine(model string) string {
	if model == "" {
		return "none; what checks leave open is NEEDS_CONFIRMATION (set TENET_JUDGE_MODEL to judge it)"
	}
	return model
}

func accessLine(keys bool) string {
	if keys {
		return "with an API key"
	}
	return "without a key, from this machine only (`tenet keys create` makes keys)"
}

// tryIt is a command to paste that evaluates a small bad change.
func tryIt(url string, keys bool) string {
	key := ""
	if keys {
		key = ` -H "Authorization: Bearer $TENET_KEY"`
	}
	return `curl -s ` + url + `/api/v1/evaluate -H 'Content-Type: application/json'` + key + ` -d '{
  "diff": "--- a/settings.py\n+++ b/settings.py\n@@ -1 +1,2 @@\n import os\n+AWS_KEY = \"AKIAIOSFODNN7EXAMPLE\"\n"
}'`
}

// failModes returns the fail modes that a server demands of all hooks: those of its own setting hook_fail, if that is set.
func failModes(cfg *config.Config) (rule.FailModes, error) {
	for _, v := range cfg.InForce() {
		if v.Key == "hook_fail" && v.Source != config.Default {
			return rule.ParseFailModes(cfg.HookFail)
		}
	}
	return nil, nil
}
