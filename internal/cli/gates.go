package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

type snapshotsGatesCommand struct {
	Environment string   `arg:"" enum:"production,staging,development" help:"${enum}."`
	TestsPass   *bool    `negatable:"" help:"Demand that all confirmed test cases pass on the snapshot's rules, at least one."`
	MaxRisk     string   `placeholder:"RISK" help:"The most risk that a simulation may find: none, low, medium, high, critical; any for no bound. Other rules pass only if evaluations were replayed."`
	Approvals   *int     `placeholder:"N" help:"How many people other than the one who took the snapshot must approve it."`
	Freeze      []string `placeholder:"FROM/UNTIL" sep:"none" help:"A time in which nothing is deployed, such as 2026-12-24/2027-01-02; may be repeated, and takes the place of those that are set."`
	Reason      string   `placeholder:"TEXT" help:"Why, for those whom a freeze refuses."`
	Clear       bool     `help:"Take all gates away."`
	output
}

func (snapshotsGatesCommand) Help() string {
	return `Without flags, shows what a deployment to the environment must pass. Flags change the gates that they name:

    tenet snapshots gates production --tests-pass --approvals 1 --max-risk medium
    tenet snapshots gates production --freeze 2026-12-24/2027-01-02 --reason year-end
    tenet snapshots gates production --clear`
}

func (k *snapshotsGatesCommand) Run(ctx context.Context, s *session) error {
	freezes, err := k.freezes()
	if err != nil {
		return err
	}
	changes := k.Clear || k.TestsPass != nil || k.MaxRisk != "" || k.Approvals != nil || len(freezes) > 0
	need := readsData
	if changes {
		need = needsData
	}
	environment := wire.Environment(k.Environment)
	return s.with(ctx, need, func(c *client.Client) error {
		gates, err := client.Get(ctx, c, op.GetGates.At(string(environment)))
		if err != nil {
			return err
		}
		if changes {
			k.apply(&gates, freezes)
			if gates, err = client.Call(ctx, c, op.SetGates.At(string(environment)), gates); err != nil {
				return err
			}
		}
		if err := show(s, k.output, gates, nil, func(s *session, gates wire.Gates) error { return printGates(s, environment, &gates) }); err != nil {
			return err
		}
		noteAddress(s, "", "releases", "environments", k.Environment, "gates")
		return nil
	})
}

func (k *snapshotsGatesCommand) apply(g *wire.Gates, freezes []wire.Freeze) {
	if k.Clear {
		*g = wire.Gates{}
	}
	if k.TestsPass != nil {
		g.TestsPass = *k.TestsPass
	}
	switch k.MaxRisk {
	case "":
	case "any":
		g.MaxRisk = ""
	default:
		g.MaxRisk = wire.Risk(k.MaxRisk)
	}
	if k.Approvals != nil {
		g.Approvals = *k.Approvals
	}
	if len(freezes) > 0 {
		g.Freezes = freezes
	}
}

// freezes reads the times that are given.
func (k *snapshotsGatesCommand) freezes() ([]wire.Freeze, error) {
	var list []wire.Freeze
	for _, text := range k.Freeze {
		from, until, ok := strings.Cut(text, "/")
		first, err := instantOf(from)
		last, err2 := instantOf(until)
		if !ok || err != nil || err2 != nil {
			return nil, fmt.Errorf("--freeze %q is not two times with / between, such as 2026-12-24/2027-01-02T12:00:00Z", text)
		}
		list = append(list, wire.Freeze{From: first, Until: last, Reason: k.Reason})
	}
	if k.Reason != "" && len(list) == 0 {
		return nil, rule.Errorf(rule.CodeInvalid, "--reason goes with --freeze")
	}
	return list, nil
}

// instantOf reads a date, or a time in RFC 3339.
func instantOf(text string) (time.Time, error) {
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return t, nil
	}
	return time.Parse(time.RFC3339, text)
}

// timeAgo reads a date, a time in RFC 3339, or a number of days before now.
func timeAgo(text string, now time.Time) (time.Time, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n <= 100_000 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	at, err := instantOf(text)
	if err != nil {
		return at, errors.New("is not a date such as 2026-12-31, a time such as 2026-12-31T12:00:00Z, or days such as 30d")
	}
	return at, nil
}

func printGates(s *session, e wire.Environment, g *wire.Gates) error {
	var b strings.Builder
	if g.TestsPass {
		fmt.Fprintln(&b, "tests: all confirmed test cases must pass on the snapshot's rules, at least one")
	}
	if g.MaxRisk != "" {
		fmt.Fprintf(&b, "risk: at most %s\n", g.MaxRisk)
	}
	if g.Approvals > 0 {
		fmt.Fprintf(&b, "approvals: %d\n", g.Approvals)
	}
	for _, f := range g.Freezes {
		fmt.Fprintf(&b, "freeze: %s to %s  %s\n", f.From.UTC().Format(time.RFC3339), f.Until.UTC().Format(time.RFC3339), line(f.Reason))
	}
	if b.Len() == 0 {
		s.note("%s has no gates: every deployment passes", e)
		return nil
	}
	_, err := fmt.Fprint(s.out, b.String())
	return err
}

type snapshotsCheckCommand struct {
	Snapshot    string `arg:"" help:"The snapshot."`
	Environment string `arg:"" enum:"production,staging,development" help:"${enum}."`
	output
}

func (k *snapshotsCheckCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	id, err := findSnapshot(ctx, c, k.Snapshot)
	if err != nil {
		return err
	}
	results, err := client.Get(ctx, c, op.CheckGates.At(string(wire.Environment(k.Environment)), id))
	if err != nil {
		return err
	}
	refused := false
	for _, g := range results {
		refused = refused || !g.Passed
	}
	if k.json() {
		err = printJSON(s.out, results)
	} else {
		err = printGateResults(s, k.Environment, results)
	}
	if err == nil && refused {
		return exit(exitFound)
	}
	return err
}

func printGateResults(s *session, environment string, results []wire.GateResult) error {
	if len(results) == 0 {
		s.note("%s has no gates: every deployment passes", environment)
		return nil
	}
	for _, g := range results {
		state := s.green("passed ")
		if !g.Passed {
			state = s.red("refused")
		}
		if _, err := fmt.Fprintf(s.out, "%s  %s: %s\n", state, g.Gate, line(g.Detail)); err != nil {
			return err
		}
	}
	return nil
}

type snapshotsApproveCommand struct {
	Snapshot string `arg:"" help:"The snapshot."`
	Note     string `placeholder:"TEXT" help:"What there is to say about it."`
	output
}

func (k *snapshotsApproveCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	id, err := findSnapshot(ctx, c, k.Snapshot)
	if err != nil {
		return err
	}
	a, err := client.Call(ctx, c, op.ApproveSnapshot.At(id), wire.ApproveSnapshot{Note: k.Note})
	return show(s, k.output, a, err, func(s *session, a wire.Approval) error {
		_, err := fmt.Fprintf(s.out, "%s has approved %s\n", line(a.Actor), a.SnapshotID)
		return err
	})
}
