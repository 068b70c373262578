package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

type searchCommand struct {
	Words []string `arg:"" optional:"" help:"Words to look for, a citation, the name of a rule or a date; quotes make a phrase."`
	Plain bool     `help:"Read everything as words."`
	Mode  string   `placeholder:"MODE" help:"keyword, vector or hybrid. Default is hybrid where there is an embedding model, else keyword."`

	AsOf      string `group:"Other ways to find a rule:" placeholder:"DATE" help:"Only rules in force at this date or time, such as 2026-01-31; words are optional."`
	Cites     string `group:"Other ways to find a rule:" placeholder:"SOURCE" help:"Rules that refer to a source, by its address, name or section."`
	Conflicts string `group:"Other ways to find a rule:" placeholder:"RULE" help:"Rules that conflict with the one of this id or slug."`
	Situation string `group:"Other ways to find a rule:" placeholder:"TEXT" help:"Rules that matter in a situation, as a model judges it."`

	Role           string `group:"By the person it is for:" placeholder:"NAME" help:"Rules for this role."`
	Location       string `group:"By the person it is for:" placeholder:"PATH" help:"Rules for this location."`
	EmploymentType string `group:"By the person it is for:" placeholder:"TYPE" help:"Rules for this employment type."`
	Department     string `group:"By the person it is for:" placeholder:"NAME" help:"Rules for this department."`

	ruleFilter

	Node     string `placeholder:"NODE" help:"Only rules that hold at this federation node, which its id or name names."`
	Page     int    `default:"1" placeholder:"N" help:"Page, from 1."`
	PageSize int    `default:"10" placeholder:"N" help:"Rules per page, up to 100."`
	output
}

func (searchCommand) Help() string {
	return `Finds rules that are neither retired nor superseded, unless --status names one of these.

  tenet search encrypt customer data           by words, and by meaning where there is an embedding model
  tenet search encryption GDPR Art. 32         words, and rules that refer to the article
  tenet search in force on 2025-03-01          also: changed before June 2026, made since 2026-01
  tenet search 'cites:"card policy" leave'     a piece whose meaning is given; --plain reads all as words
  tenet search '"customer data"' --severity HIGH
  tenet search --tag privacy --scope eu        all rules that filters select
  tenet search --as-of 2026-01-31 retention    in force at that date
  tenet search --cites 'GDPR Art. 32'
  tenet search --conflicts SEC-003
  tenet search --role contractor --location emea/germany
  tenet search --situation "A contractor copies customer records to a laptop"`
}

func (k *searchCommand) Run(ctx context.Context, s *session) error {
	find, err := k.finder()
	if err != nil {
		return err
	}
	return s.with(ctx, readsData, func(c *client.Client) error {
		if k.Conflicts != "" {
			found, err := client.Get(ctx, c, op.SearchConflict.Where(wire.RuleConflictQuery{RuleID: k.Conflicts}))
			return show(s, k.output, found, err, printConflicts)
		}
		page, within := wire.PageQuery{Page: k.Page, PageSize: k.PageSize}, wire.SearchQuery{}
		if k.Node != "" {
			node, err := findNode(ctx, c, k.Node)
			if err != nil {
				return err
			}
			within.NodeID = node.ID
		}
		if words := strings.Join(k.Words, " "); words != "" && k.AsOf == "" {
			found, err := k.box(ctx, c, wire.BoxQuery{SearchQuery: within, Q: words, Plain: k.Plain, PageQuery: page})
			return show(s, k.output, found, err, printBox)
		}
		found, err := find(ctx, c, within, page)
		return show(s, k.output, found, err, printFound)
	})
}

type finder func(ctx context.Context, c *client.Client, node wire.SearchQuery, page wire.PageQuery) (wire.RuleSearchPage, error)

