package evaluate

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"tenet/internal/auth"
	"tenet/internal/corpus"
	"tenet/internal/evaluate/record"
	"tenet/internal/federation"
	"tenet/internal/ledger"
	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/telemetry"
	"tenet/internal/wire"
)

// run is one evaluation, as its stages fill it in.
type run struct {
	e     *Evaluator
	req   *Request
	start time.Time
	judge Judge
	// listAll leaves all verdicts in the answer, beyond max_rules too.
	listAll bool
	// raw leaves verdicts as checks and judge give them, before modality, enforcement, feedback and waivers.
	raw bool
	// recordedVerdict returns a verdict that need not be found again; nil has none.
	recordedVerdict func(*chosen) (rule.RuleVerdict, bool)
	// waiver returns the waiver that covers a denial, or nil; nil has none.
	waiver func(v *rule.RuleVerdict) *rule.AppliedWaiver
	// calibration returns the confidence that feedback gives judged verdicts. It reads feedback at its first call.
	calibration func() record.Calibration

	// policy is that of the project.
	policy *rule.ProjectPolicy
	// uncoveredApproved is set where people have approved a recorded subject that no rule covered.
	uncoveredApproved bool
	// before is the recorded answer that is decided again; nil for a new evaluation.
	before *rule.Evaluation

	personal     personal
	confirmation confirmation
	hash         string // see subjectHash

	subject *subject.Subject
	whole   part
	// parts are those of rules that concern only some files, by the key of their coverage.
	parts map[string]*part
	view  *corpus.View
	// snapshot is the id of the snapshot that the view is of; nil for live rules.
	snapshot *string
	within   *corpus.Within // the rules in force at the federation node of the request; nil without one
	query    *corpus.Query
	sel      selection
	room     *room // of the rules in sel; nil without
	answer   *rule.Evaluation
	notices  []string // about names that nothing knows
	open     []int    // indices of the chosen rules that no check has decided
	triage   triage
	// accounts are by chosen rule, over the units of the whole subject.
	accounts []ledger.Account
	redacted int // secrets that were replaced before a model was shown the subject
	// calls are those the judge has made to models, reused the stored verdicts that it took instead, for the record.
	calls  []wire.ModelCall
	reused []wire.ReusedVerdict
	stored []wire.StoredUnder
}

// stage is one step of an evaluation. It ends the evaluation by an error.
type stage func(ctx context.Context) error

// through runs stages in order until one fails.
func through(ctx context.Context, stages ...stage) error {
	for _, s := range stages {
		if err := s(ctx); err != nil {
			return err
		}
	}
	return nil
}

// traced makes a span of a stage and observes its time.
func traced(r *run, name string, s stage) stage {
	observe := r.e.cfg.Observe
	if !telemetry.On() && observe == nil {
		return s
	}
	return func(ctx context.Context) error {
		began := time.Now()
		ctx, span := telemetry.Start(ctx, name)
		err := s(ctx)
		span.End(err)
		if observe != nil {
			observe(name, time.Since(began))
		}
		return err
	}
}

// spanOf makes a span of an evaluation; the returned function ends it. Of the subject it names the kind only.
func spanOf(ctx context.Context, r *run) (context.Context, func(err error)) {
	if !telemetry.On() {
		return ctx, func(error) {}
	}
	ctx, span := telemetry.Start(ctx, "evaluate", "tenet.project", r.req.ProjectID)
	if r.subject != nil && len(r.subject.Kinds) > 0 {
		span.Set("tenet.subject.kind", string(r.subject.Kinds[0]))
	}
	return ctx, func(err error) {
		if a := r.answer; err == nil && a != nil {
			span.Set("tenet.evaluation", a.EvaluationID)
			span.Set("tenet.verdict", string(a.OverallVerdict))
			span.Set("tenet.bundle", a.Bundle)
			span.Count("tenet.rules.concerned", a.Coverage.RulesConcerned)
			span.Count("tenet.rules.not_asked", a.Coverage.RulesNotAsked)
			var broken []string
			for i := range a.RuleVerdicts {
				if a.RuleVerdicts[i].Verdict == rule.Deny && len(broken) < maxBroken {
					broken = append(broken, a.RuleVerdicts[i].RuleID)
				}
			}
			span.Set("tenet.rules.broken", strings.Join(broken, ","))
		}
		span.End(err)
	}
}

// maxBroken bounds the rules that a span names.
const maxBroken = 20

// prepare runs all stages that can refuse a request.
func (e *Evaluator) prepare(ctx context.Context, req Request) (*run, error) {
	if e.cfg.Refuse != nil {
		if err := e.cfg.Refuse(ctx, req.ProjectID); err != nil {
			return nil, err
		}
	}
	r := newRun(ctx, e, &req, e.cfg.Now())
	return r, through(ctx, r.findPolicy, r.readRequest, func(ctx context.Context) error { return findPersonal(ctx, r) }, traced(r, "parse", r.parse), r.findRules, r.findNode, r.findWaivers)
}

