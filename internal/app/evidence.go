package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tenet/internal/bundle/place"
	"tenet/internal/checkpoint"
	"tenet/internal/config"
	"tenet/internal/corpus"
	"tenet/internal/evidence"
	"tenet/internal/privacy"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// callTime bounds a call to a witness or a webhook for checkpoints.
const callTime = 10 * time.Second

// sealTime bounds the last checkpoints of a server that ends.
const sealTime = 5 * time.Second

// newBook returns what signs the checkpoints of the audit logs, ready if there is a key.
func newBook(ctx context.Context, cfg config.Config, with evidence.Config) (*evidence.Book, error) {
	with.Every, with.Client = cfg.AuditCheckpoint, evidenceClient()
	b := evidence.NewBook(with)
	folder, err := auditFolder(cfg)
	if err != nil || folder == "" || cfg.AuditSigner != "" {
		return b, err
	}
	if _, err := os.Stat(filepath.Join(folder, keyName)); err != nil {
		return b, nil //nolint:nilerr // a server makes the key when it starts
	}
	return b, openBook(ctx, cfg, b, folder)
}

// bucketOf opens a bucket for checkpoints, with the credentials of the environment.
func bucketOf(address string) (checkpoint.Objects, error) {
	return place.ParseObjects(address, place.Config{Env: os.Getenv, Client: evidenceClient()})
}

// privacyKey returns the file of the key that encrypts the keys of people.
func privacyKey(cfg config.Config) (*privacy.KeyFile, error) {
	if cfg.PrivacyKeyFile != "" {
		return privacy.NewKeyFile(cfg.PrivacyKeyFile, false), nil
	}
	if cfg.DatabaseURL != "" {
		return privacy.NewKeyFile("", false), nil
	}
	dir, err := dataDir(cfg)
	return privacy.NewKeyFile(filepath.Join(dir, "privacy.key"), true), err
}

// auditorPage returns the file of the page for auditors, which may not be there. Archives and packages for npm have it beside the program, others in
// the folder share of where that is installed.
func auditorPage(cfg config.Config) string {
	if cfg.AuditPage != "" {
		return cfg.AuditPage
	}
	program, err := os.Executable()
	if err != nil {
		return ""
	}
	dir := filepath.Dir(program)
	beside, shared := filepath.Join(dir, "tenet-auditor.html"), filepath.Join(dir, "..", "share", "tenet", "tenet-auditor.html")
	if _, err := os.Stat(shared); err == nil {
		if _, err := os.Stat(beside); err != nil {
			return shared
		}
	}
	return beside
}

