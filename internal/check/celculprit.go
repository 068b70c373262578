package check

import (
	"context"
	"slices"

	"tenet/internal/rule"
	"tenet/internal/text"
)

// maxSuspects bounds the facts of code that are tried as the cause of a denial.
const maxSuspects = 2_000

// sure returns the answer of an expression if the readings of the parts of files agree on it, else one that has none.
func (e *expression) sure(ctx context.Context, in *Input, a answer) answer {
	if !e.reads.code || a.reason != "" || !in.codes().parts {
		return a
	}
	for _, world := range [][]*celCode{in.codes().least, in.codes().most} {
		switch b := e.evalWith(ctx, activation{in: in, code: world}); {
		case b.reason != "":
			return b
		case b.holds != a.holds:
			return answer{reason: "depends on what is not known: whether a part of a file that the diff shows begins within a comment or a text"}
		}
	}
	return a
}

// culprits returns the places of the facts of code that break the rule each alone; none if the rule is broken for what is absent.
func (e *expression) culprits(ctx context.Context, in *Input) ([]rule.Location, []rule.Evidence) {
	files := in.codes().normal
	suspects := 0
	world := make([]*celCode, len(files))
	for i, c := range files {
		suspects += len(c.facts)
		world[i] = c.only(nil)
	}
	breaks := func() bool {
		a := e.evalWith(ctx, activation{in: in, code: world})
		return a.reason == "" && !a.holds
	}
	if e.reads.texts || suspects > maxSuspects || breaks() {
		return nil, nil
	}
	var locations []rule.Location
	var evidence []rule.Evidence
	for i, c := range files {
		for k := range c.facts {
			if len(locations) == maxHits {
				return locations, evidence
			}
			fact := &c.facts[k]
			world[i] = c.only(fact)
			if !breaks() {
				continue
			}
			if l, quote, ok := in.place(c.file, fact); ok && !slices.Contains(locations, l) {
				locations = append(locations, l)
				evidence = append(evidence, rule.Evidence{Kind: rule.EvidenceQuote, Quote: quote, FilePath: l.FilePath, Line: l.StartLine})
			}
		}
		world[i] = c.only(nil)
	}
	return locations, evidence
}

// place returns the location of a fact, and its first line.
func (in *Input) place(file int, fact *codeFact) (rule.Location, string, bool) {
	for _, t := range in.fileTexts() {
		if t.file != file {
			continue
		}
		first := slices.IndexFunc(t.lines, func(l textLine) bool { return int(l.number) == fact.span.Line })
		if first < 0 {
			continue
		}
		last := first
		for last+1 < len(t.lines) && int(t.lines[last+1].number) <= fact.span.End {
			last++
		}
		snippet := text.Fit(t.body[t.lines[first].start:t.end(last)], maxSnippet, "...")
		return rule.Location{
			FilePath: t.path, StartLine: fact.span.Line, EndLine: fact.span.End, FunctionName: t.functionOf(first), Snippet: snippet,
		}, window(t.line(first), 0, maxQuote), true
	}
	return rule.Location{}, "", false
}
