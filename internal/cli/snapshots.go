package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/job"
	"tenet/internal/release"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// snapshotsCommands are `tenet snapshots ...`.
type snapshotsCommands struct {
	Create   snapshotsCreateCommand   `cmd:"" data:"make" help:"Take a snapshot of the live rules."`
	List     snapshotsListCommand     `cmd:"" data:"read" help:"List snapshots and where they are active."`
	Diff     snapshotsDiffCommand     `cmd:"" data:"read" help:"Compare two snapshots."`
	Simulate snapshotsSimulateCommand `cmd:"" help:"Replay recorded evaluations under a snapshot."`
	Gates    snapshotsGatesCommand    `cmd:"" help:"Show or set the gates that a deployment to an environment must pass."`
	Check    snapshotsCheckCommand    `cmd:"" data:"read" help:"Check a snapshot against the gates of an environment."`
	Approve  snapshotsApproveCommand  `cmd:"" data:"make" help:"Approve a snapshot that somebody else has taken."`
	Deploy   snapshotsDeployCommand   `cmd:"" data:"make" help:"Make a snapshot active in an environment."`
	Rollback snapshotsRollbackCommand `cmd:"" data:"make" help:"Go back to the snapshot that was active before."`
	History  snapshotsHistoryCommand  `cmd:"" data:"read" help:"Show the deployments and rollbacks, of one environment or all."`

	Environments snapshotsEnvironmentsCommand `cmd:"" data:"read" help:"Show what is live where, since when and by whom."`
	Simulations  snapshotsSimulationsCommand  `cmd:"" data:"read" help:"List simulations in the background."`
	Verify       snapshotsVerifyCommand       `cmd:"" data:"read" help:"Compute a snapshot's hash again and compare."`
}

func (snapshotsCommands) Help() string {
	return `A snapshot is named by its id, the beginning of its id, its name, or the environment in which it is active:

    tenet snapshots create "December"
    tenet snapshots diff production December
    tenet snapshots simulate December --against production
    tenet snapshots deploy December production
    tenet snapshots rollback production`
}

type snapshotsCreateCommand struct {
	Name        string `arg:"" help:"Name of the snapshot."`
	Description string `placeholder:"TEXT" help:"What is in it."`
	output
}

func (k *snapshotsCreateCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	done := s.progress("taking the snapshot")
	made, err := client.Call(ctx, c, op.CreateSnapshot, wire.CreateSnapshot{Name: k.Name, Description: k.Description})
	done()
	return show(s, k.output, made, err, func(s *session, made wire.Snapshot) error {
		_, err := fmt.Fprintf(s.out, "%s  %s  %s\n", made.ID, amount(made.RuleCount, "rule"), made.ContentHash)
		return err
	})
}

type snapshotsListCommand struct {
	Limit int `default:"20" help:"How many, at most 100."`
	output
}

func (k *snapshotsListCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	page, err := client.Get(ctx, c, op.ListSnapshots.Where(wire.OffsetQuery{Limit: k.Limit, Offset: 0}))
	return show(s, k.output, page, err, printSnapshots)
}

func printSnapshots(s *session, page wire.Snapshots) error {
	return list(s, "there are no snapshots; take one with `tenet snapshots create NAME`", "SNAPSHOT\tNAME\tRULES\tTAKEN\tBY\tACTIVE IN", page.Items,
		func(one *wire.Snapshot) []any {
			return []any{one.ID, one.Name, one.RuleCount, one.CreatedAt.Format("2006-01-02 15:04"), one.CreatedBy, activeIn(one)}
		})
}

func activeIn(s *wire.Snapshot) string {
	var names []string
	for _, p := range s.Deployments {
		if p.Active {
			names = append(names, string(p.Environment))
		}
	}
	return strings.Join(names, ", ")
}

