package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"tenet/internal/app"
	"tenet/internal/client"
	"tenet/internal/config"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// States of what tenet doctor has looked at.
const (
	partOK    = "ok"
	partNote  = "note"
	partWrong = "wrong"
)

// examined is a part of the installation, its state, and what to do about it.
type examined struct {
	Part  string `json:"part"`
	State string `json:"state"`
	Text  string `json:"text"`
}

// doctorCommand is `tenet doctor`.
type doctorCommand struct {
	Timeout time.Duration `default:"10s" placeholder:"TIME" help:"Longest time to wait for a server (default 10s)."`
	output
}

func (doctorCommand) Help() string {
	return `Looks at the settings, the database or the server, the key, the models, the clocks, the versions and the hooks here, and changes nothing.
Exit code 0 says that nothing is wrong, 1 that something is.

    tenet doctor
    tenet doctor --server https://tenet.example.com --format json`
}

// Run looks at each part.
func (k *doctorCommand) Run(ctx context.Context, s *session) error {
	d := &doctor{s: s}
	cfg, err := s.configure(defaultSettings(), nil)
	if err != nil {
		for text := range strings.SplitSeq(err.Error(), "\n") {
			d.add("settings", partWrong, "%s", text)
		}
	} else {
		wrong, unread := app.CheckFiles(cfg, s.env)
		for _, err := range wrong {
			d.add("settings", partWrong, "%s", cfg.Located(err))
		}
		for _, err := range unread {
			d.add("settings", partNote, "%s", cfg.Located(err))
		}
		if len(wrong) == 0 {
			d.add("settings", partOK, "%s", cmp.Or(cfg.ReadFrom(), "no file; defaults and the environment"))
		}
	}
	d.add("program", partOK, "%s", version())
	asked, cancel := context.WithTimeout(ctx, k.Timeout)
	defer cancel()
	if server := cmp.Or(s.globals.Server, s.env("TENET_SERVER")); server != "" && s.globals.Data == "" && s.globals.DatabaseURL == "" {
		d.server(asked, server)
	} else if err == nil {
		d.embedded(asked, &cfg)
	}
	d.hooks(ctx)
	if err := show(s, k.output, d.list, nil, printExamined); err != nil {
		return err
	}
	if slices.ContainsFunc(d.list, func(e examined) bool { return e.State == partWrong }) {
		return exit(exitFound)
	}
	return nil
}

func printExamined(s *session, parts []examined) error {
	return list(s, "", "PART\tSTATE\tWHAT", parts, func(e *examined) []any { return []any{e.Part, e.State, e.Text} })
}

// doctor collects what it finds.
type doctor struct {
	s    *session
	list []examined
}

func (d *doctor) add(part, state, format string, args ...any) {
	d.list = append(d.list, examined{part, state, line(fmt.Sprintf(format, args...))})
}

// maxDrift is how far the clocks of this machine and of a server may be apart: tokens and signatures allow for a minute.
const maxDrift = 30 * time.Second

// server looks at the server of --server or $TENET_SERVER.
func (d *doctor) server(ctx context.Context, address string) {
	c, stop, err := d.s.connect(ctx, keepsData, defaultSettings())
	if err != nil {
		d.add("server", partWrong, "%v", err)
		return
	}
	defer func() { _ = stop() }() // a server in another process has nothing to stop
	if err := client.Ready(ctx, c); err != nil {
		d.add("server", partWrong, "%s: %v", address, err)
		return
	}
	d.add("server", partOK, "%s is ready", address)
	d.clock(ctx, address)
	who, err := client.Get(ctx, c, op.Whoami)
	if err != nil {
		d.add("key", partWrong, "%v", err)
		return
	}
	d.add("key", partOK, "commands act as %s", who.Actor)
	d.models(ctx, c)
}

// clock compares the clock of this machine with that of a server.
func (d *doctor) clock(ctx context.Context, address string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(address, "/")+"/health", nil)
	if err != nil {
		return
	}
	began := time.Now()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return // a certificate that only the client knows; the server answers, as was seen before
	}
	_ = res.Body.Close() // only its header counts
	at, err := http.ParseTime(res.Header.Get("Date"))
	if err != nil {
		return
	}
	// The header has whole seconds, and was written between the two instants.
	switch now := time.Now(); {
	case at.Before(began.Add(-maxDrift)), at.After(now.Add(maxDrift)):
		d.add("clock", partWrong, "that of the server is %s apart from this machine's; set both by NTP", now.Sub(at).Abs().Round(time.Second))
	default:
		d.add("clock", partOK, "as the server's")
	}
}

