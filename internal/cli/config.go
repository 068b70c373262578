package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tenet/internal/app"
	"tenet/internal/client"
	"tenet/internal/config"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// configCommands are `tenet config ...`.
type configCommands struct {
	Show  configShowCommand  `cmd:"" help:"Show the settings in force and what has set each."`
	Check configCheckCommand `cmd:"" help:"Check settings: all that is wrong, with file and line."`
}

type configCheckCommand struct {
	File string `arg:"" optional:"" help:"Settings file; default is the one that tenet serve would read here."`
	output
}

func (configCheckCommand) Help() string {
	return `Reads the file, the environment and the files that settings name, such as tls_cert, as tenet serve does, and starts nothing. Exit code 2 if
something is wrong. A file that does not exist or may not be read here is a warning, since it may be on the machine of the server.

    tenet config check
    tenet config check deploy/tenet.yaml`
}

// Run reads the settings.
func (k *configCheckCommand) Run(s *session) error {
	if k.File != "" {
		s.globals.Config = k.File
	}
	cfg, err := s.configure(defaultSettings(), nil)
	if err != nil {
		return err
	}
	wrong, unread := app.CheckFiles(cfg, s.env)
	var warnings []string
	for _, err := range unread {
		warnings = append(warnings, cfg.Located(err).Error())
		s.note("warning: %s", line(warnings[len(warnings)-1]))
	}
	if len(wrong) > 0 {
		for i := range wrong {
			wrong[i] = cfg.Located(wrong[i])
		}
		return errors.Join(wrong...)
	}
	set := slices.DeleteFunc(cfg.InForce(), func(v config.Value) bool { return v.Source == config.Default })
	right := checkedSettings{File: cfg.ReadFrom(), Set: len(set), Settings: len(config.Settings()), Warnings: warnings}
	return show(s, k.output, right, nil, func(s *session, c checkedSettings) error {
		_, err := fmt.Fprintf(s.out, "the settings are right: %s read, %d of %d set\n", cmp.Or(c.File, "no file"), c.Set, c.Settings)
		return err
	})
}

// checkedSettings is the JSON of settings without an error.
type checkedSettings struct {
	File     string   `json:"file,omitempty"`
	Set      int      `json:"set"`
	Settings int      `json:"settings"`
	Warnings []string `json:"warnings,omitempty"` // files that could not be read here
}

type configShowCommand struct {
	Keys []string `arg:"" optional:"" placeholder:"KEY" help:"Only these settings, such as judge_model."`
	Set  bool     `help:"Only settings that a flag, the environment or the file has set."`
	output
}

func (configShowCommand) Help() string {
	return `The settings with which tenet serve would start here; with --server, those of that server. Secrets are not shown.

    tenet config show
    tenet config show --set
    tenet config show judge_model --server https://tenet.example.com`
}

// Run shows the settings of this machine, or of a server.
func (k *configShowCommand) Run(ctx context.Context, s *session) error {
	settings, err := k.read(ctx, s)
	if err != nil {
		return err
	}
	for _, key := range k.Keys {
		if !slices.ContainsFunc(settings.Items, func(v wire.SettingNow) bool { return v.Key == key }) {
			return fmt.Errorf("there is no setting %q; tenet config show lists all", key)
		}
	}
	settings.Items = slices.DeleteFunc(settings.Items, func(v wire.SettingNow) bool {
		return k.Set && v.Source == wire.FromDefault || len(k.Keys) > 0 && !slices.Contains(k.Keys, v.Key)
	})
	return show(s, k.output, settings, nil, printSettings)
}

func (k *configShowCommand) read(ctx context.Context, s *session) (wire.Settings, error) {
	if s.globals.Server == "" && s.env("TENET_SERVER") == "" {
		cfg, err := s.configure(defaultSettings(), nil)
		return app.SettingsOf(cfg, s.env), err
	}
	c, stop, err := s.connect(ctx, keepsData, defaultSettings())
	if err != nil {
		return wire.Settings{}, err
	}
	settings, err := client.Get(ctx, c, op.GetSettings)
	return settings, closed(err, stop)
}

