package cli

import (
	"cmp"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"tenet/internal/app"
	"tenet/internal/config"
	"tenet/internal/hook/guard"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// newGuard returns the guard of Tenet's own walls, which knows where they are on this machine.
func newGuard(s *session, cfg *config.Config) *guard.Guard {
	g := &guard.Guard{Home: s.env("HOME"), Path: filepath.SplitList(s.env("PATH")), Programs: tenetPrograms(s)}
	here, err := os.Getwd()
	if err != nil {
		here = "/"
	}
	data := cfg.Data
	if data == "" {
		data, _ = app.DefaultData(s.env) // without a home folder there is none
	}
	for _, name := range []string{data, cmp.Or(s.globals.Config, s.env("TENET_CONFIG")), userSettings(s.env), cfg.AgentsFile} {
		if name == "" {
			continue
		}
		full, err := filepath.Abs(name)
		if err != nil {
			continue
		}
		// A database in the folder of the work itself would make a wall of all of it.
		if rel, err := filepath.Rel(full, here); err == nil && filepath.IsLocal(rel) {
			full = filepath.Join(full, "tenet.db")
		}
		g.Files = append(g.Files, full)
	}
	for _, address := range []string{cmp.Or(s.globals.Server, s.env("TENET_SERVER")), cfg.Listen} {
		if host := hostPort(address); host != "" {
			g.Servers = append(g.Servers, host)
		}
	}
	return g
}

// hostPort returns the host and port of an address.
func hostPort(address string) string {
	if !strings.Contains(address, "://") {
		return address
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	if u.Port() != "" {
		return u.Host
	}
	if u.Scheme == "https" {
		return net.JoinHostPort(u.Hostname(), "443")
	}
	return net.JoinHostPort(u.Hostname(), "80")
}

// tenetPrograms returns the paths of Tenet's program: the one that runs, and those that the PATH has, with links followed too.
func tenetPrograms(s *session) []string {
	var list []string
	add := func(name string) {
		list = append(list, name)
		if real, err := filepath.EvalSymlinks(name); err == nil && real != name {
			list = append(list, real)
		}
	}
	if name, err := os.Executable(); err == nil {
		add(name)
	}
	for _, dir := range filepath.SplitList(s.env("PATH")) {
		name := filepath.Join(dir, "tenet")
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && filepath.IsAbs(name) {
			add(name)
			break
		}
	}
	return list
}

// noteWalls reports that a change touches what keeps the rules: hooks, their settings, Tenet's settings, its line in CI. It stops nothing: the
// rules and settings that judge are those before the change.
func noteWalls(s *session, diff string) {
	if diff == "" {
		return
	}
	built, err := subject.Build(wire.RecordedSubject{Diff: diff})
	if err != nil {
		return // the evaluation reports the error, with its line
	}
	for i := range built.Files {
		f := &built.Files[i]
		var changed []string
		for _, h := range f.Hunks {
			for _, l := range h.Lines {
				if l.Op != ' ' {
					changed = append(changed, l.Text)
				}
			}
		}
		for _, at := range append([]string{f.Path, f.OldPath}, f.Others...) {
			if at == "" {
				continue
			}
			if what := guard.Touches(at, changed); what != "" {
				s.note("warning: the change touches %s (%s), which keep the rules here; look at it before you accept it", line(at), what)
				break
			}
		}
	}
}
