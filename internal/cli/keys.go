package cli

import (
	"context"
	"fmt"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// everyProject means all projects in a key.
const everyProject = "*"

// keysCommands are `tenet keys ...`.
type keysCommands struct {
	Create keysCreateCommand `cmd:"" help:"Make a key and print it, this once."`
	List   keysListCommand   `cmd:"" help:"List keys."`
	Revoke keysRevokeCommand `cmd:"" help:"End a key at once."`
}

type keysCreateCommand struct {
	Name        string        `required:"" placeholder:"NAME" help:"Who uses the key, such as ci."`
	Role        string        `required:"" enum:"viewer,evaluator,reviewer,admin" placeholder:"ROLE" help:"${enum}; each role includes those before it."`
	AllProjects bool          `help:"A key for all projects instead of one."`
	ExpiresIn   time.Duration `placeholder:"TIME" help:"How long the key is good for, such as 720h. By default it does not expire."`
}

func (keysCreateCommand) Help() string {
	return `The secret is the only thing printed to stdout. The first key must be an administrator's for all projects,
since from then on the server wants a key for everything:

    tenet keys create --name me --role admin --all-projects
    tenet keys create --name ci --role evaluator`
}

// Run makes a key. Only the secret goes to stdout, so that it can be caught in a variable.
func (k *keysCreateCommand) Run(ctx context.Context, s *session) error {
	n := wire.CreateKey{Name: k.Name, Role: k.Role, ProjectID: s.project()}
	if k.AllProjects {
		n.ProjectID = everyProject
	}
	if k.ExpiresIn != 0 {
		at := time.Now().Add(k.ExpiresIn)
		n.ExpiresAt = &at
	}
	return s.with(ctx, needsData, func(c *client.Client) error {
		key, err := client.Call(ctx, c, op.CreateKey, n)
		if err != nil {
			return err
		}
		s.note("made key %s (%s, %s) for %s; this is its secret, which is not shown again:", key.ID, key.Name, key.Role, projects(key.ProjectID))
		_, err = fmt.Fprintln(s.out, key.Secret)
		return err
	})
}

func projects(id string) string {
	if id == everyProject {
		return "all projects"
	}
	return "project " + id
}

type keysListCommand struct {
	output
}

func (k *keysListCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	keys, err := listKeys(ctx, s, c)
	return show(s, k.output, keys, err, printKeys)
}

// listKeys lists the keys of the project that is named; else those for all projects, if the caller may see them, and those of
// every project that it sees.
func listKeys(ctx context.Context, s *session, c *client.Client) ([]wire.Key, error) {
	if s.project() != "" {
		return client.All(ctx, c, op.ListKeys)
	}
	keys, err := client.All(ctx, c.InProject(everyProject), op.ListKeys)
	if err != nil && rule.CodeOf(err) != rule.CodeForbidden {
		return nil, err
	}
	projects, err := client.All(ctx, c, op.ListProjects)
	if err != nil {
		return nil, err
	}
	for _, p := range projects {
		more, err := client.All(ctx, c.InProject(p.ID), op.ListKeys)
		if err != nil {
			return nil, err
		}
		keys = append(keys, more...)
	}
	return keys, nil
}

func printKeys(s *session, keys []wire.Key) error {
	none := "there are no keys: every caller that reaches the server may do everything, so it listens on loopback only"
	return list(s, none, "ID\tNAME\tROLE\tPROJECT\tMADE\tLAST USED\tSTATE", keys, func(k *wire.Key) []any {
		return []any{k.ID, k.Name, k.Role, k.ProjectID, day(k.CreatedAt), lastUse(k), keyState(*k, time.Now())}
	})
}

func day(t time.Time) string { return t.Format(time.DateOnly) }

// lastUse is the day on which a key was last used.
func lastUse(k *wire.Key) string {
	if k.LastUsedAt == nil {
		return "never"
	}
	return day(*k.LastUsedAt)
}

func keyState(k wire.Key, now time.Time) string {
	switch {
	case k.RevokedAt != nil:
		return "revoked " + day(*k.RevokedAt)
	case k.ExpiresAt != nil && !now.Before(*k.ExpiresAt):
		return "expired " + day(*k.ExpiresAt)
	case k.ExpiresAt != nil:
		return "good until " + day(*k.ExpiresAt)
	}
	return "good"
}

type keysRevokeCommand struct {
	ID string `arg:"" help:"Id of the key, as list shows it."`
}

func (k *keysRevokeCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	keys, err := listKeys(ctx, s, c)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if key.ID == k.ID {
			c = c.InProject(key.ProjectID)
		}
	}
	if err := client.Run(ctx, c, op.RevokeKey.At(k.ID)); err != nil {
		return err
	}
	s.note("key %s is revoked", k.ID)
	return nil
}