// findSnapshot finds a snapshot by what people call it; see the help of the commands.
func findSnapshot(ctx context.Context, c *client.Client, ref string) (string, error) {
	if e, err := release.ParseEnvironment(ref); err == nil {
		state, err := client.Get(ctx, c, op.GetEnvironment.At(string(e)))
		if err != nil {
			return "", err
		}
		if state.Active == nil {
			return "", rule.Errorf(rule.CodeConflict, "nothing is deployed to %s; take a snapshot and deploy it: tenet snapshots create NAME, tenet snapshots deploy NAME %s", e, e)
		}
		return state.Active.SnapshotID, nil
	}
	if rule.IsID(ref) {
		return ref, nil
	}
	var found []string
	for offset := 0; ; offset += 100 {
		list, err := client.Get(ctx, c, op.ListSnapshots.Where(wire.OffsetQuery{Limit: 100, Offset: offset}))
		if err != nil {
			return "", err
		}
		for _, one := range list.Items {
			if one.Name == ref || (len(ref) >= 8 && strings.HasPrefix(one.ID, strings.ToLower(ref))) {
				found = append(found, one.ID)
			}
		}
		if len(list.Items) < 100 {
			break
		}
	}
	switch len(found) {
	case 0:
		return "", rule.NotFound("snapshot", ref)
	case 1:
		return found[0], nil
	}
	return "", rule.Errorf(rule.CodeInvalid, "%d snapshots are called %q; name one by its id: %s", len(found), ref, strings.Join(found, ", "))
}

type snapshotsDiffCommand struct {
	From   string `arg:"" help:"The snapshot to compare with."`
	To     string `arg:"" default:"live" help:"The snapshot to compare; the live rules if absent."`
	Change string `enum:"added,removed,modified," default:"" placeholder:"CHANGE" help:"List only the added, removed or modified rules."`
	Limit  int    `default:"1000" help:"Rules of each kind to list, at most 1000."`
	Offset int    `help:"Rules of each kind to skip."`
	output
}

func (k *snapshotsDiffCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	sides := []string{k.From, k.To}
	for i, ref := range sides {
		if ref == wire.LiveRules {
			continue
		}
		var err error
		if sides[i], err = findSnapshot(ctx, c, ref); err != nil {
			return err
		}
	}
	d, err := client.Get(ctx, c, op.DiffSnapshots.At(sides...).Where(wire.DiffQuery{Change: k.Change, Limit: k.Limit, Offset: k.Offset}))
	return show(s, k.output, d, err, printDifference)
}

func printDifference(s *session, d wire.Difference) error {
	var b strings.Builder
	row := func(mark string, n *wire.RuleNote) {
		fmt.Fprintf(&b, "%s %s  %s %s  %s\n", mark, cmp.Or(n.Slug, n.RuleID), n.Severity, n.Status, line(n.Statement))
	}
	for i := range d.Added {
		row(s.green("+"), &d.Added[i])
	}
	for i := range d.Removed {
		row(s.red("-"), &d.Removed[i])
	}
	for i := range d.Modified {
		m := &d.Modified[i]
		row(s.yellow("~"), &m.RuleNote)
		for _, f := range m.Fields {
			fmt.Fprintf(&b, "    %s\n      %s\n      %s\n", f.Field, s.red("- "+line(string(f.Before))), s.green("+ "+line(string(f.After))))
		}
	}
	if d.Truncated {
		fmt.Fprintf(&b, "… and more: --offset shows what follows\n")
	}
	fmt.Fprintf(&b, "%d added, %d removed, %d modified, %d relationships changed\n", d.RulesAdded, d.RulesRemoved, d.RulesModified, d.Relationships)
	_, err := fmt.Fprint(s.out, b.String())
	return err
}

type snapshotsSimulateCommand struct {
	Snapshot string `arg:"" help:"The snapshot to switch to."`
	Against  string `default:"production" placeholder:"SNAPSHOT" help:"The snapshot to switch from; default is the one that is active in production."`
	Sample   int    `default:"50" help:"How many recorded evaluations to replay, at most 1000."`
	Seed     uint32 `help:"Draws another sample."`
	DryRun   bool   `help:"Ask no model; estimate the cost of asking."`
	FailOn   string `enum:"never,low,medium,high,critical" default:"never" placeholder:"RISK" help:"Exit with 1 from this risk on: ${enum}."`
	output
}

