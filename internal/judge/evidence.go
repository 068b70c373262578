package judge

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"tenet/internal/diff"
	"tenet/internal/ledger"
	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/text"
)

// outcome is the finding on one rule for one part of a subject.
type outcome struct {
	finding               ledger.Finding
	by                    rule.DecidedBy
	reasoning, issue, fix string
	locations             []rule.Location
	evidence              []rule.Evidence
	// absent marks a DENY that rests only on something missing.
	absent bool
	// together marks a verdict that rests on several places at once.
	together bool
	// quotes and absence are the evidence of a DENY in the model's words, for the cache.
	quotes  []quote
	absence string
	// passes is how often a model has looked, agreed how often it gave this verdict.
	passes, agreed int
}

// words are the findings as models and stored verdicts write them.
var words = map[ledger.Finding]string{ledger.Kept: "ALLOW", ledger.Broken: "DENY", ledger.Doubtful: "NEEDS_CONFIRMATION", ledger.Open: "NEEDS_CONFIRMATION"}

// decided reports whether a model gave the verdict, now or when it was stored.
func (o *outcome) decided() bool { return o.by == rule.ByModel || o.by == rule.ByCache }

// undecided returns the outcome of a rule that nothing decided.
func undecided(reason string) outcome {
	return outcome{finding: ledger.Open, by: rule.ByNone, reasoning: reason, issue: issueNone}
}

// verdictOf returns the verdict on r that o earns by an account of what was examined.
func (o outcome) verdictOf(r *rule.Rule, a *ledger.Account) rule.RuleVerdict {
	v := rule.RuleVerdict{
		RuleID: r.ID, RuleSlug: r.Slug, RuleStatement: r.Statement, RuleVersion: r.Version, Severity: r.Severity,
		Modality: r.Modality, Enforcement: r.Enforcement, DecidedBy: o.by, Reasoning: o.reasoning,
		IssueDescription: o.issue, FixSuggestion: o.fix, Locations: o.locations, Evidence: o.evidence,
	}
	if o.decided() {
		v.Confidence = confidence(o.passes, o.agreed)
	}
	if v.Locations == nil {
		v.Locations = []rule.Location{}
	}
	if v.Evidence == nil {
		v.Evidence = []rule.Evidence{}
	}
	a.Decide(o.finding, &v)
	return v
}

// confidence is the agreement of a rule's passes, with one that disagrees added, since a few passes prove little: 0.5 for
// one pass, 0.67 for two that agree, 0.33 for two that do not. Nobody asks the model for its own confidence.
func confidence(passes, agreed int) float64 {
	return math.Round(100*float64(agreed)/float64(passes+1)) / 100
}

// maxLocations bounds the places of one verdict.
const maxLocations = 20

// weigh turns a model's entry into an outcome. It believes a DENY only if its quotes are in the subject, or, if it
// rests on an absence, the missing text is not.
func weigh(s *subject.Subject, l *layout, a *answer) outcome {
	o := outcome{
		finding: ledger.FindingOf(a.Verdict, rule.ByModel), by: rule.ByModel, reasoning: a.Reasoning, together: a.Together == nil || *a.Together, passes: 1, agreed: 1,
		quotes: a.Evidence, absence: a.Absence,
	}
	quoted := false
	for _, q := range a.Evidence {
		if strings.TrimSpace(q.Quote) == "" {
			continue
		}
		quoted = true
		o.locate(s, q)
	}
	if a.Verdict == rule.Allow {
		o.locations = nil
		return o
	}
	o.issue, o.fix = a.Issue, a.Fix
	found := len(o.evidence) > 0
	missing := a.Absence != "" && !inSubject(s, a.Absence)
	if missing {
		o.evidence = append(o.evidence, rule.Evidence{Kind: rule.EvidenceAbsence, Quote: a.Absence})
	}
	if a.Verdict != rule.Deny || found {
		return o
	}
	switch {
	case quoted:
		return o.doubt("The model denied, but the text that it quoted is not in the subject, so its objection is not proven. It said: ")
	case !missing:
		return o.doubt("The model denied because something is missing, but it is in the subject, so its objection is refuted. It said: ")
	case len(l.unseen) > 0:
		return o.doubt("The model denied because something is missing, but not all of the subject was examined (" + describeUnseen(l.unseen) + "), so it may be there. It said: ")
	}
	o.absent = true
	return o
}

