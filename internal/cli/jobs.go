package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"tenet/internal/client"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// jobsCommands are `tenet jobs ...`.
type jobsCommands struct {
	List   jobsListCommand   `cmd:"" help:"List background jobs, newest first."`
	Get    jobsGetCommand    `cmd:"" help:"Show a background job."`
	Retry  jobsRetryCommand  `cmd:"" help:"Run a failed or cancelled job again."`
	Cancel jobsCancelCommand `cmd:"" help:"End a job that waits or runs."`
}

type jobsListCommand struct {
	Kind  string `placeholder:"KIND" help:"Only jobs of this kind."`
	State string `placeholder:"STATE" help:"Only queued, running, succeeded, failed or cancelled jobs."`
	All   bool   `short:"a" help:"Of all projects."`
	limit
	output
}

func (jobsListCommand) Help() string {
	return `Jobs are carried out by servers. Those that work on all projects are listed with --project '*', and all there are with --all.

    tenet jobs list --all --state failed
    tenet jobs retry 17`
}

func (k *jobsListCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	if k.All {
		c = c.InProject(everyProject)
	}
	page, err := client.Get(ctx, c, op.ListJobs.Where(wire.JobQuery{Every: k.All, Kind: k.Kind, State: k.State, PageQuery: wire.PageQuery{PageSize: k.Limit}}))
	return showPage(s, k.output, page, err, printJobs)
}

func printJobs(s *session, jobs []wire.Job) error {
	return list(s, "there are no such jobs", "ID\tPROJECT\tKIND\tSTATE\tATTEMPT\tPROGRESS\tMADE\tERROR", jobs, func(j *wire.Job) []any {
		attempt := fmt.Sprintf("%d/%d", j.Attempt, j.MaxAttempts)
		return []any{j.ID, j.ProjectID, j.Kind, j.State, attempt, progressText(j.Progress), j.CreatedAt.Format(time.DateTime), j.Error}
	})
}

func progressText(p wire.Progress) string {
	switch {
	case p.Total > 0:
		return fmt.Sprintf("%d/%d", p.Done, p.Total)
	case p.Done > 0:
		return fmt.Sprint(p.Done)
	}
	return "-"
}

// jobRef names a job on the command line.
type jobRef struct {
	ID int64 `arg:"" help:"Id of the job, as list shows it."`
	output
}

type jobsGetCommand struct{ jobRef }

func (k *jobsGetCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	j, err := client.Get(ctx, c, op.GetJob.At(strconv.FormatInt(k.ID, 10)))
	return show(s, k.output, j, err, printJob)
}

func printJob(s *session, j wire.Job) error {
	rows := [][]any{
		{s.bold("job"), j.ID}, {"project", j.ProjectID}, {"kind", j.Kind}, {"state", j.State}, {"attempt", fmt.Sprintf("%d of %d", j.Attempt, j.MaxAttempts)},
		{"progress", progressText(j.Progress)}, {"made", j.CreatedAt.UTC().Format(time.DateTime) + " UTC"},
	}
	if j.Error != "" {
		rows = append(rows, []any{"error", j.Error})
	}
	return s.table("", rows)
}

type jobsRetryCommand struct{ jobRef }

func (k *jobsRetryCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	j, err := client.Get(ctx, c, op.RetryJob.At(strconv.FormatInt(k.ID, 10)))
	return noted(s, k.output, j, err, func(j wire.Job) string { return fmt.Sprintf("job %d (%s) is queued again", j.ID, line(j.Kind)) })
}

type jobsCancelCommand struct{ jobRef }

func (k *jobsCancelCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	j, err := client.Get(ctx, c, op.CancelJob.At(strconv.FormatInt(k.ID, 10)))
	return noted(s, k.output, j, err, func(j wire.Job) string {
		if j.Cancelling {
			return fmt.Sprintf("job %d (%s) will stop soon", j.ID, line(j.Kind))
		}
		return fmt.Sprintf("job %d (%s) is cancelled", j.ID, line(j.Kind))
	})
}