func (k *snapshotsSimulateCommand) Run(ctx context.Context, s *session) error {
	s.working = true // another node may not be there to do it
	return s.with(ctx, needsData, func(c *client.Client) error {
		from, err := findSnapshot(ctx, c, k.Against)
		if err != nil {
			return err
		}
		to, err := findSnapshot(ctx, c, k.Snapshot)
		if err != nil {
			return err
		}
		simulate := wire.SimulateSnapshot{CompareTo: from, Seed: k.Seed, DryRun: k.DryRun}
		if k.Sample != 0 {
			simulate.SampleSize = &k.Sample
		}
		run, err := client.Call(ctx, c, op.StartSimulation.At(to), simulate)
		if err != nil {
			return err
		}
		simulation, err := awaitSimulation(ctx, s, c, run)
		if err != nil {
			return err
		}
		if err = show(s, k.output, simulation, nil, printSimulation); err == nil {
			noteAddress(s, "", "releases", "simulations", run.ID)
		}
		if err == nil && k.FailOn != "never" && !wire.Risk(k.FailOn).Above(simulation.RiskLevel) {
			return exit(exitFound)
		}
		return err
	})
}

// waitEvery is how often background work is asked how far it has come.
const waitEvery = 50 * time.Millisecond

// await asks for background work until it has ended.
func await[R any](ctx context.Context, s *session, what string, run R, get func() (R, error), state func(*R) (string, wire.Progress)) (R, error) {
	step, end := s.bar(what)
	defer end()
	for {
		now, progress := state(&run)
		if now != job.Queued && now != job.Running {
			return run, nil
		}
		if progress.Total > 0 {
			step(progress.Done, progress.Total)
		}
		select {
		case <-ctx.Done():
			return run, ctx.Err()
		case <-time.After(waitEvery):
		}
		var err error
		if run, err = get(); err != nil {
			return run, err
		}
	}
}

func awaitSimulation(ctx context.Context, s *session, c *client.Client, run wire.SimulationRun) (*wire.Simulation, error) {
	run, err := await(ctx, s, "replaying", run, func() (wire.SimulationRun, error) { return client.Get(ctx, c, op.GetSimulation.At(run.ID)) },
		func(r *wire.SimulationRun) (string, wire.Progress) { return r.State, r.Progress })
	if err == nil && run.Result == nil {
		err = fmt.Errorf("the simulation has %s: %s", run.State, run.Error)
	}
	return run.Result, err
}

func printSimulation(s *session, m *wire.Simulation) error {
	var b strings.Builder
	for _, f := range m.Flips {
		fmt.Fprintf(&b, "%s  %s -> %s\n", f.EvaluationID, s.bold(string(f.Before)), s.bold(string(f.After)))
	}
	for _, e := range m.Examples {
		fmt.Fprintf(&b, "%s  %s %s  %s -> %s\n    %s\n", e.EvaluationID, cmp.Or(e.RuleSlug, e.RuleID), e.Severity, none(e.Before), none(e.After), s.dim(line(e.Why)))
	}
	v := m.VerdictChanges
	fmt.Fprintf(&b, "rules: %d added, %d removed, %d modified\n", m.RulesAdded, m.RulesRemoved, m.RulesModified)
	fmt.Fprintf(&b, "replayed %d: %d changed (%d ALLOW to DENY, %d DENY to ALLOW, %d other)\n", v.TotalSampled, v.Changed, v.AllowToDeny, v.DenyToAllow, v.Other)
	if m.Confidence != nil {
		fmt.Fprintf(&b, "changed share: %.1f %% (95 %% interval %.1f to %.1f %%)\n", 100*m.Confidence.Value, 100*m.Confidence.Low, 100*m.Confidence.High)
	}
	if n := len(m.NotReplayed); n > 0 {
		fmt.Fprintf(&b, "not replayed: %d, such as %s: %s\n", n, m.NotReplayed[0].EvaluationID, line(m.NotReplayed[0].Reason))
	}
	if m.DryRun {
		fmt.Fprintf(&b, "a model would be asked for %d verdicts, in up to %d calls with about %d tokens\n", m.CostEstimate.Verdicts, m.CostEstimate.Calls, m.CostEstimate.InputTokens)
	} else if m.Cost.Calls > 0 {
		fmt.Fprintf(&b, "model: %d calls, %d tokens in, %d out\n", m.Cost.Calls, m.Cost.InputTokens, m.Cost.OutputTokens)
	}
	fmt.Fprintf(&b, "risk: %s\n", s.bold(string(m.RiskLevel)))
	for _, reason := range m.RiskReasons {
		fmt.Fprintf(&b, "  %s\n", reason)
	}
	_, err := fmt.Fprint(s.out, b.String())
	return err
}

