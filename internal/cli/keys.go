package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
)

// everyProject stands for all projects in a key.
const everyProject = "*"

// keysCommands are `tenet keys ...`.
type keysCommands struct {
	Create keysCreateCommand `cmd:"" help:"Make a key and print it, this once."`
	List   keysListCommand   `cmd:"" help:"List keys."`
	Revoke keysRevokeCommand `cmd:"" help:"End a key at once."`
}

type keysCreateCommand struct {
	Name        string        `required:"" placeholder:"NAME" help:"Who uses the key, such as ci."`
	Role        string        `required:"" enum:"viewer,evaluator,reviewer,admin" placeholder:"ROLE" help:"${enum}: each may do what those before it may."`
	AllProjects bool          `help:"A key for all projects instead of one."`
	ExpiresIn   time.Duration `placeholder:"TIME" help:"How long the key is good for, such as 720h. Default is for ever."`
}

// Help is the long help of the command.
func (keysCreateCommand) Help() string {
	return `The secret is the only thing printed to stdout. The first key must be an administrator's for all projects,
since from then on the server wants a key for everything:

    tenet keys create --name me --role admin --all-projects
    tenet keys create --name ci --role evaluator`
}

// Run makes a key. Only the secret goes to stdout, so that it can be caught in a variable.
func (k *keysCreateCommand) Run(ctx context.Context, s *session) error {
	n := client.NewKey{Name: k.Name, Role: k.Role, ProjectID: s.project()}
	if k.AllProjects {
		n.ProjectID = everyProject
	}
	if k.ExpiresIn != 0 {
		at := time.Now().Add(k.ExpiresIn)
		n.ExpiresAt = &at
	}
	return s.with(ctx, needsData, func(c *client.Client) error {
		key, err := c.CreateKey(ctx, n)
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
	Format string `short:"f" enum:"text,json" default:"text" help:"${enum}."`
}

// Run lists keys.
func (k *keysListCommand) Run(ctx context.Context, s *session) error {
	return s.with(ctx, keepsData, func(c *client.Client) error {
		keys, err := s.keys(ctx, c)
		if err != nil {
			return err
		}
		if k.Format == "json" {
			return printJSON(s.out, keys)
		}
		if len(keys) == 0 {
			s.note("there are no keys: whoever reaches the server may do everything, so it listens on loopback only")
			return nil
		}
		return s.printKeys(keys)
	})
}

// keys lists the keys of the project that is named; else those for all projects, if the caller may see them, and those of
// every project that it sees.
func (s *session) keys(ctx context.Context, c *client.Client) ([]client.Key, error) {
	if s.project() != "" {
		return c.Keys(ctx)
	}
	keys, err := c.InProject(everyProject).Keys(ctx)
	if err != nil && rule.CodeOf(err) != rule.CodeForbidden {
		return nil, err
	}
	projects, err := c.Projects(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range projects {
		more, err := c.InProject(p.ID).Keys(ctx)
		if err != nil {
			return nil, err
		}
		keys = append(keys, more...)
	}
	return keys, nil
}

func (s *session) printKeys(keys []client.Key) error {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ID\tNAME\tROLE\tPROJECT\tMADE\tSTATE")
	for _, key := range keys {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", key.ID, line(key.Name), key.Role, key.ProjectID, day(key.CreatedAt), keyState(key, time.Now()))
	}
	return s.table(t, &b)
}

func day(t time.Time) string { return t.Format(time.DateOnly) }

func keyState(k client.Key, now time.Time) string {
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

// Run revokes a key.
func (k *keysRevokeCommand) Run(ctx context.Context, s *session) error {
	return s.with(ctx, keepsData, func(c *client.Client) error {
		keys, err := s.keys(ctx, c)
		if err != nil {
			return err
		}
		for _, key := range keys {
			if key.ID == k.ID {
				c = c.InProject(key.ProjectID)
			}
		}
		if err := c.RevokeKey(ctx, k.ID); err != nil {
			return err
		}
		s.note("key %s is revoked", k.ID)
		return nil
	})
}