// conduct runs the stages behind [Evaluator.prepare] and returns the recorded evaluation.
func (r *run) conduct(ctx context.Context) (_ *rule.Evaluation, err error) {
	ctx, end := spanOf(ctx, r)
	defer func() { end(err) }()
	stopped, err := suspension(ctx, r)
	if err != nil {
		return nil, err
	}
	if stopped != nil {
		err = through(ctx, r.outline, stop(r, stopped), r.record)
	} else {
		err = through(ctx, traced(r, "select", r.selectRules), r.decide, stopMeanwhile(r), traced(r, "record", r.record))
	}
	if err != nil {
		return nil, err
	}
	if who := public(r, wire.RecordedSubject{}).Identity; r.e.cfg.Agents != nil && who != nil {
		r.e.cfg.Agents.Saw(r.req.ProjectID, auth.ActorFrom(ctx).Name, *who, r.answer.OverallVerdict == rule.Deny)
	}
	release(r)
	leaveRoom(r)
	return r.answer, nil
}

// decide finds the verdicts of the selected rules.
func (r *run) decide(ctx context.Context) error {
	setAside(r)
	return through(ctx, r.outline, traced(r, "check", r.takeChecks), traced(r, "triage", r.findConcerned), r.limitQuestions, traced(r, "judge", r.askJudge), r.conclude)
}

func newRun(ctx context.Context, e *Evaluator, req *Request, start time.Time) *run {
	r := &run{e: e, req: req, start: start, judge: e.cfg.Judge, policy: &rule.ProjectPolicy{}}
	r.calibration = sync.OnceValue(func() record.Calibration {
		if e.cfg.Records.Feedback == nil {
			return nil
		}
		return e.Calibration(ctx, req.ProjectID)
	})
	return r
}

// readRequest turns a submitted subject into input, fills the defaults of the request and refuses values out of range.
func (r *run) readRequest(ctx context.Context) error {
	if err := r.req.resolve(ctx, r.e.cfg.Documents); err != nil {
		return err
	}
	if err := r.req.normalize(); err != nil {
		return err
	}
	return checkAsk(r)
}

// parse builds the subject.
func (r *run) parse(context.Context) error {
	s, err := subject.Build(r.req.Input)
	if err != nil {
		return r.req.fieldsOf(err)
	}
	r.subject, r.whole = s, wholePart(s)
	return nil
}

// subjectHash is the hash of the subject, worked out once.
func subjectHash(r *run) string {
	if r.hash == "" {
		r.hash = r.subject.Hash()
	}
	return r.hash
}

// findRules finds the rules to judge by: those of the snapshot that is active in an environment, or the live ones. Where
// nothing is deployed, live rules do not take the place of a release: they would pass what a release forbids.
func (r *run) findRules(ctx context.Context) (err error) {
	switch environment := r.req.Environment; {
	case environment == "":
		r.view, err = r.e.cfg.Views.View(ctx, r.req.ProjectID)
	case r.e.cfg.Released == nil:
		err = rule.Errorf(rule.CodeConflict, "nothing is deployed to %s", environment)
	default:
		var id string
		r.view, id, err = r.e.cfg.Released.Deployed(ctx, r.req.ProjectID, environment)
		r.snapshot = &id
	}
	return err
}

// findNode finds the rules in force at the federation node of the request.
func (r *run) findNode(ctx context.Context) (err error) {
	if r.req.NodeID, err = limitNode(ctx, r.view, r.req.NodeID, r.subject.Repository); err != nil {
		return err
	}
	r.within, err = withinNode(r.view, r.req.NodeID, r.subject.Repository, r.start)
	return err
}

// limitNode returns the node of a request by a key that is limited to one: the key's own, unless the request names one below it, or names none and
// its repository is bound to one there. Another node is forbidden.
func limitNode(ctx context.Context, view *corpus.View, nodeID, repository string) (string, error) {
	limit := auth.ActorFrom(ctx).Limits.Node()
	if limit == "" {
		return nodeID, nil
	}
	tree := view.Federation()
	below := func(id string) bool {
		return slices.ContainsFunc(tree.Chain(id), func(n *federation.Node) bool { return n.ID == limit })
	}
	if nodeID == "" {
		if bound, err := tree.Bound(repository); err == nil && below(bound) {
			return "", nil
		}
		return limit, nil
	}
	if !below(nodeID) {
		return "", rule.Errorf(rule.CodeForbidden, "this key evaluates at the federation node %s and below it only; leave out node_id, or use another key", limit)
	}
	return nodeID, nil
}

// withinNode returns the rules in force at a federation node, or else at the one that a repository is bound to; nil where
// neither is. An unknown node is not_found. It is a conflict if a repository is bound to two nodes alike and no node is named: to take
// all rules, or none, in their place would be a guess. So it is if the caller takes a repository to another node than its own or one
// below that.
func withinNode(view *corpus.View, nodeID, repository string, now time.Time) (*corpus.Within, error) {
	tree := view.Federation()
	if nodeID == "" {
		bound, err := tree.Bound(repository)
		if err != nil || bound == "" {
			return nil, err
		}
		return view.Within(bound, now)
	}
	if err := tree.MayTake(repository, nodeID); err != nil {
		return nil, err
	}
	return view.Within(nodeID, now)
}

// findWaivers finds the waivers of the project as they are now, also for rules of a snapshot: a waiver is granted to a denial,
// whichever state of the rules gives it. If the project's view cannot be read, no waiver applies.
func (r *run) findWaivers(ctx context.Context) error {
	view, err := r.e.cfg.Views.View(ctx, r.req.ProjectID)
	if err != nil {
		return nil //nolint:nilerr // an evaluation without waivers denies more, never less
	}
	r.waiver = func(v *rule.RuleVerdict) *rule.AppliedWaiver {
		w, ok := view.Waiver(v, r.subject.Repository, r.start)
		if !ok {
			return nil
		}
		return w.Applied()
	}
	return nil
}
