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
	if q.DryRun {
		s.note("the plan is made in parts, each of the rules as they are now: it leaves out relationships, test cases and nodes")
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
	err = p.run(all, size)
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
	if p.query.DryRun {
		related, places = nil, nil // the rules that they name are not there yet
	}
	p.all = len(plain) + len(related) + len(f.Cases)
	at := 0
	for chunk := range slices.Chunk(plain, size) {
		if err := p.send(&wire.RuleFile{Rules: chunk}, "rules", func(i int) int { return at + i }); err != nil {
			return err
		}
		at += len(chunk)
	}
	unchanged := p.total.Unchanged
	at = 0
	for chunk := range slices.Chunk(related, size) {
		if err := p.send(&wire.RuleFile{Rules: chunk}, "rules", func(i int) int { return places[at+i] }); err != nil {
			return err
		}
		at += len(chunk)
	}
	p.total.Unchanged = unchanged // they were counted before
	if p.query.DryRun {
		return nil
	}
	// The cases of one rule replace those of earlier imports, so they stay together.
	byRule := map[string][]rule.FileCase{}
	var order []string
	for _, k := range f.Cases {
		if byRule[k.Rule] == nil {
			order = append(order, k.Rule)
		}
		byRule[k.Rule] = append(byRule[k.Rule], k)
	}
	var some []rule.FileCase
	for i, name := range order {
		some = append(some, byRule[name]...)
		if len(some) < size && i < len(order)-1 {
			continue
		}
		if err := p.send(&wire.RuleFile{Cases: some}, "", nil); err != nil {
			return err
		}
		some = nil
	}
	if f.Federation != nil {
		return p.send(&wire.RuleFile{Federation: f.Federation}, "", nil)
	}
	return nil
}

var numberedRule = regexp.MustCompile(`rules\[(\d{1,9})\]`)

// send imports one part. An error names rules by their places in the whole.
func (p *parts) send(f *wire.RuleFile, list string, place func(int) int) error {
	got, err := client.ImportRules(p.ctx, p.client, f, p.query)
	if err != nil {
		e, ok := errors.AsType[*rule.Error](err)
		if !ok {
			return fmt.Errorf("%w; the parts before are imported: run it again to go on", err)
		}
		moved := *e
		moved.Fields = slices.Clone(e.Fields)
		moved.Message += fmt.Sprintf("; of %d things, the %d before this part are imported: mend this and run it again to go on", p.all, p.sent)
		for i := range moved.Fields {
			if list != "" {
				moved.Fields[i].Field = numberedRule.ReplaceAllStringFunc(moved.Fields[i].Field, func(m string) string {
					n, _ := strconv.Atoi(numberedRule.FindStringSubmatch(m)[1])
					return fmt.Sprintf("rules[%d]", place(n))
				})
			}
		}
		return &moved
	}
	t := &p.total
	t.Created, t.Updated, t.Proposed, t.Unchanged = t.Created+got.Created, t.Updated+got.Updated, t.Proposed+got.Proposed, t.Unchanged+got.Unchanged
	t.Changes, t.Waiting, t.Federation = append(t.Changes, got.Changes...), append(t.Waiting, got.Waiting...), append(t.Federation, got.Federation...)
	t.Cases.Added, t.Cases.Removed = t.Cases.Added+got.Cases.Added, t.Cases.Removed+got.Cases.Removed
	t.Cases.Unchanged, t.Cases.FileOnly = t.Cases.Unchanged+got.Cases.Unchanged, t.Cases.FileOnly+got.Cases.FileOnly
	t.Notices = append(t.Notices, got.Notices...)
	if got.Silenced != nil {
		t.Silenced = got.Silenced
	}
	p.sent += len(f.Rules) + len(f.Cases)
	p.show(min(p.sent, p.all), p.all)
	return nil
}
