package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
	Rotate keysRotateCommand `cmd:"" help:"Put a new key in the place of one, which works on for a while."`
	Set    keysSetCommand    `cmd:"" help:"Change the name, the networks, the rate, the scopes or the expiry of a key."`
	Revoke keysRevokeCommand `cmd:"" help:"End a key at once."`
}

type keysCreateCommand struct {
	Name        string        `required:"" placeholder:"NAME" help:"Who uses the key, such as ci."`
	Role        string        `required:"" enum:"viewer,evaluator,reviewer,admin" placeholder:"ROLE" help:"${enum}; each role includes those before it."`
	AllProjects bool          `help:"A key for all projects instead of one."`
	ExpiresIn   time.Duration `placeholder:"TIME" help:"How long the key is good for, such as 720h. By default it does not expire."`
	Owner       string        `placeholder:"PERSON" help:"Person to whom the key belongs, such as corp:ann@example.com; by default the person who makes it."`
	Agent       string        `placeholder:"AGENT" help:"Agent that uses the key, if it is an agent's: records name it as verified."`
	Only        []string      `placeholder:"SCOPE" help:"Only operations of this scope: evaluate or read; several times for both."`
	AtNode      string        `placeholder:"NODE" help:"Evaluate at this federation node, such as acme/payments, and below it only; goes with --only evaluate."`
	From        []string      `placeholder:"NETWORK" help:"Only from this network or address, such as 10.1.0.0/16; repeatable."`
	Rate        float64       `placeholder:"N" help:"Requests per second, on each server."`
	Burst       int           `placeholder:"N" help:"Requests at once above the rate; by default twice the rate."`
	output
}

func (keysCreateCommand) Help() string {
	return `The secret is the only thing printed to stdout. The first key must be an administrator's for all projects,
since from then on the server wants a key for everything:

    tenet keys create --name me --role admin --all-projects
    tenet keys create --name ci --role evaluator --owner corp:ann@example.com --only evaluate --from 10.1.0.0/16
    tenet keys create --name release-bot --role evaluator --owner corp:ann@example.com --agent release-bot`
}

