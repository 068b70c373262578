package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// endOfMonth does the work of people at the end of a month: feedback, waivers, a better rule, a release.
func (y *year) endOfMonth(ctx context.Context, month int) error {
	return errors.Join(y.giveFeedback(ctx), y.waive(ctx, month), y.revise(ctx, month), y.release(ctx, month), confirm(ctx, y, month), ship(ctx, y, month))
}

// giveFeedback judges the latest denials of some rules; most were right.
func (y *year) giveFeedback(ctx context.Context) error {
	for _, d := range y.recent(8, func(*denial) bool { return true }) {
		right := !chance(y.random, 15)
		note := "Right: this must not pass."
		if !right {
			note = "Wrong: the case is an exception that the rule does not name."
		}
		_, err := client.Call(ctx, y.as(pick(y.random, reviewers)), op.GiveFeedback.At(d.evaluation), wire.FeedbackRequest{RuleID: d.ruleID, Correct: right, Note: note})
		if err != nil {
			return fmt.Errorf("feedback: %w", err)
		}
		y.feedback++
	}
	return nil
}

// waive waives a denial until a date. Those of CRITICAL rules wait for a second person, who approves all but the last ones.
func (y *year) waive(ctx context.Context, month int) error {
	for i, d := range y.recent(2, func(d *denial) bool { return d.fingerprint != "" }) {
		w, err := y.as(reviewers[i%2]).CreateWaiver(ctx, wire.CreateWaiver{
			RuleID: d.ruleID, Fingerprint: d.fingerprint, Repository: d.repository, Reason: "Known, and mended with the next release.", ExpiresAt: y.clock().Add(45 * day),
		})
		if rule.CodeOf(err) == rule.CodeConflict || rule.CodeOf(err) == rule.CodeInvalid {
			continue // it is waived already, or cannot be
		}
		if err != nil {
			return fmt.Errorf("waiver: %w", err)
		}
		y.waivers++
		if w.Status == rule.WaiverPending && month < 11 {
			if _, err := client.Call(ctx, y.as(reviewers[(i+1)%2]), op.ApproveWaiver.At(w.ID), wire.None{}); err != nil {
				return fmt.Errorf("waiver: %w", err)
			}
		}
	}
	return nil
}

// revise improves one of Acme's rules, and brings a draft on its way each third month.
func (y *year) revise(ctx context.Context, month int) error {
	c := y.as(pick(y.random, reviewers))
	slug := fmt.Sprintf("ACME-PAY-%03d", month)
	_, err := client.Call(ctx, c, op.ReviseRule.At(slug), map[string]any{
		"rationale": fmt.Sprintf("Reviewed in month %d: the limit follows the risk of the country.", month), "change_note": "Yearly review.",
	})
	if err != nil {
		return fmt.Errorf("revision: %w", err)
	}
	if month == 9 {
		_, err = client.Call(ctx, c, op.TransitionRule.At("ACME-EXP-002"), wire.Transition{To: rule.Retired, Note: "Trains are booked centrally now."})
	}
	return err
}

// release takes a snapshot, has it approved, and deploys it, first to staging. One release is taken back, and the last waits for approval.
func (y *year) release(ctx context.Context, month int) error {
	taker, approver := y.as(reviewers[0]), y.as(reviewers[1])
	s, err := client.Call(ctx, taker, op.CreateSnapshot, wire.CreateSnapshot{Name: y.clock().Format("2006-01"), Description: fmt.Sprintf("Release of month %d.", month)})
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	y.snapshots = append(y.snapshots, s.ID)
	if _, err := client.Call(ctx, taker, op.DeploySnapshot.At(s.ID), wire.DeploySnapshot{Environment: "staging"}); err != nil {
		return fmt.Errorf("deployment: %w", err)
	}
	if month == 12 {
		return nil
	}
	if _, err := client.Call(ctx, approver, op.ApproveSnapshot.At(s.ID), wire.ApproveSnapshot{Note: "Looks right."}); err != nil {
		return fmt.Errorf("approval: %w", err)
	}
	if _, err := client.Call(ctx, taker, op.DeploySnapshot.At(s.ID), wire.DeploySnapshot{Environment: "production", Reason: fmt.Sprintf("Release of month %d.", month)}); err != nil {
		return fmt.Errorf("deployment: %w", err)
	}
	if month == 7 {
		_, err = client.Call(ctx, taker, op.RollbackSnapshot.At(s.ID).Where(wire.RollbackQuery{Environment: "production"}), wire.RollbackSnapshot{Reason: "Payments of the weekend were held back."})
	}
	return err
}

