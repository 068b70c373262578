package discover

import (
	"encoding/json"
	"slices"
	"strings"

	"tenet/internal/rule"
)

// merge makes one of the drafts that say the same of the same files, in the order of their first; the one of the most
// confidence speaks for all. Its time is in proportion to their number.
func merge(drafts []draft) []draft {
	var out []draft
	at := map[string]int{}
	for i := range drafts {
		c := &drafts[i]
		key := sameness(c)
		have, ok := at[key]
		if ok && c.SuggestedMetadata.Check != nil && out[have].SuggestedMetadata.Check != nil {
			if x, y := asJSON(c.SuggestedMetadata.Check), asJSON(out[have].SuggestedMetadata.Check); x != y {
				key += x // two checks of one statement are two rules
				c.prints[0] = digest(c.prints[0], x)
				have, ok = at[key]
			}
		}
		if !ok {
			at[key] = len(out)
			out = append(out, *c)
			continue
		}
		out[have].absorb(c)
	}
	return out
}

// sameness is equal for drafts that say the same, with the same force, of the same files.
func sameness(c *draft) string {
	return strings.Join([]string{essence(c.Statement), string(c.SuggestedMetadata.Modality), asJSON(c.SuggestedMetadata.AppliesTo)}, "\x00")
}

func asJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic("discover: suggestions must encode as JSON: " + err.Error())
	}
	return string(data)
}

// filler are words that the modality stands for, or that stand for nothing.
var filler = map[string]bool{
	"a": true, "an": true, "the": true, "please": true, "always": true, "must": true, "shall": true, "should": true, "will": true, "not": true,
	"never": true, "do": true, "don't": true, "you": true, "we": true, "all": true, "be": true, "is": true, "are": true, "to": true, "have": true,
	"required": true, "need": true, "needs": true,
}

// essence are the words of a statement but for filler; all words where there is nothing else.
func essence(statement string) string {
	all := strings.Fields(normal(statement))
	words := make([]string, 0, len(all))
	for _, w := range all {
		if w = strings.Trim(w, `.,;:!"'()`); w != "" && !filler[w] {
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		return strings.Join(all, " ")
	}
	return strings.Join(words, " ")
}

// absorb adds to a draft what another that says the same knows.
func (c *draft) absorb(other *draft) {
	if other.Confidence > c.Confidence {
		was := *c
		*c, other = *other, &was
	}
	for i, p := range other.Places {
		known := slices.ContainsFunc(c.Places, func(have Place) bool { return have.SourceFile == p.SourceFile && have.SourceLine == p.SourceLine })
		switch {
		case known:
		case len(c.Places) < maxPlaces:
			c.Places = append(slices.Clip(c.Places), other.Places[i])
		default:
			c.unlisted++
		}
	}
	c.unlisted += other.unlisted
	for _, f := range other.prints {
		if f != c.prints[0] && f != c.prints[len(c.prints)-1] {
			c.prints = append(c.prints, f)
		}
	}
	if other.severity.Rank() > c.severity.Rank() {
		c.severity = other.severity
	}
	if len(c.scope) > 0 && len(other.scope) > 0 { // else one of them holds everywhere
		c.scope = union(c.scope, other.scope, rule.MaxListItems)
	} else {
		c.scope = nil
	}
	m, o := &c.SuggestedMetadata, &other.SuggestedMetadata
	m.Tags = union(m.Tags, o.Tags, rule.MaxListItems)
	m.Exceptions = union(m.Exceptions, o.Exceptions, rule.MaxPoints)
	if m.Check == nil {
		m.Check = o.Check
	}
	if m.Rationale == "" {
		m.Rationale = o.Rationale
	}
}

// union is a list with what another has more, up to n entries.
func union(list, more []string, n int) []string {
	for _, s := range more {
		if !slices.Contains(list, s) && len(list) < n {
			list = append(slices.Clip(list), s)
		}
	}
	return list
}
