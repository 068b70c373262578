package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"tenet/internal/catalog"
	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// partSize is how many rules an import in parts sends at once.
const partSize = 5000

// importAll imports files of any size. What the server takes at once is all or nothing; more goes in parts, each all or nothing, and the same
// import again goes on where the last one ended, since it changes nothing of what is there.
func importAll(ctx context.Context, s *session, c *client.Client, files *ruleFiles, joined *wire.RuleFile, q wire.ImportQuery, most, size int) (rule.ImportResult, error) {
	if len(joined.Rules) <= most && len(joined.Cases) <= most {
		return client.ImportRules(ctx, c, joined, q)
	}
	if n := files.unnamed(); n > 0 {
		return rule.ImportResult{}, fmt.Errorf("more than %d rules are imported in parts, for which each needs a slug or an id; rules without either: %d", most, n)
	}
	if q.Mode == "create" {
		return rule.ImportResult{}, fmt.Errorf("--create-only takes at most %d rules, since an import in parts that is run again finds its own", most)
	}
	if q.Prune {
		return rule.ImportResult{}, fmt.Errorf("--prune takes at most %d rules, since each part of a larger import names only some of them; retire rules by filter with tenet rules retire", most)
	}
	all, err := catalog.Join(files.files)
	if err != nil {
		return rule.ImportResult{}, err
	}
	p := &parts{query: q, total: rule.ImportResult{DryRun: q.DryRun}, ctx: ctx, client: c}
	var done func()
	what := "importing"
	if q.DryRun {
		what = "planning"
	}
	p.show, done = s.bar(what)
	defer done()
	if !q.DryRun {
		err = p.run(all, size)
		return p.total, err
	}
	divided, err := p.plan(all, size, most)
	if err != nil {
		return p.total, err
	}
	if divided > 0 {
		s.note("relationships connect %d rules, more than a part of the plan takes: a circle among them is found when they are applied", divided)
	}
	left, err := p.planNodes(all, most)
	if left > 0 {
		s.note("%d of the rules that change are named by federation nodes, and a part of the plan takes %d: the plan leaves out the nodes", left, most)
	}
	return p.total, err
}

// parts is an import in parts.
type parts struct {
	ctx    context.Context //nolint:containedctx // it lives as long as the call
	client *client.Client
	query  wire.ImportQuery
	show   func(n, all int)
	total  rule.ImportResult
	sent   int // things sent
	all    int
}

func (p *parts) run(f *wire.RuleFile, size int) error {
	// Relationships may name rules of later parts, so they come after all rules.
	plain := make([]wire.RuleInput, len(f.Rules))
	var related []wire.RuleInput
	var places []int // of the related rules in the file
	for i, in := range f.Rules {
		plain[i] = in
		plain[i].Relationships = nil
		if in.Relationships != nil {
			related = append(related, wire.RuleInput{ID: in.ID, Slug: in.Slug, Relationships: in.Relationships})
			places = append(places, i)
		}
	}
	p.all = len(plain) + len(related) + len(f.Cases)
	at := 0
	for chunk := range slices.Chunk(plain, size) {
		if err := p.send(&wire.RuleFile{Rules: chunk}, func(i int) int { return at + i }, nil); err != nil {
			return err
		}
		at += len(chunk)
	}
	unchanged := p.total.Unchanged
	at = 0
	for chunk := range slices.Chunk(related, size) {
		if err := p.send(&wire.RuleFile{Rules: chunk}, func(i int) int { return places[at+i] }, nil); err != nil {
			return err
		}
		at += len(chunk)
	}
	p.total.Unchanged = unchanged // they were counted before
	// The cases of one rule replace those of earlier imports, so they stay together.
	byRule := map[string][]int{}
	var order []string
	for i := range f.Cases {
		name := f.Cases[i].Rule
		if byRule[name] == nil {
			order = append(order, name)
		}
		byRule[name] = append(byRule[name], i)
	}
	var some []rule.FileCase
	places = nil
	for i, name := range order {
		for _, at := range byRule[name] {
			some, places = append(some, f.Cases[at]), append(places, at)
		}
		if len(some) < size && i < len(order)-1 {
			continue
		}
		if err := p.send(&wire.RuleFile{Cases: some}, nil, func(i int) int { return places[i] }); err != nil {
			return err
		}
		some, places = nil, nil
	}
	if f.Federation != nil {
		return p.send(&wire.RuleFile{Federation: f.Federation}, nil, nil)
	}
	return nil
}

// numberedPlace finds places of rules and cases, but not those of the rules that a node names, such as federation[0].rules[3].
var numberedPlace = regexp.MustCompile(`(^|[^.\w])(rules|cases)\[(\d{1,9})\]`)

// inWhole rewrites the places of rules and cases in a text.
func inWhole(text string, rules, cases func(int) int) string {
	return numberedPlace.ReplaceAllStringFunc(text, func(m string) string {
		part := numberedPlace.FindStringSubmatch(m)
		place := rules
		if part[2] == "cases" {
			place = cases
		}
		n, err := strconv.Atoi(part[3])
		if place == nil || err != nil {
			return m
		}
		return fmt.Sprintf("%s%s[%d]", part[1], part[2], place(n))
	})
}

// send imports one part. An error names rules and cases by their places in the whole.
func (p *parts) send(f *wire.RuleFile, rules, cases func(int) int) error {
	got, err := client.ImportRules(p.ctx, p.client, f, p.query)
	if err != nil {
		if _, ok := errors.AsType[*rule.Error](err); !ok {
			return fmt.Errorf("%w; the parts before are imported: run it again to go on", err)
		}
		return renumbered(err, fmt.Sprintf("; of %d things, the %d before this part are imported: mend this and run it again to go on", p.all, p.sent), rules, cases)
	}
	p.add(&got)
	p.sent += len(f.Rules) + len(f.Cases)
	p.show(min(p.sent, p.all), p.all)
	return nil
}

// add adds the result of a part to the total.
func (p *parts) add(got *rule.ImportResult) {
	t := &p.total
	t.Created, t.Updated, t.Proposed, t.Unchanged = t.Created+got.Created, t.Updated+got.Updated, t.Proposed+got.Proposed, t.Unchanged+got.Unchanged
	t.Changes, t.Waiting, t.Federation = append(t.Changes, got.Changes...), append(t.Waiting, got.Waiting...), append(t.Federation, got.Federation...)
	t.Cases.Added, t.Cases.Removed = t.Cases.Added+got.Cases.Added, t.Cases.Removed+got.Cases.Removed
	t.Cases.Unchanged, t.Cases.FileOnly = t.Cases.Unchanged+got.Cases.Unchanged, t.Cases.FileOnly+got.Cases.FileOnly
	t.Notices = append(t.Notices, got.Notices...)
	if got.Silenced != nil {
		t.Silenced = got.Silenced
	}
}