// finder chooses the search that the flags ask for, or returns why they do not go together. It is nil for words alone.
func (k *searchCommand) finder() (finder, error) {
	words := strings.Join(k.Words, " ")
	profile := wire.Profile{Role: k.Role, Location: k.Location, EmploymentType: k.EmploymentType, Department: k.Department}
	person := profile != wire.Profile{}
	ways := 0
	for _, way := range []bool{k.AsOf != "", k.Cites != "", k.Conflicts != "", k.Situation != "", person} {
		if way {
			ways++
		}
	}
	filter := wire.SearchFilter{
		Modality: rule.Modality(k.Modality), Severity: rule.Severity(k.Severity), Scope: k.Scope, Tags: k.Tag, Status: rule.Status(k.Status),
	}
	if err := k.fits(words, ways, filter); err != nil {
		return nil, err
	}
	switch {
	case k.AsOf != "":
		return func(ctx context.Context, c *client.Client, node wire.SearchQuery, page wire.PageQuery) (wire.RuleSearchPage, error) {
			return client.Get(ctx, c, op.SearchTemporal.Where(wire.TemporalQuery{SearchQuery: node, AsOf: k.AsOf, Q: words, PageQuery: page}))
		}, nil
	case k.Cites != "":
		return func(ctx context.Context, c *client.Client, node wire.SearchQuery, page wire.PageQuery) (wire.RuleSearchPage, error) {
			return client.Get(ctx, c, op.SearchCitation.Where(wire.CitationQuery{SearchQuery: node, Source: k.Cites, PageQuery: page}))
		}, nil
	case k.Situation != "":
		return func(ctx context.Context, c *client.Client, node wire.SearchQuery, page wire.PageQuery) (wire.RuleSearchPage, error) {
			return client.Call(ctx, c, op.SearchContext.Where(node), wire.ContextRequest{Facts: k.Situation, Scope: k.Scope, PageBody: wire.PageBody(page)})
		}, nil
	case person:
		return func(ctx context.Context, c *client.Client, node wire.SearchQuery, page wire.PageQuery) (wire.RuleSearchPage, error) {
			return client.Get(ctx, c, op.SearchSubject.Where(wire.SubjectQuery{SearchQuery: node, Profile: profile, PageQuery: page}))
		}, nil
	case words == "":
		return func(ctx context.Context, c *client.Client, node wire.SearchQuery, page wire.PageQuery) (wire.RuleSearchPage, error) {
			return client.Call(ctx, c, op.SearchCategory.Where(node), wire.CategoryRequest{SearchFilter: filter, PageBody: wire.PageBody(page)})
		}, nil
	}
	return nil, nil
}

// box searches in one box.
func (k *searchCommand) box(ctx context.Context, c *client.Client, q wire.BoxQuery) (wire.FoundRules, error) {
	mode, err := k.mode(ctx, c)
	if err != nil {
		return wire.FoundRules{}, err
	}
	q.Mode = mode
	q.BoxFilter = wire.BoxFilter{Modality: k.Modality, Severity: k.Severity, Status: k.Status, Scope: k.Scope, Tags: k.Tag}
	return client.Get(ctx, c, op.SearchBox.Where(q))
}

// fits returns an error for flags that do not go together.
func (k *searchCommand) fits(words string, ways int, f wire.SearchFilter) error {
	filtered := k.Node != "" && ways == 0 || f.Modality != "" || f.Severity != "" || len(f.Tags) > 0 || f.Status != "" || (f.Scope != "" && k.Situation == "")
	switch {
	case k.Node != "" && k.Conflicts != "":
		return errors.New("--node does not go with --conflicts")
	case ways > 1:
		return errors.New("--as-of, --cites, --conflicts, --situation and the flags of a person are different searches; use one at a time")
	case ways == 1 && words != "" && k.AsOf == "":
		return errors.New("words go with --as-of and the filters only")
	case ways == 1 && filtered:
		return errors.New("--status, --severity, --modality, --scope and --tag go with words, or alone; --scope goes with --situation too")
	case k.Mode != "" && (ways > 0 || words == ""):
		return errors.New("--mode goes with words")
	case k.Plain && (ways > 0 || words == ""):
		return errors.New("--plain goes with words")
	case ways == 0 && words == "" && !filtered:
		return errors.New("there is nothing to look for; give words or see `tenet search --help`")
	}
	if _, ok := rule.Parse(k.Mode, wire.SearchModes); k.Mode != "" && !ok {
		return fmt.Errorf("--mode is %q; use one of %s", k.Mode, rule.Names(wire.SearchModes))
	}
	return nil
}

// mode is the one that is asked for, or the best that the server has.
func (k *searchCommand) mode(ctx context.Context, c *client.Client) (wire.SearchMode, error) {
	if mode, ok := rule.Parse(k.Mode, wire.SearchModes); ok {
		return mode, nil
	}
	status, err := client.Get(ctx, c, op.SearchStatus)
	if err != nil || status.EmbeddingModel == "" {
		return wire.Keyword, err
	}
	return wire.Hybrid, nil
}