func evidenceClient() *http.Client {
	return &http.Client{Timeout: callTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// keyName is the name of the file of keys in the folder for evidence.
const keyName = "key"

// openBook opens a book with the settings, and makes a key if there is none.
func openBook(ctx context.Context, cfg config.Config, b *evidence.Book, folder string) (err error) {
	with := evidence.Signing{Folder: filepath.Join(folder, "checkpoints"), Origin: cfg.AuditOrigin}
	if with.Places, err = checkpoint.ParsePlaces(cfg.AuditPublish, os.Stdout, evidenceClient(), bucketOf); err != nil {
		return rule.Errorf(rule.CodeInvalid, "audit_publish: %w", err)
	}
	if with.Policy, err = readPolicy(cfg.AuditPolicy); err != nil {
		return err
	}
	if with.Origin != "" && !checkpoint.ValidOrigin(with.Origin) {
		return rule.Errorf(rule.CodeInvalid, "audit_origin: %q is not a name such as example.com/tenet", with.Origin)
	}
	if cfg.AuditSigner != "" {
		with.Signer = checkpoint.Command(strings.Fields(cfg.AuditSigner))
		return b.Open(ctx, with)
	}
	keys, err := checkpoint.OpenKeys(filepath.Join(folder, keyName), with.Origin, time.Now())
	if err != nil {
		return fmt.Errorf("the key of the audit logs: %w", err)
	}
	if with.Signer = keys; with.Origin == "" {
		with.Origin = keys.Origin
	}
	return b.Open(ctx, with)
}

// auditFolder is empty where no checkpoints are signed.
func auditFolder(cfg config.Config) (string, error) {
	if cfg.AuditFolder != "" || cfg.DatabaseURL != "" {
		return cfg.AuditFolder, nil
	}
	dir := cfg.Data
	if dir == "" {
		var err error
		if dir, err = DefaultData(os.Getenv); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "audit"), nil
}

// compareHistory makes the node ready to sign checkpoints, and compares the audit logs with the last ones, before the node serves.
func compareHistory(ctx context.Context, cfg config.Config, b *evidence.Book, log *slog.Logger) error {
	folder, err := auditFolder(cfg)
	if err != nil {
		return err
	}
	if folder == "" {
		if cfg.AuditSigner+cfg.AuditPublish+cfg.AuditPolicy != "" {
			return rule.Errorf(rule.CodeInvalid, "audit_signer, audit_publish and audit_policy need audit_folder, where the last checkpoints are kept")
		}
		log.InfoContext(ctx, "the audit logs get no checkpoints, so nobody outside can check them; set audit_folder (docs/audit.md)")
		return nil
	}
	if !b.Signs() {
		if err := openBook(ctx, cfg, b, folder); err != nil {
			return err
		}
	}
	return b.Compare(ctx)
}

// sealLast makes the last checkpoints of a node that has served.
func sealLast(ctx context.Context, b *evidence.Book) {
	ctx, cancel := context.WithTimeout(ctx, sealTime)
	defer cancel()
	b.SealAll(ctx)
}

// RotateKeys adds a key to the file of keys of the audit logs, or ends the signing by all but the newest.
func RotateKeys(cfg config.Config, retire bool, now time.Time) error {
	folder, err := auditFolder(cfg)
	if err != nil {
		return err
	}
	if folder == "" || cfg.AuditSigner != "" {
		return rule.Errorf(rule.CodeInvalid, "there is no file of keys: set audit_folder; keys of audit_signer are rotated where they are")
	}
	path := filepath.Join(folder, keyName)
	keys, err := checkpoint.ReadKeys(path)
	if err != nil {
		return err
	}
	if retire {
		return keys.Retire(path)
	}
	return keys.Rotate(path, now)
}

// recorded asks whether the audit logs explain what is in force.
type recorded struct {
	inForce  *evidence.InForce
	projects store.ProjectReader
}

// refuse returns what reports why a project must not decide anything: its audit log was changed, or does not explain what is in force.
func (r recorded) refuse(b *evidence.Book) func(ctx context.Context, projectID string) error {
	return func(ctx context.Context, projectID string) error {
		if err := b.Problem(projectID); err != nil {
			return err
		}
		return r.inForce.Refusal(ctx, projectID)
	}
}

// key returns an error unless the audit log explains a key; without an id, the keys of all projects.
func (r recorded) key(ctx context.Context, projectID, id string) error {
	if id != "" {
		return r.inForce.CheckRow(ctx, projectID, store.KeyInForce, id)
	}
	projects, err := r.all(ctx)
	if err != nil {
		return err
	}
	return r.inForce.CheckKeys(ctx, projects)
}

func (r recorded) all(ctx context.Context) ([]string, error) {
	list, err := r.projects.List(ctx)
	out := make([]string, len(list))
	for i := range list {
		out[i] = list[i].ID
	}
	return out, err
}

// coldOnes is how many projects without a view in memory one round compares.
const coldOnes = 20

// follow compares what is in force with the audit logs until ctx ends: in each round the projects whose rules are in memory and the default project,
// whose suspensions hold everywhere, and some of the others by turns. Those are compared before their first evaluation, too.
func (r recorded) follow(ctx context.Context, live *corpus.Live) {
	last, cold := "", []string(nil)
	r.inForce.Run(ctx, func(ctx context.Context) ([]string, error) {
		all, err := r.all(ctx)
		if err != nil || len(all) == 0 {
			return nil, err
		}
		slices.Sort(all)
		warm := append(live.Loaded(), rule.DefaultProject)
		for _, id := range cold {
			if !slices.Contains(warm, id) {
				r.inForce.Forget(id)
			}
		}
		at, found := slices.BinarySearch(all, last)
		if found {
			at++
		}
		cold = cold[:0]
		for range min(coldOnes, len(all)) {
			last = all[at%len(all)]
			cold = append(cold, last)
			at++
		}
		return slices.DeleteFunc(append(warm, cold...), func(id string) bool {
			_, exists := slices.BinarySearch(all, id)
			return !exists
		}), nil
	})
}
