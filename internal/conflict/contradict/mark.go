package contradict

import (
	"tenet/internal/norm"
	"tenet/internal/rule"
)

// polarity returns the words by which a clause demands or forbids; its verb where its modality alone decides, and its first word where another
// verb of opposite sense has taken the place of that.
func polarity(c *norm.Clause) []norm.Span {
	if spans := c.Polarity(); len(spans) > 0 {
		return spans
	}
	if spans := c.Spans(func(key string) bool { return key == c.Head }); len(spans) > 0 {
		return spans
	}
	all := c.Spans(func(string) bool { return true })
	return all[:min(1, len(all))]
}

// Marks returns the words of two statements that clash, those of the first rule first. Where the tests find no contradiction, as in a conflict
// that a model or a person has found, they are the words by which the two clauses differ that have most words in common; nothing
// where no two clauses are about the same.
func Marks(a, b *rule.Rule) [2][]norm.Span {
	x, y := Read(a), Read(b)
	f, ok := Compare(x, y)
	if !ok {
		f.Marks = differences(x, y)
	}
	return [2][]norm.Span{norm.JoinSpans(a.Statement, f.Marks[0]), norm.JoinSpans(b.Statement, f.Marks[1])}
}

// differences returns the words by which the two clauses differ that have most words in common.
func differences(a, b *Reading) [2][]norm.Span {
	var one, other *norm.Clause
	most := 0.0
	for i := range a.clauses {
		for j := range b.clauses {
			if share := common(&a.clauses[i], &b.clauses[j]); share > most {
				most, one, other = share, &a.clauses[i], &b.clauses[j]
			}
		}
	}
	if one == nil {
		return [2][]norm.Span{}
	}
	return [2][]norm.Span{difference(one, other), difference(other, one)}
}

// common is the share of the words of two clauses that both have.
func common(a, b *norm.Clause) float64 {
	x, y := a.Words(), b.Words()
	if len(x)+len(y) == 0 {
		return 0
	}
	missing := len(x.Minus(y)) + len(y.Minus(x))
	return 1 - float64(missing)/float64(len(x)+len(y))
}

// difference returns the words of a clause that another one does not have, its other numbers, and what turns it the other way.
func difference(c, other *norm.Clause) []norm.Span {
	words := other.Words()
	own := c.Words()
	spans := c.Spans(func(key string) bool { return own[key] && !words[key] })
	for i := range c.Quantities {
		if !hasQuantity(other, &c.Quantities[i]) {
			spans = append(spans, c.Quantities[i].Span)
		}
	}
	if c.Negative != other.Negative || c.Force != other.Force {
		spans = append(spans, polarity(c)...)
	}
	return spans
}

func hasQuantity(c *norm.Clause, q *norm.Quantity) bool {
	for i := range c.Quantities {
		if o := &c.Quantities[i]; o.Unit == q.Unit && o.Interval == q.Interval {
			return true
		}
	}
	return false
}
