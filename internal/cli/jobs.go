package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"tenet/internal/client"
	"tenet/internal/job"
)

// jobsCommands are `tenet jobs ...`.
type jobsCommands struct {
	List   jobsListCommand   `cmd:"" help:"List background jobs, newest first."`
	Get    jobsGetCommand    `cmd:"" help:"Show a background job."`
	Retry  jobsRetryCommand  `cmd:"" help:"Let a failed or cancelled job begin anew."`
	Cancel jobsCancelCommand `cmd:"" help:"End a job that waits or runs."`
}

type jobsListCommand struct {
	Kind   string `placeholder:"KIND" help:"Only jobs of this kind."`
	State  string `placeholder:"STATE" help:"Only queued, running, succeeded, failed or cancelled jobs."`
	Limit  int    `default:"20" help:"How many at most, up to 100."`
	Format string `short:"f" enum:"text,json" default:"text" help:"${enum}."`
}

// Help is the long help of the command.
func (jobsListCommand) Help() string {
	return `Jobs are carried out by servers. Those that work on all projects are listed with --project '*'.

    tenet jobs list --state failed
    tenet jobs retry 17`
}

// Run lists jobs.
func (k *jobsListCommand) Run(ctx context.Context, s *session) error {
	if k.Limit < 1 || k.Limit > 100 {
		return fmt.Errorf("--limit: %d is not between 1 and 100", k.Limit)
	}
	return s.with(ctx, keepsData, func(c *client.Client) error {
		list, err := c.Jobs(ctx, client.JobFilter{Kind: k.Kind, State: k.State, Size: k.Limit})
		if err != nil {
			return err
		}
		if k.Format == "json" {
			return printJSON(s.out, list.Items)
		}
		if len(list.Items) == 0 {
			s.note("there are no such jobs")
			return nil
		}
		if err := s.printJobs(list.Items); err != nil {
			return err
		}
		if more := list.Total - len(list.Items); more > 0 {
			s.note("and %d older ones", more)
		}
		return nil
	})
}

func (s *session) printJobs(jobs []job.Job) error {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ID\tKIND\tSTATE\tATTEMPT\tPROGRESS\tMADE\tERROR")
	for i := range jobs {
		j := &jobs[i]
		fmt.Fprintf(t, "%d\t%s\t%s\t%d/%d\t%s\t%s\t%s\n", j.ID, line(j.Kind), j.State, j.Attempt, j.MaxAttempts,
			progressText(j.Progress), j.CreatedAt.Format(time.DateTime), line(j.Error))
	}
	return s.table(t, &b)
}

func progressText(p job.Progress) string {
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
}

type jobsGetCommand struct{ jobRef }

// Run shows a job.
func (k *jobsGetCommand) Run(ctx context.Context, s *session) error {
	return s.with(ctx, keepsData, func(c *client.Client) error {
		j, err := c.Job(ctx, k.ID)
		if err != nil {
			return err
		}
		return printJSON(s.out, j)
	})
}

type jobsRetryCommand struct{ jobRef }

// Run lets a job begin anew.
func (k *jobsRetryCommand) Run(ctx context.Context, s *session) error {
	return s.with(ctx, keepsData, func(c *client.Client) error {
		j, err := c.RetryJob(ctx, k.ID)
		if err == nil {
			s.note("job %d (%s) is queued again", j.ID, line(j.Kind))
		}
		return err
	})
}

type jobsCancelCommand struct{ jobRef }

// Run ends a job.
func (k *jobsCancelCommand) Run(ctx context.Context, s *session) error {
	return s.with(ctx, keepsData, func(c *client.Client) error {
		j, err := c.CancelJob(ctx, k.ID)
		if err != nil {
			return err
		}
		if j.Cancelling {
			s.note("job %d (%s) will stop soon", j.ID, line(j.Kind))
		} else {
			s.note("job %d (%s) is cancelled", j.ID, line(j.Kind))
		}
		return nil
	})
}