// Run makes a key. Only the secret goes to stdout, so that it can be caught in a variable.
func (k *keysCreateCommand) Run(ctx context.Context, s *session) error {
	n := wire.CreateKey{
		Name: k.Name, Role: k.Role, ProjectID: s.project(), Owner: k.Owner, Agent: k.Agent,
		KeyLimits: wire.KeyLimits{Scopes: k.Only, NodeID: k.AtNode, Networks: k.From, Rate: k.Rate, Burst: k.Burst},
	}
	if k.AllProjects {
		n.ProjectID = everyProject
	}
	if k.ExpiresIn != 0 {
		at := time.Now().Add(k.ExpiresIn)
		n.ExpiresAt = &at
	}
	return s.with(ctx, needsData, func(c *client.Client) error {
		key, err := client.Call(ctx, c, op.CreateKey, n)
		return show(s, k.output, key, err, func(s *session, key wire.CreatedKey) error {
			s.note("made key %s (%s, %s) for %s; this is its secret, which is not shown again:", key.ID, key.Name, key.Role, projects(key.ProjectID))
			_, err := fmt.Fprintln(s.out, key.Secret)
			return err
		})
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
	return list(s, none, "ID\tNAME\tROLE\tPROJECT\tSECRET\tOWNER\tLIMITS\tMADE\tLAST USED\tREFUSED\tSTATE", keys, func(k *wire.Key) []any {
		secret := "-"
		if k.Prefix != "" {
			secret = k.Prefix + "..."
		}
		refused := "-"
		if k.Refused > 0 {
			refused = fmt.Sprintf("%d (%s)", k.Refused, k.LastRefusal)
		}
		return []any{
			k.ID, k.Name, k.Role, k.ProjectID, secret, orDash(line(k.Owner)), orDash(keyLimits(k)), day(k.CreatedAt), lastUse(k), refused, keyState(*k, time.Now()),
		}
	})
}

// keyLimits names the limits of a key in a few words.
func keyLimits(k *wire.Key) string {
	var parts []string
	if k.Agent != "" {
		parts = append(parts, "agent "+line(k.Agent))
	}
	if len(k.Scopes) > 0 {
		parts = append(parts, "only "+strings.Join(k.Scopes, " and "))
	}
	if k.NodeID != "" {
		parts = append(parts, "node "+k.NodeID)
	}
	if len(k.Networks) > 0 {
		parts = append(parts, "from "+strings.Join(k.Networks, " "))
	}
	if k.Rate > 0 {
		parts = append(parts, fmt.Sprintf("%g/s", k.Rate))
	}
	return strings.Join(parts, ", ")
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

type keysRotateCommand struct {
	Key       string        `arg:"" help:"Id of the key, as list shows it, or its name if no other key in use has it."`
	Overlap   time.Duration `default:"24h" placeholder:"TIME" help:"How long the old key still works, such as 2h; 0 ends it at once."`
	ExpiresIn time.Duration `placeholder:"TIME" help:"How long the new key is good for. By default as long as the old one was made for."`
	output
}

func (keysRotateCommand) Help() string {
	return `The new secret is the only thing printed to stdout. The new key has the name, role, owner and limits of the old one.

    tenet keys rotate 0199c2b4-... --overlap 2h`
}

// Run makes the new key. Only the secret goes to stdout.
func (k *keysRotateCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	c, key, err := findKey(ctx, s, c, k.Key)
	if err != nil {
		return err
	}
	body := wire.RotateKey{OverlapHours: wire.Optional[float64]{Set: true, Value: k.Overlap.Hours()}}
	if k.ExpiresIn != 0 {
		at := time.Now().Add(k.ExpiresIn)
		body.ExpiresAt = &at
	}
	made, err := client.Call(ctx, c, op.RotateKey.At(key.ID), body)
	return show(s, k.output, made, err, func(s *session, made wire.CreatedKey) error {
		s.note("key %s takes the place of %s, which works for %s more; this is its secret, which is not shown again:", made.ID, key.ID, k.Overlap)
		_, err := fmt.Fprintln(s.out, made.Secret)
		return err
	})
}

// findKey returns a key by its id, or by its name if one key alone that is not revoked has it, and a client in its project.
func findKey(ctx context.Context, s *session, c *client.Client, name string) (*client.Client, *wire.Key, error) {
	keys, err := listKeys(ctx, s, c)
	if err != nil {
		return nil, nil, err
	}
	var found []*wire.Key
	for i := range keys {
		key := &keys[i]
		if key.ID == name {
			return c.InProject(key.ProjectID), key, nil
		}
		if key.Name == name && key.RevokedAt == nil {
			found = append(found, key)
		}
	}
	switch len(found) {
	case 0:
		return nil, nil, fmt.Errorf("no key has the id or the name %s; tenet keys list shows them", line(name))
	case 1:
		return c.InProject(found[0].ProjectID), found[0], nil
	}
	ids := make([]string, len(found))
	for i, key := range found {
		ids[i] = fmt.Sprintf("%s (%s, made %s)", key.ID, projects(key.ProjectID), day(key.CreatedAt))
	}
	return nil, nil, fmt.Errorf("%d keys have the name %s; name one by its id: %s", len(found), line(name), strings.Join(ids, ", "))
}

type keysSetCommand struct {
	Key       string        `arg:"" help:"Id of the key, as list shows it, or its name if no other key in use has it."`
	Name      string        `placeholder:"NAME" help:"New name."`
	Only      []string      `placeholder:"SCOPE" help:"Only operations of this scope, of those that the key has: evaluate or read."`
	From      []string      `placeholder:"NETWORK" help:"Only from this network or address; repeatable, and replaces those of the key. everywhere takes them away."`
	Rate      *float64      `placeholder:"N" help:"Requests per second, on each server; 0 means the server's limit."`
	Burst     *int          `placeholder:"N" help:"Requests at once above the rate; 0 means twice the rate."`
	ExpiresIn time.Duration `placeholder:"TIME" help:"How long the key is still good for, such as 24h: shorter than now, not longer."`
	output
}

func (keysSetCommand) Help() string {
	return `A key gets no more than it has: its scopes become fewer, and it expires earlier. For more, make a new key.

    tenet keys set ci --from 10.1.0.0/16 --from 10.2.0.0/16 --rate 50
    tenet keys set ci --from everywhere --expires-in 24h`
}

// everywhere is the network that takes the networks of a key away.
const everywhere = "everywhere"

// Run changes a key.
func (k *keysSetCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	body := wire.ChangeKey{}
	if k.Name != "" {
		body.Name = &k.Name
	}
	if len(k.Only) > 0 {
		body.Scopes = wire.Some(k.Only)
	}
	switch {
	case len(k.From) == 1 && k.From[0] == everywhere:
		body.Networks = wire.Some([]string{})
	case len(k.From) > 0:
		body.Networks = wire.Some(k.From)
	}
	if k.Rate != nil {
		body.Rate = wire.Some(*k.Rate)
	}
	if k.Burst != nil {
		body.Burst = wire.Some(*k.Burst)
	}
	if k.ExpiresIn != 0 {
		at := time.Now().Add(k.ExpiresIn)
		body.ExpiresAt = &at
	}
	if body.Name == nil && body.ExpiresAt == nil && !body.Scopes.Set && !body.Networks.Set && !body.Rate.Set && !body.Burst.Set {
		return errors.New("nothing to change; name a setting, such as --rate 50")
	}
	c, key, err := findKey(ctx, s, c, k.Key)
	if err != nil {
		return err
	}
	changed, err := client.Call(ctx, c, op.ChangeKey.At(key.ID), body)
	return show(s, k.output, changed, err, func(s *session, changed wire.Key) error { return printKeys(s, []wire.Key{changed}) })
}

type keysRevokeCommand struct {
	Key string `arg:"" help:"Id of the key, as list shows it, or its name if no other key in use has it."`
	output
}

func (k *keysRevokeCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	c, key, err := findKey(ctx, s, c, k.Key)
	if err != nil {
		return err
	}
	err = client.Run(ctx, c, op.RevokeKey.At(key.ID))
	return noted(s, k.output, ended{"key", key.ID, "revoked"}, err, func(e ended) string { return fmt.Sprintf("key %s (%s) is revoked", e.ID, line(key.Name)) })
}
