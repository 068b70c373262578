package judge

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"tenet/internal/rule"
	"tenet/internal/subject"
)

// outcome is what one part of a subject means for one rule.
type outcome struct {
	verdict               rule.Verdict
	by                    rule.DecidedBy
	reasoning, issue, fix string
	locations             []rule.Location
	evidence              []rule.Evidence
	// absent marks a DENY that rests on something missing alone.
	absent bool
	// together marks a verdict that rests on several places at once.
	together bool
	// quotes and absence are what a DENY rests on in the model's words, for keeping.
	quotes  []quote
	absence string
	// passes is how often a model has looked, agreed how often it came to this verdict.
	passes, agreed int
}

// decided reports whether a model came to the verdict, now or when it was kept.
func (o *outcome) decided() bool { return o.by == rule.ByModel || o.by == rule.ByCache }

// nothing is the outcome of a rule that could not be decided.
func nothing(reason string) outcome {
	return outcome{verdict: rule.NeedsConfirmation, by: rule.ByNone, reasoning: reason, issue: issueNone}
}

// verdictOf turns o into the verdict of r.
func (o outcome) verdictOf(r *rule.Rule) rule.RuleVerdict {
	v := rule.RuleVerdict{
		RuleID: r.ID, RuleSlug: r.Slug, RuleStatement: r.Statement, RuleVersion: r.Version, Severity: r.Severity,
		Modality: r.Modality, Enforcement: r.Enforcement, Verdict: o.verdict, DecidedBy: o.by, Reasoning: o.reasoning,
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
	return v
}

// confidence is the agreement of a rule's passes, with one that disagrees added, since a few passes prove little: 0.5 for
// one pass, 0.67 for two that agree, 0.33 for two that do not. What a model says about its own confidence is not asked for.
func confidence(passes, agreed int) float64 {
	return math.Round(100*float64(agreed)/float64(passes+1)) / 100
}

// maxLocations bounds the places of one verdict.
const maxLocations = 20

// weigh turns a model's entry into an outcome. It believes a DENY only if what it rests on is there, or really is not
// there where it rests on an absence.
func weigh(s *subject.Subject, d *docket, a *answer) outcome {
	o := outcome{
		verdict: a.Verdict, by: rule.ByModel, reasoning: a.Reasoning, together: a.Together == nil || *a.Together, passes: 1, agreed: 1,
		quotes: a.Evidence, absence: a.Absence,
	}
	quoted := false
	for _, q := range a.Evidence {
		if strings.TrimSpace(q.Quote) == "" {
			continue
		}
		quoted = true
		o.anchor(s, q)
	}
	if a.Verdict == rule.Allow {
		o.locations = nil
		return o
	}
	o.issue, o.fix = a.Issue, a.Fix
	found := len(o.evidence) > 0
	missing := a.Absence != "" && !stands(s, a.Absence)
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
	case len(d.blind) > 0:
		return o.doubt("The model denied because something is missing, but not all of the subject was examined (" + unseen(d.blind) + "), so it may be there. It said: ")
	}
	o.absent = true
	return o
}

// doubt turns a verdict that cannot be believed into one that nothing has decided. The model's words stay, for whoever
// confirms.
func (o outcome) doubt(why string) outcome {
	o.reasoning = why + o.reasoning
	o.verdict, o.by = rule.NeedsConfirmation, rule.ByNone
	o.evidence, o.locations = nil, nil
	return o
}

// anchor looks for a quote in the subject and notes where it stands. What the model says about the file only helps to
// choose among the places found.
func (o *outcome) anchor(s *subject.Subject, q quote) {
	if !telling(q.Quote) {
		return
	}
	places := s.Find(q.Quote)
	if named := slices.DeleteFunc(slices.Clone(places), func(l rule.Location) bool { return l.FilePath != q.File }); len(named) > 0 {
		places = named
	}
	for _, l := range places {
		if len(o.locations) < maxLocations && !slices.Contains(o.locations, l) {
			o.locations = append(o.locations, l)
		}
	}
	text := strings.TrimSpace(q.Quote)
	switch file, ok := "", false; {
	case len(places) > 0:
		o.evidence = append(o.evidence, rule.Evidence{Kind: rule.EvidenceQuote, Quote: text, FilePath: places[0].FilePath, Line: places[0].StartLine})
	case s.Contains(q.Quote):
		o.evidence = append(o.evidence, rule.Evidence{Kind: rule.EvidenceQuote, Quote: text})
	default:
		if file, ok = inPath(s, text); !ok {
			file, ok = inRemoved(s, text)
		}
		if ok {
			o.evidence = append(o.evidence, rule.Evidence{Kind: rule.EvidenceQuote, Quote: text, FilePath: file})
		}
	}
}

// telling reports whether a quote says something: dots or a brace stand in any text.
func telling(quote string) bool {
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

// stands reports whether text is anywhere in the subject as it is now.
func stands(s *subject.Subject, text string) bool {
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

// inRemoved looks for text in what the change removes, for rules about what must stay. Such text has no line in the new
// file.
func inRemoved(s *subject.Subject, text string) (string, bool) {
	want := squash(strings.TrimPrefix(text, "-"))
	if len(strings.ReplaceAll(want, " ", "")) < subject.MinQuote {
		return "", false
	}
	for i := range s.Files {
		f := &s.Files[i]
		for k := range f.Hunks {
			var removed strings.Builder
			for _, l := range f.Hunks[k].Lines {
				if l.Op == subject.OpDelete {
					removed.WriteString(l.Text)
					removed.WriteByte('\n')
				}
			}
			if removed.Len() > 0 && strings.Contains(squash(removed.String()), want) {
				return f.Path, true
			}
		}
	}
	return "", false
}

// unseen names pieces that were not examined, shortly.
func unseen(list []rule.Unexamined) string {
	if len(list) == 0 {
		return "there is no text in it"
	}
	s := list[0].Part + ": " + list[0].Reason
	if len(list) > 1 {
		s += fmt.Sprintf("; and %d more", len(list)-1)
	}
	return s
}
