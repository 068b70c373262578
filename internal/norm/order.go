package norm

// Order holds two things of which a clause wants one first: "Ask before you merge".
type Order struct {
	First, Then Set
	Span        // the word that says so
}

// empty are the compared forms of words that say no more than that something is done, or in which place of two.
var empty = list("do complet take place start happen occur first")

// Order reads which of two things a clause wants first; false if it says nothing of that, or bounds the time between them.
func (c *Clause) Order() (Order, bool) {
	for i := range c.words {
		w := &c.words[i]
		if w.code || w.used || w.place == InException || w.place == dropped {
			continue
		}
		next := i + 1
		later := false // what follows comes first
		switch w.text {
		case "before":
		case "prior", "ahead":
			if next++; next > len(c.words) || c.words[i+1].text != map[string]string{"prior": "to", "ahead": "of"}[w.text] {
				continue
			}
		case "after":
			later = true
		case "once":
			if later = w.place == InCondition && !c.times(next); !later {
				continue
			}
		case "then":
			if !c.says("first", i) {
				continue
			}
		default:
			continue
		}
		if next >= len(c.words) || c.words[next].used || i > 0 && numeric(c, c.words[i-1]) {
			return Order{}, false
		}
		o := Order{First: Set{}, Then: Set{}, Span: Span{w.from, w.to}}
		behind := true
		for k := range c.words {
			word := &c.words[k]
			if k < i || k >= next {
				side := o.First
				if k >= next && behind {
					side = o.Then
				}
				if key := word.key(); key != "" && !empty[key] && !word.used && word.place != InException && word.place != dropped {
					side[key] = true
				}
			}
			if k >= next && word.end == ',' {
				behind = false
			}
		}
		if later {
			o.First, o.Then = o.Then, o.First
		}
		return o, len(o.First) > 0 && len(o.Then) > 0
	}
	return Order{}, false
}

// says reports whether one of the words before the place i is w.
func (c *Clause) says(w string, i int) bool {
	for k := range i {
		if c.words[k].text == w {
			return true
		}
	}
	return false
}

// times reports whether the words at i say how often: "once a year".
func (c *Clause) times(i int) bool {
	return i+1 < len(c.words) && noContent[c.words[i].text] && units()[c.words[i+1].text].unit == "time"
}

// numeric reports whether a word belongs to a quantity of a clause.
func numeric(c *Clause, w placed) bool {
	for i := range c.Quantities {
		if w.from >= c.Quantities[i].From && w.to <= c.Quantities[i].To {
			return true
		}
	}
	return false
}
