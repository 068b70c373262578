package code

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tenet/internal/discover/source"
	"tenet/internal/rule"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// enough is the lower end of the 95 % Wilson interval of the share of places from which a convention becomes a candidate. It
// takes 16 places without an exception, 36 with one, 52 with two.
const enough = 0.8

// maxBreaks is how many places that break a convention a candidate lists.
const maxBreaks = 5

// tally are the places that chose alike.
type tally struct {
	count int
	first []place // the first few
	seen  []int   // when each of them was counted
}

// question is something that places answer, such as which quotes they use.
type question map[string]*tally

// survey counts answers over all files.
type survey struct {
	sources   map[string]string
	order     map[string]int // of files
	questions map[string]question
	votes     int
	receivers map[string]*receivers
	mains     map[string]bool // folders of main packages
	docs      map[string]place
	documents map[string]bool
	packages  map[string]bool // names of the folders and modules of Python
}

func newSurvey(files []source.File) *survey {
	s := &survey{
		sources: make(map[string]string, len(files)), order: make(map[string]int, len(files)), questions: map[string]question{},
		receivers: map[string]*receivers{}, mains: map[string]bool{}, docs: map[string]place{}, documents: map[string]bool{},
	}
	for i, f := range files {
		s.order[f.Path] = i
		if len(f.Content) <= maxFile {
			s.sources[f.Path] = strings.TrimPrefix(string(f.Content), "\ufeff")
		}
	}
	s.packages = pythonPackages(s.order)
	return s
}

func (s *survey) vote(name, choice string, at place) {
	q := s.questions[name]
	if q == nil {
		q = question{}
		s.questions[name] = q
	}
	t := q[choice]
	if t == nil {
		t = &tally{}
		q[choice] = t
	}
	t.count++
	s.votes++
	if len(t.first) < maxBreaks {
		t.first = append(t.first, at)
		t.seen = append(t.seen, s.votes)
	}
}

// found makes candidates of the conventions that are kept often enough.
func (s *survey) found() []source.Found {
	var found []source.Found
	for i := range conventions {
		c := &conventions[i]
		q := s.questions[c.question]
		keeping := q[c.choice]
		if keeping == nil {
			continue
		}
		all := 0
		for _, t := range q {
			all += t.count
		}
		if share := rule.Wilson(keeping.count, all); share.Low >= enough {
			found = append(found, s.candidate(c, keeping, q, all, share.Low))
		}
	}
	slices.SortStableFunc(found, func(a, b source.Found) int {
		return cmp.Or(cmp.Compare(s.order[a.File], s.order[b.File]), cmp.Compare(a.Line, b.Line))
	})
	return found
}

func (s *survey) candidate(c *convention, keeping *tally, q question, all int, confidence float64) source.Found {
	first := keeping.first[0]
	f := source.Found{
		Kind: wire.CodePatterns, File: first.file, Line: first.line, EndLine: first.line, Quote: s.text(first),
		Statement: c.words, Modality: rule.Must, Severity: c.severity, Tags: slices.Concat([]string{c.language()}, c.tags),
		Rationale: fmt.Sprintf("Kept in %d of %d places in the code.", keeping.count, all), Confidence: confidence,
		Method: "counted in the code: " + c.places,
		Note:   "Every place keeps it.",
	}
	// The rule about licence headers shows one.
	f.Statement = strings.Replace(f.Statement, "%s", text.FitRunes(strings.TrimLeft(strings.TrimSpace(f.Quote), "/#* "), 120, "…"), 1)
	if strings.Contains(f.Statement, " must not ") {
		f.Modality = rule.MustNot
	}
	if broken := breaks(c, q); len(broken) > 0 {
		f.Modality = rule.Should
		f.Statement = strings.Replace(f.Statement, " must ", " should ", 1)
		f.Note = "Broken at " + strings.Join(broken, ", ")
		if more := all - keeping.count - len(broken); more > 0 {
			f.Note += fmt.Sprintf(" and %d more places", more)
		}
		f.Note += "."
	}
	f.AppliesTo = c.appliesTo(s)
	f.Check = c.check(f.AppliesTo, f.Statement)
	return f
}

// breaks returns the first places that answered otherwise, in the order in which they were counted.
func breaks(c *convention, q question) []string {
	type broken struct {
		seen int
		at   place
	}
	var all []broken
	for choice, t := range q {
		if choice == c.choice {
			continue
		}
		for i, at := range t.first {
			all = append(all, broken{t.seen[i], at})
		}
	}
	slices.SortFunc(all, func(a, b broken) int { return cmp.Compare(a.seen, b.seen) })
	var out []string
	for _, b := range all[:min(len(all), maxBreaks)] {
		out = append(out, b.at.String())
	}
	return out
}

// text returns the line of a place.
func (s *survey) text(p place) string {
	if p.text == "" {
		p.text = lineAt(s.sources[p.file], p.line)
	}
	return text.FitRunes(p.text, 2000, "…")
}