func printSettings(s *session, settings wire.Settings) error {
	err := list(s, "no setting is set; all have their defaults", "SETTING\tVALUE\tSET BY", settings.Items, func(v *wire.SettingNow) []any {
		return []any{v.Key, orDash(v.Value), v.From}
	})
	if err != nil {
		return err
	}
	for _, c := range settings.Credentials {
		switch {
		case c.Set && c.Secret:
			s.note("%s is set", c.Env)
		case c.Set:
			s.note("%s is %s", c.Env, line(c.Value))
		}
	}
	return nil
}

// serversCommand is `tenet servers`.
type serversCommand struct {
	output
}

func (serversCommand) Help() string {
	return `Each server says every 10 seconds that it runs. One that has ended without a word is lost, and listed for a day.

    tenet servers
    tenet servers --json | jq '.items[].models'`
}

// Run lists the servers of the cluster.
func (k *serversCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	servers, err := client.All(ctx, c, op.ListServers)
	return show(s, k.output, servers, err, func(s *session, servers []wire.Server) error {
		now := time.Now()
		err := list(s, "no server runs on this database", "SERVER\tADDRESS\tSTATUS\tVERSION\tUP\tMEMORY", servers, func(v *wire.Server) []any {
			return []any{v.Name, v.Address, v.Status, v.Version, uptime(now.Sub(v.StartedAt)), fmt.Sprintf("%d MiB", v.Memory>>20)}
		})
		if err != nil {
			return err
		}
		type placed struct {
			server string
			wire.ModelHealth
		}
		var models []placed
		for i := range servers {
			for _, m := range servers[i].Models {
				models = append(models, placed{servers[i].Name, m})
			}
		}
		if len(models) == 0 {
			return nil
		}
		if _, err := fmt.Fprintln(s.out); err != nil {
			return err
		}
		return list(s, "", "SERVER\tPURPOSE\tMODEL\tSTATUS\tCALLS\tFAILED\tMEDIAN\tP95\tLAST ERROR", models, func(m *placed) []any {
			return []any{m.server, m.Purpose, m.Model, modelStatus(&m.ModelHealth), m.Calls, m.Failed, milliseconds(m.MedianMS), milliseconds(m.P95MS), orDash(m.LastError)}
		})
	})
}

// modelStatus is the state of a model in a word or two.
func modelStatus(m *wire.ModelHealth) string {
	if len(m.Resting) > 0 {
		return "left alone until " + m.Resting[0].Until.Format(time.TimeOnly)
	}
	return m.Status
}

func milliseconds(ms *int64) string {
	if ms == nil {
		return "-"
	}
	return fmt.Sprintf("%d ms", *ms)
}

// uptime is a duration in its two largest units.
func uptime(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= day:
		return fmt.Sprintf("%dd %dh", d/day, d%day/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh %dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return d.Truncate(time.Second).String()
}

// usageCommand is `tenet usage`.
type usageCommand struct {
	Days int  `default:"30" help:"Days to sum up, today included, in UTC; up to 400."`
	All  bool `short:"a" help:"Of all projects."`
	output
}

func (usageCommand) Help() string {
	return `Cost needs the prices of the models, in the setting model_prices.

    tenet usage --days 7
    tenet usage --all --json | jq .total.cost`
}

// Run sums up the calls to models.
func (k *usageCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	if k.All {
		c = c.InProject(everyProject)
	}
	usage, err := client.Get(ctx, c, op.GetUsage.Where(wire.UsageQuery{PeriodDays: k.Days}))
	return show(s, k.output, usage, err, func(s *session, u wire.Usage) error {
		if len(u.Models) == 0 {
			s.note("no model was asked in the last %d days", u.PeriodDays)
			return nil
		}
		rows := [][]any{}
		row := func(name string, f *wire.UsageFigures) {
			cost := "-"
			if f.Cost != nil {
				cost = fmt.Sprintf("%.2f %s", *f.Cost, u.Currency)
			}
			rows = append(rows, []any{name, f.Calls, f.Failed, f.InputTokens, f.CachedTokens, f.OutputTokens, cost})
		}
		for i := range u.Models {
			row(u.Models[i].Model, &u.Models[i].UsageFigures)
		}
		row("all", &u.Total)
		if err := s.table("MODEL\tCALLS\tFAILED\tINPUT\tCACHED\tOUTPUT\tCOST", rows); err != nil {
			return err
		}
		s.note("%d of %d verdicts of models were taken from the cache", u.Reused, u.Judged+u.Reused)
		for _, model := range u.Unpriced {
			s.note("%s has no price; set model_prices", line(model))
		}
		return nil
	})
}