func none(v rule.Verdict) string {
	if v == "" {
		return "not judged"
	}
	return string(v)
}

type snapshotsDeployCommand struct {
	Snapshot    string `arg:"" help:"The snapshot."`
	Environment string `arg:"" enum:"production,staging,development" help:"${enum}."`
	Reason      string `placeholder:"TEXT" help:"Why; kept in the history."`
	output
}

func (k *snapshotsDeployCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	id, err := findSnapshot(ctx, c, k.Snapshot)
	if err != nil {
		return err
	}
	d, err := client.Call(ctx, c, op.DeploySnapshot.At(id), wire.DeploySnapshot{Environment: string(wire.Environment(k.Environment)), Reason: k.Reason})
	return show(s, k.output, d, err, printDeployment)
}

func printDeployment(s *session, d wire.Deployment) error {
	if d.Unchanged {
		_, err := fmt.Fprintf(s.out, "%s is active in %s already, since %s; nothing was deployed\n", d.SnapshotID, d.Environment, d.DeployedAt.Format(time.DateTime))
		return err
	}
	before := "nothing"
	if d.PreviousSnapshotID != nil {
		before = *d.PreviousSnapshotID
	}
	_, err := fmt.Fprintf(s.out, "%s is active in %s (before: %s)\n", d.SnapshotID, d.Environment, before)
	return err
}

type snapshotsRollbackCommand struct {
	Environment string `arg:"" enum:"production,staging,development" help:"${enum}."`
	Reason      string `placeholder:"TEXT" help:"Why; kept in the history."`
	output
}

func (k *snapshotsRollbackCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	id, err := findSnapshot(ctx, c, k.Environment)
	if err != nil {
		return err
	}
	back, err := client.Call(ctx, c, op.RollbackSnapshot.At(id).Where(wire.RollbackQuery{Environment: k.Environment}), wire.RollbackSnapshot{Reason: k.Reason})
	return show(s, k.output, back, err, func(s *session, back wire.RolledBack) error {
		_, err := fmt.Fprintf(s.out, "%s is active in %s again (was: %s)\n", back.RolledBackTo, back.Environment, back.RolledBackFrom)
		return err
	})
}

type snapshotsHistoryCommand struct {
	Environment string `arg:"" optional:"" help:"production, staging or development; all if absent."`
	limit
	output
}

func (k *snapshotsHistoryCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	page, err := client.Get(ctx, c, op.ListSteps.Where(wire.DeploymentQuery{Environment: k.Environment, PageQuery: wire.PageQuery{PageSize: k.Limit}}))
	return showPage(s, k.output, page, err, printHistory)
}

func printHistory(s *session, steps []wire.HistoryEntry) error {
	return list(s, "nothing was ever deployed", "SINCE\tENVIRONMENT\tACTION\tSNAPSHOT\tNAME\tBY\tREASON", steps, func(h *wire.HistoryEntry) []any {
		return []any{h.DeployedAt.Format(time.DateTime), h.Environment, h.Action, h.SnapshotID, h.SnapshotName, h.DeployedBy, h.Reason}
	})
}

