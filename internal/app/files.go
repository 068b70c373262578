package app

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"

	"tenet/internal/agent"
	"tenet/internal/checkpoint"
	"tenet/internal/config"
	"tenet/internal/rule"
	"tenet/internal/sso"
)

// CheckFiles reads the files that the settings name, as a server does when it starts. It returns what is wrong with their contents, and which of them
// do not exist or may not be read, as the files of another machine or user. Each error begins with the name of its setting.
func CheckFiles(cfg config.Config, env func(string) string) (wrong, unread []error) {
	add := func(err error) bool {
		switch {
		case err == nil:
			return true
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			unread = append(unread, err)
		default:
			wrong = append(wrong, err)
		}
		return false
	}
	readable := true
	for _, file := range []struct{ setting, path string }{{"tls_cert", cfg.TLSCert}, {"tls_key", cfg.TLSKey}, {"tls_client_ca", cfg.TLSClientCA}} {
		readable = add(canOpen(file.setting, file.path)) && readable
	}
	if readable {
		_, err := openTLS(cfg, slog.New(slog.DiscardHandler))
		add(err)
	}
	add(canOpen("audit_page", cfg.AuditPage))
	_, err := agent.ReadDeclared(cfg.AgentsFile)
	add(err)
	_, err = sso.ReadFile(cfg.SSOFile, env)
	add(err)
	_, err = readPolicy(cfg.AuditPolicy)
	add(err)
	return wrong, unread
}

// canOpen returns an error about the file of a setting that cannot be opened for reading. No path is no error.
func canOpen(setting, path string) error {
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return rule.Errorf(rule.CodeInvalid, "%s: %w", setting, err)
	}
	return f.Close()
}

// readPolicy reads the file of the setting audit_policy; without a path, the policy is nil.
func readPolicy(path string) (*checkpoint.Policy, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // no policy
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, rule.Errorf(rule.CodeInvalid, "audit_policy: %w", err)
	}
	p, err := checkpoint.ParsePolicy(data)
	if err != nil {
		return nil, rule.Errorf(rule.CodeInvalid, "audit_policy: %s: %w", path, err)
	}
	return p, nil
}
