package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"

	"tenet/internal/app"
	"tenet/internal/client"
	"tenet/internal/config"
	"tenet/internal/wire"
)

// need says what a command needs of the embedded database. A command whose Run takes a client says so in the tag `data` of its
// declaration; without the tag, it is keepsData.
type need int

const (
	// keepsData works on the existing database, and fails without one.
	keepsData need = iota
	// needsData works on the existing database, or makes one.
	needsData
	// readsData works on the existing database; without one, on a temporary one with the starter packs.
	readsData
	// evaluates is as readsData for a command that evaluates and asks for no test cases: the temporary database has none.
	evaluates
)

// needs are the values of the tag.
var needs = map[string]need{"": keepsData, "make": needsData, "read": readsData}

// settingsFile is read where no other is named.
const settingsFile = "tenet.yaml"

// connect gives a client of the server, or else of a node in this process. The returned function ends that node and
// must be called.
func (s *session) connect(ctx context.Context, n need, settings string) (*client.Client, func() error, error) {
	g := s.globals
	server := g.Server
	if server == "" && g.Data == "" && g.DatabaseURL == "" {
		server = s.env("TENET_SERVER")
	}
	if server == "" {
		return s.embed(ctx, n, settings)
	}
	if g.Data != "" || g.DatabaseURL != "" {
		return nil, nil, errors.New("--server goes without --data and --database-url: the server has its own database")
	}
	key := cmp.Or(g.Key, s.env("TENET_KEY"), s.env("TENET_API_KEY"))
	if key == "" {
		var err error
		if key, err = signedIn(ctx, s, server); err != nil {
			return nil, nil, err
		}
	}
	c, err := client.New(server, key, nil)
	if err != nil {
		return nil, nil, err
	}
	s.server = c
	return named(s, c), func() error { return nil }, nil
}

// named returns a client in the project of the session. Its calls name the agent that runs the command, as the environment does.
func named(s *session, c *client.Client) *client.Client {
	return client.Acting(c.InProject(s.project()), wire.Acting{
		OnBehalfOf: s.env("TENET_ON_BEHALF_OF"), Agent: s.env("TENET_AGENT"), Session: s.env("TENET_SESSION"),
	})
}

func (s *session) project() string { return cmp.Or(s.globals.Project, s.env("TENET_PROJECT")) }

// defaultSettings returns the settings file of the current folder; empty without one.
func defaultSettings() string {
	if info, err := os.Stat(settingsFile); err == nil && info.Mode().IsRegular() {
		return settingsFile
	}
	return ""
}

// configure reads the settings, with the flags given here on top. A settings file that is named wins over the default one, and that over
// the user's own.
func (s *session) configure(settings string, flags map[string]string) (config.Config, error) {
	if flags == nil {
		flags = map[string]string{}
	}
	if s.globals.Data != "" {
		flags["data"] = s.globals.Data
	}
	if s.globals.DatabaseURL != "" {
		flags["database_url"] = s.globals.DatabaseURL
	}
	if s.settings != nil {
		return config.Read(s.settings.name, s.settings.data, s.env, flags)
	}
	return config.Load(cmp.Or(s.globals.Config, s.env("TENET_CONFIG"), settings, userSettings(s.env)), s.env, flags)
}

// embed starts a node in this process.
func (s *session) embed(ctx context.Context, n need, settings string) (*client.Client, func() error, error) {
	cfg, err := s.configure(settings, nil)
	if err != nil {
		return nil, nil, err
	}
	if cfg.Data == "" && cfg.DatabaseURL == "" {
		if cfg.Data, err = app.DefaultData(s.env); err != nil && n != readsData && n != evaluates {
			return nil, nil, err
		}
		if (n == readsData || n == evaluates) && !hasData(cfg.Data) {
			return s.throwAway(ctx, cfg, app.Options{NoCases: n == evaluates})
		}
	}
	if n == keepsData && cfg.DatabaseURL == "" && !hasData(cfg.Data) {
		return nil, nil, fmt.Errorf("there is no database in %s; name its folder with --data, or a server with --server", cfg.Data)
	}
	noteServer(ctx, s, dataFolder(s, &cfg))
	return s.start(ctx, cfg, app.Options{}, func() error { return nil })
}

// hasData reports whether a database has been made in a folder.
func hasData(dir string) bool {
	if dir == "" {
		return false
	}
	entries, err := os.ReadDir(dir)
	return len(entries) > 0 || (err != nil && !errors.Is(err, fs.ErrNotExist))
}

// throwAway starts a node on a throw-away database that holds the rules of the options, or the starter packs.
func (s *session) throwAway(ctx context.Context, cfg config.Config, o app.Options) (*client.Client, func() error, error) {
	dir, err := os.MkdirTemp("", "tenet-")
	if err != nil {
		return nil, nil, err
	}
	cfg.Data, cfg.DatabaseURL, s.scratch = dir, "", true
	return s.start(ctx, cfg, o, func() error { return os.RemoveAll(dir) })
}

// start runs a node without a listener. clean removes what it leaves behind.
func (s *session) start(ctx context.Context, cfg config.Config, o app.Options, clean func() error) (*client.Client, func() error, error) {
	log := slog.New(slog.NewTextHandler(s.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	o.Env, o.Version, o.Work, o.Follow = s.env, version(), s.working, s.follow
	node, err := app.New(ctx, cfg, log, o)
	if err != nil {
		return nil, nil, errors.Join(err, clean())
	}
	stop := func() error { return errors.Join(node.Stop(context.WithoutCancel(ctx)), clean()) }
	c, err := client.New("http://localhost", "", &http.Client{Transport: client.InProcess(node.Handler())})
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return named(s, c), stop, nil
}

// with runs fn with a client and ends the node that connect has started. It is for commands that look at their flags first.
func (s *session) with(ctx context.Context, n need, fn func(*client.Client) error) error {
	c, stop, err := s.connect(ctx, n, defaultSettings())
	if err != nil {
		return err
	}
	return closed(fn(c), stop)
}

// closed calls stop and returns err, or else the error of stop.
func closed(err error, stop func() error) error {
	if stopErr := stop(); stopErr != nil && err == nil {
		return fmt.Errorf("closing the database: %w", stopErr)
	}
	return err
}
