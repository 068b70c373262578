package console

import (
	"encoding/gob"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Names of the values that the queue keeps in a session.
const (
	undoValue   = "queue-undo"   // what the last decisions can take back
	reasonValue = "queue-reason" // the last reason, for the next decision
)

// maxQueueErrors bounds the failures that one page lists.
const maxQueueErrors = 5

// undo holds the decisions that can be taken back.
type undo struct {
	Items []string // as queueItem writes them
}

func init() { gob.Register(undo{}) }

// queueFilters are the filters of the queue; the API has them by the same names.
var queueFilters = []string{"kind", "severity_min", "assignee", "by", "q", "snoozed", "order"}

// queue is the view of the queue.
type queue struct {
	wire.Queue
	place    pager
	filtered bool
	problem  string
	decides  bool // some item offers a decision
	undo     int  // decisions that can be taken back
	reason   string
}

// queuePlace is the project that the queue is asked for: one, or all that the person may see.
func queuePlace(p *page) string {
	if project := p.r.URL.Query().Get("project"); project != "" && p.who.Sees(project) {
		return project
	}
	return store.AllProjects
}

// queueList shows what waits for a person, over all projects that this one may see.
func queueList(p *page) error {
	v := queue{reason: p.console.sessions.GetString(p.ctx, reasonValue)}
	o := op.ListQueue.Where(wire.PageQuery{Page: pageOf(p.r), PageSize: listSize})
	takeQueueFilters(p.r.URL.Query(), o.Query)
	v.filtered = slices.ContainsFunc(queueFilters, func(name string) bool { return name != "order" && o.Query.Has(name) })
	var err error
	v.Queue, err = client.Get(p.ctx, p.api.InProject(queuePlace(p)), o)
	if v.problem, err = refusedFilter(err); err != nil {
		return err
	}
	v.place = pager{pageOf(p.r), listSize, len(v.Items), v.Total}
	v.decides = slices.ContainsFunc(v.Items, func(i wire.QueueItem) bool { return len(i.Actions) > 0 })
	if kept, ok := p.console.sessions.Get(p.ctx, undoValue).(undo); ok {
		v.undo = len(kept.Items)
	}
	return p.show(head{Title: "Queue", Nav: "queue"}, queueView(p, v))
}

// queueItem names an item in a form.
func queueItem(kind wire.QueueKind, project, id string) string {
	return string(kind) + "/" + project + "/" + id
}

// parseItems reads the names of items from a form.
func parseItems(names []string) ([]wire.QueueRef, error) {
	list := make([]wire.QueueRef, 0, len(names))
	for _, name := range names {
		parts := strings.SplitN(name, "/", 3) // the id of a revision has a slash too
		if len(parts) != 3 {
			return nil, rule.Errorf(rule.CodeInvalid, "the form names an item that the queue cannot have")
		}
		list = append(list, wire.QueueRef{Kind: wire.QueueKind(parts[0]), ProjectID: parts[1], ID: parts[2]})
	}
	return list, nil
}

// decideQueue carries out what the person has chosen for the items of a form: one decision, or a mark.
func decideQueue(p *page) error {
	form := p.r.PostForm
	do, names, back, err := decided(form, "item")
	if err != nil {
		return err
	}
	items, err := parseItems(names)
	if err != nil {
		return err
	}
	if len(items) == 0 {
		p.warn("No item is selected. Choose some by x or with the pointer.")
		return p.redirect(back)
	}
	reason := strings.TrimSpace(form.Get("reason"))
	p.console.sessions.Put(p.ctx, reasonValue, reason)
	var out wire.QueueDecided
	switch do {
	case "take", "assign", "aside", "back":
		mark := wire.MarkQueue{Items: items}
		if err := readMark(&mark, do, form); err != nil {
			return err
		}
		out, err = client.Call(p.ctx, p.api, op.MarkQueue, mark)
	default:
		if reason == "" && (do == string(wire.QueueReject) || do == string(wire.QueueSettle)) {
			p.warn("Say why: the reason is missing. It stays for the decisions after this one.")
			return p.redirect(back)
		}
		out, err = client.Call(p.ctx, p.api, op.DecideQueue, wire.DecideQueue{Items: items, Action: wire.QueueAction(do), Reason: reason})
		keepUndo(p, out)
	}
	if err != nil {
		return err
	}
	sayDecided(p, out)
	return p.redirect(back)
}

// readMark reads who takes care of items, or until when they are put aside.
func readMark(mark *wire.MarkQueue, do string, form url.Values) error {
	switch do {
	case "take":
		me := "me"
		mark.Assignee = &me
	case "assign":
		name := strings.TrimSpace(form.Get("assignee"))
		mark.Assignee = &name
	case "aside":
		day, err := time.Parse(time.DateOnly, form.Get("until"))
		if err != nil {
			return rule.Errorf(rule.CodeInvalid, "give the day until which the items are put aside, such as 2027-01-31")
		}
		mark.SnoozedUntil = &day
	case "back":
		passed := time.Unix(0, 0)
		mark.SnoozedUntil = &passed
	}
	return nil
}

// keepUndo keeps the decisions that can be taken back in place of those kept before.
func keepUndo(p *page, out wire.QueueDecided) {
	var kept undo
	for _, r := range out.Results {
		if r.Undo {
			kept.Items = append(kept.Items, queueItem(r.Kind, r.ProjectID, r.ID))
		}
	}
	if len(kept.Items) == 0 {
		p.console.sessions.Remove(p.ctx, undoValue)
		return
	}
	p.console.sessions.Put(p.ctx, undoValue, kept)
}

// sayDecided says on the next page what has become of decisions.
func sayDecided(p *page, out wire.QueueDecided) {
	said := fmt.Sprintf("%d done.", out.Done)
	if out.Failed == 0 {
		p.say(said)
		return
	}
	var why []string
	for _, r := range out.Results {
		if r.Status == "failed" && !slices.Contains(why, r.Error) {
			why = append(why, r.Error)
		}
	}
	if len(why) > maxQueueErrors {
		why = append(why[:maxQueueErrors], "and others")
	}
	p.warn(fmt.Sprintf("%s %d not done: %s", said, out.Failed, strings.Join(why, "; ")))
}

// undoQueue takes the last decisions back.
func undoQueue(p *page) error {
	kept, _ := p.console.sessions.Pop(p.ctx, undoValue).(undo)
	back := localPath(p.r.PostForm.Get("next"))
	items, err := parseItems(kept.Items)
	if err != nil {
		return err
	}
	if len(items) == 0 {
		p.warn("There is nothing to take back any more.")
		return p.redirect(back)
	}
	out, err := client.Call(p.ctx, p.api, op.DecideQueue, wire.DecideQueue{Items: items, Action: wire.QueueReopen})
	if err != nil {
		return err
	}
	sayDecided(p, out)
	return p.redirect(back)
}

// queueAddress is where the console shows a thing that waits, or empty.
func queueAddress(i *wire.QueueItem) string {
	switch i.Kind {
	case wire.QueueEvaluation:
		return projectAddress(i.ProjectID, "evaluations", i.ID)
	case wire.QueueRevision:
		return projectAddress(i.ProjectID, "rules", i.RuleID) + "#revision-" + strconv.Itoa(i.Revision)
	case wire.QueueConflict:
		return projectAddress(i.ProjectID, "conflicts", i.ID)
	case wire.QueueRule, wire.QueueWaiver:
		return projectAddress(i.ProjectID, "rules", i.RuleID)
	case wire.QueueCandidate:
		return projectAddress(i.ProjectID, discoveryName, "candidates", i.ID)
	case wire.QueueApproval:
		return projectAddress(i.ProjectID, "approvals", i.ID)
	case wire.QueueSnapshot:
		return projectAddress(i.ProjectID, "releases", "snapshots", i.ID)
	}
	return ""
}

// queueLabel names an action on an item on its button, for the person who may press it.
func queueLabel(i *wire.QueueItem, action wire.QueueAction, who string) string {
	switch kind := i.Kind; {
	case action == wire.QueueSettle:
		return "Settle"
	case action == wire.QueueApprove && kind == wire.QueueConflict:
		return "Confirm"
	case action == wire.QueueApprove:
		return "Approve"
	case kind == wire.QueueRevision && i.By == who:
		return "Withdraw"
	case kind == wire.QueueCandidate:
		return "Dismiss"
	case kind == wire.QueueWaiver:
		return "Revoke"
	}
	return "Reject"
}

// queueKey is the key that presses the button of an action.
func queueKey(action wire.QueueAction) string {
	if action == wire.QueueApprove {
		return "a"
	}
	return "d"
}

// queueKindLabel names a kind in the plural.
func queueKindLabel(kind wire.QueueKind) string {
	s := string(kind) + "s"
	return strings.ToUpper(s[:1]) + s[1:]
}
