package corpus

// keepPhrase unmarks the documents in which terms do not follow one another, within the statement or the rationale.
func (x *textIndex) keepPhrase(docs bitset, terms []string) {
	ids := make([]uint32, len(terms))
	var rarest []posting
	for i, term := range terms {
		ids[i] = x.ids[term]
		if list := x.list(ids[i]); i == 0 || len(list) < len(rarest) {
			rarest = list
		}
	}
	kept := newBitset(len(x.lengths))
	for _, p := range rarest {
		if docs.has(p.doc()) && x.hasPhrase(p.doc(), ids) {
			kept.set(p.doc())
		}
	}
	copy(docs, kept)
}

func (x *textIndex) hasPhrase(doc int32, ids []uint32) bool {
	var before []uint32
	at, has := fieldStatement, false
	x.eachTerm(doc, func(term uint32, field int, whole bool) {
		if has || whole || field > fieldRationale {
			return
		}
		if field != at {
			before, at = before[:0], field
		}
		before = append(before, term)
		if n := len(before) - len(ids); n >= 0 && term == ids[len(ids)-1] {
			has = equal(before[n:], ids)
		}
	})
	return has
}

func equal(a, b []uint32) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