// models looks at the servers of the cluster and their models, as far as the caller may see them.
func (d *doctor) models(ctx context.Context, c *client.Client) {
	servers, err := client.All(ctx, c, op.ListServers)
	if rule.CodeOf(err) == rule.CodeForbidden {
		return
	}
	if err != nil {
		d.add("servers", partWrong, "%v", err)
		return
	}
	var models int
	for i := range servers {
		v := &servers[i]
		if v.Version != version() {
			d.add("versions", partNote, "%s runs %s, and this program is %s", v.Name, v.Version, version())
		}
		for k := range v.Replicas {
			d.replica(v.Name, &v.Replicas[k])
		}
		for k := range v.Models {
			if m := &v.Models[k]; m.Model != "" {
				models++
				d.model(v.Name, m)
			}
		}
	}
	if models == 0 {
		d.add("model", partNote, "none; what checks leave open is NEEDS_CONFIRMATION (judge_model)")
	}
}

// replica looks at a replica of the database (read_urls).
func (d *doctor) replica(server string, r *wire.Replica) {
	if r.LeftOut != "" {
		d.add("replica", partWrong, "%s is left out on %s: %s; lists are read at the database itself", r.Name, server, r.LeftOut)
		return
	}
	d.add("replica", partOK, "%s on %s: behind by %d ms", r.Name, server, r.BehindMS)
}

func (d *doctor) model(server string, m *wire.ModelHealth) {
	if len(m.Resting) > 0 || m.Status == "unreachable" || m.Status == "bad_key" {
		d.add("model", partWrong, "%s on %s: %s; %s", m.Model, server, modelStatus(m), cmp.Or(m.Detail, m.LastError, "tenet servers shows more"))
		return
	}
	d.add("model", partOK, "%s on %s: %d calls, %d failed", m.Model, server, m.Calls, m.Failed)
}

// embedded looks at the database that commands use without a server.
func (d *doctor) embedded(ctx context.Context, cfg *config.Config) {
	dir := dataFolder(d.s, cfg)
	switch {
	case cfg.Data != "" && cfg.DatabaseURL == "" && !hasData(dir):
		d.add("database", partNote, "there is none in %s yet; the first command that judges makes one there", dir)
	case cfg.DatabaseURL == "" && !hasData(dir):
		d.add("database", partNote, "there is none in %s yet; commands that judge use the starter packs and keep nothing", dir)
	default:
		c, stop, err := d.s.connect(ctx, keepsData, defaultSettings())
		if err == nil {
			_, err = client.Get(ctx, c, op.ListProjects)
			err = errors.Join(err, stop())
		}
		if err != nil {
			d.add("database", partWrong, "%v", err)
			break
		}
		d.add("database", partOK, "%s", cmp.Or(dir, "PostgreSQL"))
		if url := serving(ctx, dir); url != "" {
			d.add("server", partNote, "%s works on it too; --server %s asks it", url, url)
		}
	}
	if cfg.JudgeModel == "" {
		d.add("model", partNote, "none; what checks leave open is NEEDS_CONFIRMATION (set TENET_JUDGE_MODEL)")
	} else {
		d.add("model", partOK, "%s is set; tenet eval measures it", cfg.JudgeModel)
	}
}

// hooks looks at the hooks that stand here.
func (d *doctor) hooks(ctx context.Context) {
	walls, err := allWalls(ctx, d.s)
	if err != nil {
		d.add("hooks", partWrong, "%v", err)
		return
	}
	stand := 0
	for i := range walls {
		w := &walls[i]
		switch w.State {
		case wallStands:
			stand++
		case wallBroken:
			d.add("hooks", partWrong, "%s (%s): %s", w.Tool, w.Scope, strings.Join(w.Problems, "; "))
		}
	}
	switch {
	case stand > 0:
		d.add("hooks", partOK, "%d stand here; tenet hook status lists them", stand)
	case !slices.ContainsFunc(d.list, func(e examined) bool { return e.Part == "hooks" }):
		d.add("hooks", partNote, "none is installed here; tenet hook install does it")
	}
}