// present makes what waits for people now: candidates, conflicts and alerts; some are decided, most are not. Webhooks go to an endpoint.
func (y *year) present(ctx context.Context, endpoint string) error {
	if err := subscribe(ctx, y, endpoint); err != nil {
		return err
	}
	c := y.as(reviewers[0])
	scan, err := client.Call(ctx, c, op.StartScan, wire.ScanRequest{
		Sources: []wire.SourceKind{wire.PolicyDocument, wire.AssistantMD, wire.LinterConfig}, Files: sources, Repository: "acme/platform-tools",
	})
	if err != nil {
		return fmt.Errorf("scan: %w", err)
	}
	if _, err := client.Call(ctx, c, op.ScanConflicts, wire.ScanConflicts{}); err != nil {
		return fmt.Errorf("conflicts: %w", err)
	}
	err = eventually(ctx, func() (bool, error) {
		s, err := client.Get(ctx, c, op.GetScan.At(scan.ID))
		return s.Status == wire.Completed, err
	})
	if err != nil {
		return fmt.Errorf("scan: %w", err)
	}
	if err := y.decideCandidates(ctx, c, scan.ID); err != nil {
		return err
	}
	var conflicts wire.ConflictPage
	err = eventually(ctx, func() (bool, error) {
		conflicts, err = client.Get(ctx, c, op.ListConflicts)
		return conflicts.Total >= 2, err
	})
	if err != nil {
		return fmt.Errorf("conflicts: %w", err)
	}
	_, err = client.Call(ctx, c, op.ConfirmConflict.At(conflicts.Items[0].ID), wire.DecideConflict{Note: "One of the two has to go."})
	if err != nil {
		return fmt.Errorf("conflict: %w", err)
	}
	if err := y.decideAlerts(ctx, c); err != nil {
		return err
	}
	return y.run(ctx)
}

func (y *year) decideCandidates(ctx context.Context, c *client.Client, scanID string) error {
	found, err := client.Get(ctx, c, op.ListCandidates.At(scanID))
	if err != nil {
		return fmt.Errorf("candidates: %w", err)
	}
	if len(found.Candidates) < 6 {
		return fmt.Errorf("the scan found %d candidates, want 6 or more", len(found.Candidates))
	}
	for i, x := range found.Candidates[:3] {
		if i == 0 {
			_, err = client.Call(ctx, c, op.DismissCandidate.At(x.ID), wire.DismissCandidate{Reason: "Said by another rule."})
		} else {
			_, err = client.Call(ctx, c, op.ApproveCandidate.At(x.ID), wire.CandidateApproval{})
		}
		if err != nil {
			return fmt.Errorf("candidate: %w", err)
		}
	}
	return nil
}

// decideAlerts takes on an alert and resolves another, if so many are there.
func (y *year) decideAlerts(ctx context.Context, c *client.Client) error {
	alerts, err := client.Get(ctx, c, op.ListAlerts.Where(wire.AlertQuery{Status: string(rule.AlertActive)}))
	if err != nil {
		return fmt.Errorf("alerts: %w", err)
	}
	for i, a := range alerts.Alerts[:min(2, len(alerts.Alerts))] {
		if i == 0 {
			_, err = client.Call(ctx, c, op.AcknowledgeAlert.At(a.ID), wire.None{})
		} else {
			_, err = client.Call(ctx, c, op.ResolveAlert.At(a.ID), wire.ResolveAlert{ResolutionNote: "The teams know; see the notes of the month."})
		}
		if err != nil {
			return fmt.Errorf("alert: %w", err)
		}
	}
	return nil
}

// eventually waits until background work has come so far.
func eventually(ctx context.Context, done func() (bool, error)) error {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return errors.New("the background work takes more than a minute")
}

// sources are files in which discovery finds candidates.
var sources = map[string]string{
	"docs/security-policy.md": `# Security policy

## Access

- Access to production must be approved by the owner of the system.
- Accounts of people who leave must be closed on their last day.
- Passwords must have at least 14 characters.
- Shared accounts are forbidden.

## Data

- Personal data must not be stored outside the European Union.
- Test systems must not hold data of customers.
- Laptops must be encrypted.
- Incidents must be reported within 24 hours.
`,
	"AGENTS.md": `# Instructions

- Never commit directly to main.
- Always run the tests before you open a pull request.
- Do not add dependencies without asking.
- Use the logger of the project, never print.
- Migrations must not drop columns that the last release reads.
`,
	".eslintrc.json": `{"rules": {"no-eval": "error", "eqeqeq": "error", "no-console": "warn", "no-var": "error"}}`,
}
