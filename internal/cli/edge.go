package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"tenet/internal/app"
	places "tenet/internal/bundle/place"
	"tenet/internal/client"
	"tenet/internal/config"
	"tenet/internal/rule"
)

// edgeCommand is `tenet edge`.
type edgeCommand struct {
	Bundle string        `type:"filled" placeholder:"PLACE" help:"Where bundles are: the address at a server, oci://..., s3://... or file:PATH ($$TENET_EDGE_BUNDLE)."`
	Trust  []string      `sep:"none" placeholder:"KEY" help:"Verifier key that must have signed them, or a file with a key on each line ($$TENET_EDGE_TRUST). May be repeated."`
	Name   string        `type:"filled" placeholder:"NAME" help:"Name of the edge; default is the name of this machine ($$TENET_EDGE_NAME)."`
	Every  time.Duration `default:"10s" placeholder:"DURATION" help:"Time between two looks at the place; default is 10s. A server also sends news."`
	MaxAge time.Duration `default:"0s" placeholder:"DURATION" help:"Age from which on a bundle is stale: the time since a server vouched for it. Default is any."`
	Fail   string        `default:"CRITICAL=closed,HIGH=confirm,MEDIUM=confirm,LOW=open" placeholder:"MODES" help:"What a stale edge answers, by the most severe rule that applies: closed denies, confirm is never ALLOW, open answers as ever. One word sets all."`

	SpoolMB int64 `name:"spool-mb" default:"1024" placeholder:"MIB" help:"Records that may wait for the server until --fail says what the edge answers, in MiB; default is 1024. 0 is any."`
	KeepMB  int64 `name:"keep-mb" default:"1024" placeholder:"MIB" help:"Records that the server has and that stay here, in MiB; default is 1024. Of older ones the hashes stay. 0 is all."`

	Listen     string `placeholder:"ADDR" help:"Address to listen on; default is 127.0.0.1:8080 ($$TENET_LISTEN)."`
	JudgeModel string `placeholder:"MODEL" help:"Model that judges rules without a check, as provider:model ($$TENET_JUDGE_MODEL)."`
	LogFormat  string `placeholder:"FORMAT" help:"text (default) or json ($$TENET_LOG_FORMAT)."`
	LogLevel   string `placeholder:"LEVEL" help:"debug, info (default), warn or error ($$TENET_LOG_LEVEL)."`
}

func (edgeCommand) Help() string {
	return `An edge evaluates beside the caller, by the rules that are deployed to one environment: same API, same checks, no database server. It takes signed
bundles only, never an older one, and keeps the last good one in --data, so that it starts without a network. Keys of the server work at the edge. Changes of
rules are refused; send them to the server.

    tenet bundle key production > production.keys
    tenet edge --bundle https://tenet.example.com/api/v1/bundles/production --key tnt_... --trust production.keys --data /var/lib/tenet-edge
    tenet edge --bundle oci://ghcr.io/acme/rules:production --trust production.keys --data edge --max-age 1h

Records go to the server of the bundle, or that of --server, as soon as it takes them. Every answer has the bundle (bundle) and the seconds since a server vouched for it (bundle_age_s).`
}

