package norm

// Content is a word of a clause that belongs neither to its force nor to a quantity, an exception or a reason.
type Content struct {
	Span

	Text  string // in lower case, the base form of irregular verbs
	Key   string // as it is compared; empty for words such as "of". For words such as "disabled" it is the key of the opposite.
	Place Place
	Code  bool
	// Turned marks words whose opposite is in Key: the clause is negative for each of them.
	Turned bool
	// End marks words with a punctuation mark behind them.
	End bool
}

// Content returns the words of a clause in their order.
func (c *Clause) Content() []Content {
	out := make([]Content, 0, len(c.words))
	for i := range c.words {
		w := &c.words[i]
		if w.used || w.place == InException || w.place == dropped {
			continue
		}
		item := Content{Span: Span{w.from, w.to}, Text: w.base(), Key: w.key(), Place: w.place, Code: w.code, End: w.end != 0}
		if !w.code && w.place == InPredicate {
			if base := denied(w.text); base != "" && !c.describes(c.words, i) {
				item.Key, item.Turned = base, true
			} else if opposite, ok := opposites()[item.Key]; ok {
				item.Key, item.Turned = opposite, true
			}
		}
		out = append(out, item)
	}
	return out
}
