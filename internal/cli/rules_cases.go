package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tenet/internal/catalog"
	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/rulefile"
	"tenet/internal/wire"
)

// caseOf is a test case of a rule file.
type caseOf struct {
	path   string
	source *rulefile.Source
	number int // in the file
	rule   string
}

// unknownCases adds to the faults of files, of which some cannot be read, the test cases that name a rule which neither the files nor the project
// have. Nothing is added if nobody answers, or if a rule has no name: a case may mean it.
func unknownCases(ctx context.Context, s *session, wrong *filesError) {
	cases, all := wrong.foreignCases()
	if !all || len(cases) == 0 || len(cases) > catalog.MaxImport {
		return
	}
	var ask wire.RuleFile
	for _, c := range cases {
		ask.Cases = append(ask.Cases, rule.FileCase{Rule: c.rule, Name: "of a file with errors", Expect: rule.Deny, Action: "read"})
	}
	_ = s.with(ctx, readsData, func(c *client.Client) error { // without an answer, the faults stay as the files give them
		_, err := client.ImportRules(ctx, c, &ask, wire.ImportQuery{DryRun: true})
		e, ok := errors.AsType[*rule.Error](err)
		if !ok {
			return nil
		}
		unknown := map[string]string{}
		for _, f := range e.Fields {
			unknown[f.Field] = f.Message
		}
		for i, c := range cases {
			if message, ok := unknown[fmt.Sprintf("cases[%d].rule", i)]; ok {
				for _, p := range c.source.With([]rule.FieldError{{Field: fmt.Sprintf("cases[%d].rule", c.number), Message: message}}).Problems {
					wrong.add(c.path, c.source, p)
				}
			}
		}
		return nil
	})
}

// foreignCases are the test cases of the files whose rule is not of the files; all is false if the names of their rules are not all known.
func (e *filesError) foreignCases() (cases []caseOf, all bool) {
	if e.intact == nil {
		return nil, false
	}
	own := map[string]bool{}
	for i, f := range e.intact.files {
		for _, in := range f.Rules {
			for _, name := range namesOf(in) {
				own[name] = true
			}
		}
		for n := range f.Cases {
			cases = append(cases, caseOf{e.intact.paths[i], e.intact.sources[i], n, f.Cases[n].Rule})
		}
	}
	for _, b := range e.broken {
		names, named := b.err.Named()
		if !named {
			return nil, false
		}
		for _, name := range names {
			own[strings.ToLower(name)] = true
		}
		rules, numbers := b.err.Cases()
		for i := range rules {
			cases = append(cases, caseOf{b.path, b.err.Source(), numbers[i], rules[i]})
		}
	}
	foreign := cases[:0]
	for _, c := range cases {
		if !own[strings.ToLower(c.rule)] {
			foreign = append(foreign, c)
		}
	}
	return foreign, true
}

// namesOf returns the names of a rule in lower case.
func namesOf(in wire.RuleInput) []string {
	names := []string{strings.ToLower(in.ID)}
	if in.Slug != nil {
		names = append(names, strings.ToLower(*in.Slug))
	}
	return names
}