// doubt turns a verdict that cannot be believed into one that nothing has decided. It keeps the model's words for the person
// who confirms.
func (o outcome) doubt(why string) outcome {
	o.reasoning = why + o.reasoning
	o.finding, o.by = ledger.Open, rule.ByNone
	o.evidence, o.locations = nil, nil
	return o
}

// locate looks for a quote in the subject and notes its places. The file that the model names only helps to choose among
// them.
func (o *outcome) locate(s *subject.Subject, q quote) {
	if !meaningful(q.Quote) {
		return
	}
	places := s.Find(q.Quote)
	if named := slices.DeleteFunc(slices.Clone(places), func(l rule.Location) bool { return l.FilePath != q.File }); len(named) > 0 {
		places = named
	}
	o.locations = union(o.locations, places, maxLocations)
	e, ok := rule.Evidence{Kind: rule.EvidenceQuote, Quote: strings.TrimSpace(q.Quote)}, true
	switch {
	case len(places) > 0:
		e.FilePath, e.Line = places[0].FilePath, places[0].StartLine
	case s.Contains(q.Quote):
	default:
		if e.FilePath, ok = inPath(s, e.Quote); !ok {
			e.FilePath, ok = inRemoved(s, e.Quote)
		}
	}
	if ok {
		o.evidence = append(o.evidence, e)
	}
}

// meaningful reports whether a quote says something: dots or a brace occur in any text.
func meaningful(quote string) bool {
	marks := 0
	for _, r := range quote {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r):
			return true
		case !unicode.IsSpace(r):
			marks++
		}
	}
	return marks >= 5 // a conflict marker, say
}

// inSubject reports whether text is anywhere in the subject after the change.
func inSubject(s *subject.Subject, text string) bool {
	return len(s.Find(text)) > 0 || s.Contains(text)
}

// inPath looks for text as a path or as whole segments of one, for rules about file names.
func inPath(s *subject.Subject, text string) (string, bool) {
	want := strings.Trim(text, "/")
	if len(want) < subject.MinQuote {
		return "", false
	}
	for i := range s.Files {
		f := &s.Files[i]
		if strings.Contains("/"+f.Path+"/", "/"+want+"/") {
			return f.Path, true
		}
	}
	return "", false
}

// inRemoved looks for text in removed lines, for rules about what must stay. It has no line in the new
// file.
func inRemoved(s *subject.Subject, content string) (string, bool) {
	want := text.OneLine(strings.TrimPrefix(content, "-"))
	if len(strings.ReplaceAll(want, " ", "")) < subject.MinQuote {
		return "", false
	}
	for i := range s.Files {
		f := &s.Files[i]
		for k := range f.Hunks {
			var removed strings.Builder
			for _, l := range f.Hunks[k].Lines {
				if l.Op == diff.OpDelete {
					removed.WriteString(l.Text)
					removed.WriteByte('\n')
				}
			}
			if removed.Len() > 0 && strings.Contains(text.OneLine(removed.String()), want) {
				return f.Path, true
			}
		}
	}
	return "", false
}

// describeUnseen names unexamined pieces in short.
func describeUnseen(list []rule.Unexamined) string {
	if len(list) == 0 {
		return "there is no text in it"
	}
	s := list[0].Part + ": " + list[0].Reason
	if len(list) > 1 {
		s += fmt.Sprintf("; and %d more", len(list)-1)
	}
	return s
}
