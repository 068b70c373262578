package sandbox

import (
	"regexp/syntax"
	"slices"
	"strings"

	"tenet/internal/rule"
)

// ways are the ways in which a check denies or excuses: the alternatives of its patterns, and what its expressions join or list. A check with
// many may be a list of what it was shown.
type ways struct {
	// named are those whose text the rule names, all of one place counted once, and parts of expressions without texts.
	named int
	// other are those of which the rule says nothing.
	other int
}

// heldBack is how many samples that break the rule must be held back from the model for a check with these ways.
func (w ways) heldBack() int {
	return max(leastHeldBack, w.named*leastHeldBack+w.other*leastUnnamed)
}

func waysOf(r *rule.Rule, c *rule.Check) (w ways) {
	own := plain(r.Statement + " " + r.Rationale)
	for _, expression := range []string{c.CEL, c.When} {
		w = w.and(waysOfExpression(own, expression))
	}
	if c.Pattern == nil {
		return w
	}
	for _, pattern := range []string{c.Pattern.Regex, c.Pattern.Unless} {
		if re, err := syntax.Parse(pattern, syntax.Perl); err == nil && pattern != "" {
			w = w.and(waysOfPattern(own, re))
		}
	}
	return w
}

func (w ways) and(v ways) ways { return ways{w.named + v.named, w.other + v.other} }

func waysOfPattern(own string, re *syntax.Regexp) (w ways) {
	if re.Op != syntax.OpAlternate {
		// Alternatives inside of a sequence are ways of the whole.
		for _, sub := range re.Sub {
			if part := waysOfPattern(own, sub); part.named+part.other > 1 {
				w = w.and(part)
			}
		}
		switch {
		case w != ways{}:
			return w
		case namesOne(own, patternTexts(re)):
			return ways{named: 1}
		}
		return ways{other: 1}
	}
	for _, sub := range re.Sub {
		part := waysOfPattern(own, sub)
		if part == (ways{named: 1}) && w.named > 0 {
			continue
		}
		w = w.and(part)
	}
	return w
}

// namesOne reports whether a rule names one of some texts, of three characters or more.
func namesOne(own string, texts []string) bool {
	return slices.ContainsFunc(texts, func(t string) bool {
		t = strings.Trim(plain(t), " .(){}[]=;:'\"`")
		return len(t) > 2 && strings.Contains(own, t)
	})
}

func waysOfExpression(own, expression string) (w ways) {
	if strings.TrimSpace(expression) == "" {
		return w
	}
	texts := celTexts(expression)
	bare := expression
	for _, t := range texts {
		bare = strings.Replace(bare, t, "", 1)
	}
	texts = slices.DeleteFunc(texts, func(t string) bool { return namesOne(own, []string{t}) })
	slices.Sort(texts)
	w.other = len(slices.Compact(texts))
	w.named = max(0, 1+strings.Count(bare, "&&")+strings.Count(bare, "||")-w.other)
	return w
}
