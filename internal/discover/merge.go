package discover

import (
	"encoding/json"
	"slices"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/text"
	"tenet/internal/wire"
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

// sameness returns a key that is equal for drafts that say the same, with the same force, of the same files.
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

// filler are words that say nothing, or that the modality says.
var filler = text.Words(`
a an the please always must shall should will not never do don't you we all be is are to have required need needs
`)

// essence returns the words of a statement without filler; all words where nothing else is left.
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
		seen := slices.ContainsFunc(c.Places, func(have wire.Place) bool { return have.SourceFile == p.SourceFile && have.SourceLine == p.SourceLine })
		switch {
		case seen:
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

// union returns a list with what another has more, up to n entries.
func union(list, more []string, n int) []string {
	for _, s := range more {
		if !slices.Contains(list, s) && len(list) < n {
			list = append(slices.Clip(list), s)
		}
	}
	return list
}
