package console

import (
	"fmt"
	"strconv"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// jobStates are the states that the list of jobs can be filtered by.
var jobStates = []option{
	{store.JobQueued, "Waiting"}, {store.JobRunning, "Running"}, {store.JobFailed, "Failed"}, {store.JobSucceeded, "Succeeded"}, {store.JobCancelled, "Cancelled"},
}

// jobTones are the classes of the states of jobs.
var jobTones = map[string]string{store.JobFailed: "bad", store.JobSucceeded: "good", store.JobRunning: "warn"}

// jobs is the view of the list of jobs.
type jobs struct {
	items    []wire.Job
	place    pager
	filtered bool
	problem  string
}

// jobList shows background jobs: those of the project of the page, or all.
func jobList(p *page) error {
	query := p.r.URL.Query()
	q := wire.JobQuery{
		Kind: query.Get("kind"), State: query.Get("state"), Every: p.project.ID == "", PageQuery: wire.PageQuery{Page: pageOf(p.r), PageSize: listSize},
	}
	list, err := client.Get(p.ctx, anywhere(p), op.ListJobs.Where(q))
	problem, err := refusedFilter(err)
	if err != nil {
		return err
	}
	v := jobs{items: list.Items, place: pager{pageOf(p.r), listSize, len(list.Items), list.Total}, filtered: q.Kind+q.State != "", problem: problem}
	return p.show(head{Title: "Background jobs", Nav: "operations"}, jobsView(p, &v))
}

// changeJob retries or cancels a job.
func changeJob(p *page) error {
	form := p.r.PostForm
	id := form.Get("id")
	if _, err := strconv.ParseInt(id, 10, 64); err != nil {
		return rule.Errorf(rule.CodeInvalid, "the form names no job; go back and press the button again")
	}
	api := p.api
	if p.project.ID == "" {
		api = api.InProject(form.Get("of"))
	}
	do := op.RetryJob
	if form.Get("do") == "cancel" {
		do = op.CancelJob
	}
	j, err := client.Get(p.ctx, api, do.At(id))
	switch {
	case rule.CodeOf(err) == rule.CodeConflict:
		p.warn(err.Error()) // it has ended, or begun, in the meantime
	case err != nil:
		return err
	case j.Cancelling:
		p.say(fmt.Sprintf("Job %d stops soon.", j.ID))
	default:
		p.say(fmt.Sprintf("Job %d is %s.", j.ID, j.State))
	}
	return p.redirect(p.from())
}

// jobProgress is how far a job has come.
func jobProgress(j *wire.Job) string {
	switch {
	case j.Progress.Total > 0:
		return grouped(int64(j.Progress.Done)) + " of " + grouped(int64(j.Progress.Total))
	case j.Progress.Done > 0:
		return grouped(int64(j.Progress.Done))
	}
	return "–"
}

// jobOwner is the project of a job for people.
func jobOwner(project string) string {
	if project == store.AllProjects {
		return "all"
	}
	return project
}

// took is the time between two times; empty if one of them is missing.
func took(from, to *time.Time) string {
	if from == nil || to == nil {
		return ""
	}
	return to.Sub(*from).Round(time.Millisecond).String()
}
