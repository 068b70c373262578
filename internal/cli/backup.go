package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"tenet/internal/app"
	"tenet/internal/config"
)

// backupCommand is `tenet backup`.
type backupCommand struct {
	File string `arg:"" help:"New file for the copy, or object in a bucket (s3://BUCKET/NAME); compressed if its name ends in .zst. - is the output."`
	output
}

func (backupCommand) Help() string {
	return `Copies the embedded database as it is at one moment, while servers and commands go on writing to it, and checks every page of the copy.
Only you may read the file. The key that signs checkpoints of the audit log is not in it: keep a copy of audit_folder elsewhere.

PostgreSQL has tools of its own: pg_dump, or the archive of its write-ahead log.

A bucket is reached as by other programs: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and, for storage that is not Amazon's, AWS_ENDPOINT_URL.

    tenet backup tenet-2026-11-23.db.zst
    tenet backup s3://backups/tenet-2026-11-23.db.zst
    tenet backup - | age -r RECIPIENT | aws s3 cp - s3://backups/tenet.db.age`
}

// Run makes the copy.
func (k *backupCommand) Run(ctx context.Context, s *session) error {
	cfg, err := ownDatabase(s, "backup")
	if err != nil {
		return err
	}
	if k.File == "-" && k.json() {
		return errors.New("--json goes with a file: the output has the copy")
	}
	bar, done := s.bar("copying")
	var b app.Backup
	if k.File == "-" {
		b, err = app.BackUpTo(ctx, cfg, s.out, bar)
	} else {
		b, err = app.BackUp(ctx, cfg, k.File, bar)
	}
	done()
	if err != nil {
		return err
	}
	if k.File == "-" {
		s.note("copied and checked: %s", holds(b))
		return nil
	}
	return noted(s, k.output, copied(k.File, b), nil, func(c backupCopy) string { return fmt.Sprintf("copied and checked %s: %s", c.File, holds(b)) })
}

// restoreCommand is `tenet restore`.
type restoreCommand struct {
	File  string `arg:"" help:"Copy that tenet backup has made, compressed or not: a file, or an object in a bucket (s3://BUCKET/NAME)."`
	Force bool   `help:"Replace the database that is there; it is renamed to tenet.db.before-TIME."`
	output
}

func (restoreCommand) Help() string {
	return `Checks a copy and makes it the embedded database. Stop servers on it first. A database that is there stays as it is without --force, and
is put aside with it.

A server whose audit_folder holds a later checkpoint than the copy refuses to evaluate, since entries are gone. docs/audit.md says how an
administrator accepts that.

    tenet restore tenet-2026-11-23.db.zst
    tenet restore s3://backups/tenet-2026-11-23.db.zst
    tenet restore tenet-2026-11-23.db.zst --force --data /var/lib/tenet`
}

// Run puts the copy in place.
func (k *restoreCommand) Run(ctx context.Context, s *session) error {
	cfg, err := ownDatabase(s, "restore")
	if err != nil {
		return err
	}
	if url := serving(ctx, dataFolder(s, &cfg)); url != "" {
		return fmt.Errorf("the server %s works on this database: stop it first", url)
	}
	done := s.progress("checking and copying")
	b, aside, err := app.Restore(ctx, cfg, k.File, k.Force)
	done()
	if aside != "" {
		s.note("what was there is now %s", aside)
	}
	if err != nil {
		return err
	}
	c := copied(k.File, b)
	c.Folder, c.Aside = dataFolder(s, &cfg), aside
	return noted(s, k.output, c, nil, func(c backupCopy) string { return fmt.Sprintf("restored %s into %s: %s", c.File, c.Folder, holds(b)) })
}

// backupCopy is the JSON of a copy of a database that was made or restored.
type backupCopy struct {
	File     string `json:"file"`
	Folder   string `json:"folder,omitempty"`
	Aside    string `json:"database_before,omitempty"`
	Bytes    int64  `json:"bytes"`
	Projects int    `json:"projects"`
	Rules    int    `json:"rules"`
	Schema   int64  `json:"schema_version"`
}

func copied(file string, b app.Backup) backupCopy {
	return backupCopy{File: file, Bytes: b.Bytes, Projects: b.Projects, Rules: b.Rules, Schema: b.Schema}
}

// holds says what a copy holds.
func holds(b app.Backup) string {
	return fmt.Sprintf("%.1f MB, %d projects, %d rules, schema %d", float64(b.Bytes)/1e6, b.Projects, b.Rules, b.Schema)
}

// ownDatabase reads the settings for a command that works on the files or tables of a database, and so never asks a server.
func ownDatabase(s *session, command string) (config.Config, error) {
	if s.globals.Server != "" {
		return config.Config{}, errors.New(command + " works on the database itself, on the machine where it is; it goes without --server")
	}
	return s.configure(defaultSettings(), nil)
}

// dbCommands are `tenet db ...`.
type dbCommands struct {
	Migrate    dbMigrateCommand    `cmd:"" help:"Bring the database up to date, or show what that would take."`
	Check      dbCheckCommand      `cmd:"" help:"Report whether the tables are spread over servers, and what prevents it."`
	Distribute dbDistributeCommand `cmd:"" help:"Spread the tables over the servers of a Citus cluster, by project."`
}

type dbMigrateCommand struct {
	Plan bool `help:"Show the steps, and change nothing."`
	SQL  bool `name:"sql" help:"With --plan, show the statements of each step."`
	output
}

func (dbMigrateCommand) Help() string {
	return `Each start of a server does the same. Do it before, if a large database should not keep the first server waiting. A step is a transaction; there
is no way back but a backup, and a program that is older than the database refuses it.

    tenet db migrate --plan --sql --database-url postgres://...
    tenet db migrate --database-url postgres://...`
}

// Run plans, and migrates unless only the plan is wanted.
func (k *dbMigrateCommand) Run(ctx context.Context, s *session) error {
	cfg, err := ownDatabase(s, "db migrate")
	if err != nil {
		return err
	}
	if k.SQL && !k.Plan {
		return errors.New("--sql goes with --plan")
	}
	plan, err := app.PlanMigration(ctx, cfg)
	if err != nil {
		return err
	}
	if plan.Have > plan.Newest {
		return fmt.Errorf("the database has schema version %d, this program knows versions up to %d; use a newer tenet, or restore a backup from before the update", plan.Have, plan.Newest)
	}
	if !k.Plan {
		done := s.progress("migrating")
		err := app.Migrate(ctx, cfg, slog.New(slog.DiscardHandler))
		done()
		if err != nil {
			return err
		}
	}
	return show(s, k.output, plan, nil, k.print)
}

func (k *dbMigrateCommand) print(s *session, plan app.MigrationPlan) error {
	switch {
	case len(plan.Pending) == 0:
		_, err := fmt.Fprintf(s.out, "the database is up to date: schema version %d\n", plan.Have)
		return err
	case !k.Plan:
		_, err := fmt.Fprintf(s.out, "migrated from schema version %d to %d, in %d steps\n", plan.Have, plan.Newest, len(plan.Pending))
		return err
	}
	if _, err := fmt.Fprintf(s.out, "schema version %d would become %d:\n", plan.Have, plan.Newest); err != nil {
		return err
	}
	for _, step := range plan.Pending {
		if _, err := fmt.Fprintf(s.out, "%4d  %s\n", step.Version, step.Name); err != nil {
			return err
		}
		if k.SQL {
			if _, err := fmt.Fprintf(s.out, "\n%s\n", step.SQL); err != nil {
				return err
			}
		}
	}
	return nil
}