type snapshotsEnvironmentsCommand struct{ output }

func (k *snapshotsEnvironmentsCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	all, err := client.Get(ctx, c, op.ListEnvironments)
	return show(s, k.output, all, err, printEnvironments)
}

func printEnvironments(s *session, all []wire.EnvironmentSummary) error {
	return list(s, "", "ENVIRONMENT\tACTIVE\tSINCE\tBY\tROLLS BACK TO\tGATES", all, func(e *wire.EnvironmentSummary) []any {
		row := []any{e.Environment, "nothing", "", "", "", gatesLine(e)}
		if e.Active != nil {
			row[1], row[2], row[3] = e.Active.SnapshotName, e.Active.DeployedAt.Format("2006-01-02 15:04"), e.Active.DeployedBy
		}
		if e.Previous != nil {
			row[4] = e.Previous.SnapshotName
		}
		return row
	})
}

// gatesLine names the gates of an environment.
func gatesLine(e *wire.EnvironmentSummary) string {
	var gates []string
	if e.Frozen != nil {
		gates = append(gates, "frozen until "+e.Frozen.Until.UTC().Format(time.RFC3339))
	}
	if e.Gates.TestsPass {
		gates = append(gates, "tests")
	}
	if e.Gates.MaxRisk != "" {
		gates = append(gates, "risk at most "+string(e.Gates.MaxRisk))
	}
	if e.Gates.Approvals > 0 {
		gates = append(gates, fmt.Sprintf("%d approvals", e.Gates.Approvals))
	}
	return strings.Join(gates, ", ")
}

type snapshotsSimulationsCommand struct {
	Snapshot string `arg:"" optional:"" help:"Only simulations of this snapshot, or against it."`
	limit
	output
}

func (k *snapshotsSimulationsCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	q := wire.SimulationQuery{PageQuery: wire.PageQuery{PageSize: k.Limit}}
	if k.Snapshot != "" {
		var err error
		if q.SnapshotID, err = findSnapshot(ctx, c, k.Snapshot); err != nil {
			return err
		}
	}
	page, err := client.Get(ctx, c, op.ListSimulations.Where(q))
	return showPage(s, k.output, page, err, func(s *session, runs []wire.SimulationRun) error {
		return list(s, "nothing was simulated in the last 90 days", "SIMULATION\tSTATE\tSNAPSHOT\tAGAINST\tREPLAYED\tCHANGED\tRISK\tASKED", runs, func(r *wire.SimulationRun) []any {
			row := []any{r.ID, r.State, r.Request.SnapshotID, r.Request.CompareTo, "", "", "", r.CreatedAt.Format("2006-01-02 15:04")}
			if r.Result != nil {
				row[4], row[5], row[6] = r.Result.VerdictChanges.TotalSampled, r.Result.VerdictChanges.Changed, r.Result.RiskLevel
			}
			return row
		})
	})
}

type snapshotsVerifyCommand struct {
	Snapshot string `arg:"" help:"The snapshot."`
	output
}

func (k *snapshotsVerifyCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	id, err := findSnapshot(ctx, c, k.Snapshot)
	if err != nil {
		return err
	}
	v, err := client.Get(ctx, c, op.VerifySnapshot.At(id))
	err = show(s, k.output, v, err, func(s *session, v wire.Verification) error {
		if v.Valid {
			_, err := fmt.Fprintf(s.out, "%s holds the rules that it was taken of: %s\n", v.SnapshotID, v.ContentHash)
			return err
		}
		s.note("snapshot %s is damaged: its hash is %s, the stored rules give %s, %d rules are missing", v.SnapshotID, v.ContentHash, v.Computed, len(v.Missing))
		return nil
	})
	if err == nil && !v.Valid {
		return exit(exitFound)
	}
	return err
}
