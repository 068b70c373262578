package evaluate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tenet/internal/check"
	"tenet/internal/corpus"
	"tenet/internal/text"
)

// Bounds of the notices about facts.
const (
	maxFactNames   = 1000 // names of facts that are compared
	maxFactNotices = 5    // notices with a suggestion
	maxFactsListed = 5    // names in the notice about all others
)

// maxRefusedNotices bounds the notices about overrides that silence nothing.
const maxRefusedNotices = 5

// refusedNotices names the OVERRIDES relationships that silence nothing because they would weaken.
func refusedNotices(matches []corpus.Match, refused []corpus.Refused) []string {
	var list []string
	for i, f := range refused {
		if i == maxRefusedNotices {
			return append(list, text.Plural(len(refused)-i, "more override")+" of this kind.")
		}
		list = append(list, fmt.Sprintf("%s does not override %s, which demands more (%s): both are decided. The relationship needs allow_weakening and a reason.",
			matches[f.By].Rule.Label(), matches[f.Of].Rule.Label(), strings.Join(f.Ways, ", ")))
	}
	return list
}

// noticing is the stage that finds the names of the request that nothing knows: places that no rule is for, and facts that no applicable
// rule reads. It decides nothing.
func noticing(r *run) stage {
	return func(context.Context) error {
		r.notices = append(r.query.Remarks(r.view), factNotices(r)...)
		return nil
	}
}

// factNotices returns a sentence for facts that no applicable rule reads while rules read others that are not given. Where rules have all
// the facts that they read, others are no mistake.
func factNotices(r *run) []string {
	if len(r.subject.Facts) == 0 {
		return nil
	}
	read := factReads{names: map[string]bool{}, within: map[string]bool{}}
	for i := range r.sel.chosen {
		read.add(&r.sel.chosen[i])
	}
	if len(read.names) == 0 || read.all {
		return nil
	}
	given := check.NamesIn(r.subject.Facts, maxFactNames)
	missing := read.without(given)
	if len(missing) == 0 {
		return nil
	}
	var list, others []string
	for _, name := range given {
		if read.has(name) {
			continue
		}
		near := text.Near(name, missing, 3)
		if len(near) == 0 || len(list) == maxFactNotices {
			others = append(others, fact(name))
			continue
		}
		list = append(list, fact(name)+": no "+read.reader()+" reads it"+text.DidYouMean(near))
	}
	if n := len(others); n > maxFactsListed {
		others = append(others[:maxFactsListed], text.Plural(n-maxFactsListed, "other fact"))
	}
	if len(others) == 0 {
		return list
	}
	it := "them"
	if len(others) == 1 {
		it = "it"
	}
	if n := len(missing); n > maxFactsListed {
		missing = append(missing[:maxFactsListed:maxFactsListed], text.Plural(n-maxFactsListed, "other"))
	}
	return append(list, strings.Join(others, ", ")+": no "+read.reader()+" reads "+it+"; the rules read "+strings.Join(missing, ", ")+", which the request does not give.")
}

// fact is the name of a fact below facts.
func fact(name string) string {
	name = text.Clip(name, 100, "...")
	if strings.HasPrefix(name, "[") {
		return "facts" + name
	}
	return "facts." + name
}

// factReads are the facts that the applicable rules read.
type factReads struct {
	names  map[string]bool
	within map[string]bool // objects that hold one of names
	all    bool            // a check reads facts without naming them
	judged bool            // a model reads all facts for some rule
	last   []string        // the names that the last check reads: many read the same
}

func (f *factReads) add(c *chosen) {
	if c.program == nil {
		f.judged = f.judged || c.Rule.Check == nil
		return
	}
	names, all := c.program.FactNames()
	f.all = f.all || all
	if slices.Equal(names, f.last) {
		return
	}
	f.last = names
	for _, name := range names {
		if f.names[name] {
			continue
		}
		f.names[name] = true
		for i, c := range name {
			if i > 0 && (c == '.' || c == '[') {
				f.within[name[:i]] = true
			}
		}
	}
}

// reader is the noun for what does not read a fact: a model sees the facts that no check names.
func (f *factReads) reader() string {
	if f.judged {
		return "check"
	}
	return "rule"
}

// has reports whether a rule reads a fact, the object that it is in, or something in it.
func (f *factReads) has(name string) bool {
	if f.names[name] || f.within[name] {
		return true
	}
	for i, c := range name {
		if i > 0 && (c == '.' || c == '[') && f.names[name[:i]] {
			return true
		}
	}
	return false
}

// without returns the names that rules read and that are not given, sorted.
func (f *factReads) without(given []string) []string {
	g := factReads{names: map[string]bool{}, within: map[string]bool{}}
	for _, name := range given {
		g.names[name] = true
		for i, c := range name {
			if i > 0 && (c == '.' || c == '[') {
				g.within[name[:i]] = true
			}
		}
	}
	var out []string
	for name := range f.names {
		if !g.has(name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