// Run serves until ctx ends.
func (k *edgeCommand) Run(ctx context.Context, s *session) error {
	err := k.serve(ctx, s)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func (k *edgeCommand) serve(ctx context.Context, s *session) error {
	if s.globals.DatabaseURL != "" {
		return errors.New("an edge has a database of its own in --data, and gets its rules from --bundle; leave out --database-url")
	}
	edge, err := k.edge(s)
	if err != nil {
		return err
	}
	cfg, err := s.configure(defaultSettings(), k.flags())
	if err != nil {
		return err
	}
	if cfg.Data == "" {
		return errors.New("an edge needs a folder of its own for its records; name it with --data")
	}
	if cfg.DatabaseURL != "" {
		return errors.New("an edge has a database of its own in --data; the setting database_url is for servers")
	}
	return runNode(ctx, s, cfg, edgeReserve, edge, func(node *app.App, log *slog.Logger) error {
		if err := greetEdge(ctx, s, node, cfg, log, edge.Name); err != nil {
			return err
		}
		go func() {
			if err := app.Settle(ctx, node); err != nil {
				log.DebugContext(ctx, "the memory of the start is given back before it is done", slog.Any("error", err))
			}
			debug.FreeOSMemory() // reading a bundle takes several times the memory that its rules have then
			if err := releaseProgram(); err != nil {
				log.DebugContext(ctx, "the pages of the program stay in memory", slog.Any("error", err))
			}
		}()
		return untilStopped(ctx, node.Failed())
	})
}

// minAge is the least --max-age.
const minAge = 30 * time.Second

// edge reads the flags.
func (k *edgeCommand) edge(s *session) (*app.Edge, error) {
	address := cmp.Or(k.Bundle, s.env("TENET_EDGE_BUNDLE"))
	if address == "" {
		return nil, fmt.Errorf("--bundle is missing; use %s", places.Forms)
	}
	given := k.Trust
	if t := s.env("TENET_EDGE_TRUST"); t != "" && len(given) == 0 {
		given = []string{t}
	}
	if len(given) == 0 {
		return nil, errors.New("--trust is missing: name the keys that sign the bundles, as tenet bundle key prints them")
	}
	trusted, err := trustedKeys(given)
	if err != nil {
		return nil, err
	}
	if k.SpoolMB < 0 || k.KeepMB < 0 {
		return nil, errors.New("--spool-mb and --keep-mb are at least 0")
	}
	if k.Every < 100*time.Millisecond {
		return nil, errors.New("--every must be at least 100ms")
	}
	if k.MaxAge != 0 && k.MaxAge < minAge {
		return nil, fmt.Errorf("--max-age must be at least %s, since servers vouch for their bundles only from time to time", minAge)
	}
	fail, err := rule.ParseStale(k.Fail)
	if err != nil {
		return nil, fmt.Errorf("--fail: %w", err)
	}
	key := cmp.Or(s.globals.Key, s.env("TENET_KEY"), s.env("TENET_API_KEY"))
	place, err := places.Parse(address, places.Config{Env: s.env, Key: key, Project: s.project()})
	if err != nil {
		return nil, err
	}
	var server *client.Client
	if at := cmp.Or(s.globals.Server, s.env("TENET_SERVER"), serverOf(address)); at != "" {
		if server, err = client.New(at, key, nil); err != nil {
			return nil, err
		}
	}
	name := cmp.Or(k.Name, s.env("TENET_EDGE_NAME"))
	if name == "" {
		if name, err = os.Hostname(); err != nil {
			return nil, fmt.Errorf("this machine has no name; name the edge with --name: %w", err)
		}
	}
	return &app.Edge{Name: name, Place: place, Trusted: trusted, Every: k.Every, MaxAge: k.MaxAge, Fail: fail, Server: server, Spool: k.SpoolMB << 20, Keep: k.KeepMB << 20}, nil
}

// serverOf returns the server of the address of a bundle there; empty for other places.
func serverOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	before, _, ok := strings.Cut(u.Path, "/api/v1/bundles/")
	if !ok {
		return ""
	}
	return u.Scheme + "://" + u.Host + before
}

// flags are the settings that the command line gives. An edge has no console, and watches over no rules.
func (k *edgeCommand) flags() map[string]string {
	flags := map[string]string{"console": "false", "alerts": "false"}
	for key, value := range map[string]string{"listen": k.Listen, "judge_model": k.JudgeModel, "log_format": k.LogFormat, "log_level": k.LogLevel} {
		if value != "" {
			flags[key] = value
		}
	}
	return flags
}

// greetEdge says that the edge is there: for people, or as one record of a JSON log.
func greetEdge(ctx context.Context, s *session, node *app.App, cfg config.Config, log *slog.Logger, name string) error {
	rules, keys, err := node.Rules(ctx)
	if err != nil {
		return err
	}
	head, age, _ := app.BundleOf(node)
	url := "http://" + node.Addr()
	if cfg.LogFormat == "json" {
		log.InfoContext(ctx, "serving", slog.String("url", url), slog.String("edge", name), slog.Int("rules", rules), slog.Bool("keys", keys), slog.Int64("bundle", head.Seq), slog.Duration("age", age))
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n\n", s.bold("Edge "+name+" of Tenet "+version()+" serves on"), s.green(url))
	for _, row := range [][2]string{
		{"bundle", fmt.Sprintf("number %d of %s in project %s, vouched for %s ago", head.Seq, head.Environment, head.Project, age.Round(time.Second))},
		{"rules", fmt.Sprint(rules)},
		{"model", modelLine(node.Model())},
		{"access", accessLine(keys)},
	} {
		fmt.Fprintf(&b, "  %s %s\n", s.dim(fmt.Sprintf("%-7s", row[0])), row[1])
	}
	_, err = fmt.Fprintln(s.out, b.String())
	return err
}
