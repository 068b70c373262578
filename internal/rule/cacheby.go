package rule

import (
	"slices"
	"strings"
)

// CacheFact is a fact of who asks by which a project keeps stored verdicts of a model apart.
type CacheFact string

// Values of [CacheFact].
const (
	CacheByActor   CacheFact = "actor"
	CacheByPerson  CacheFact = "person"
	CacheByAgent   CacheFact = "agent"
	CacheBySession CacheFact = "session"
)

// CacheFacts lists all values of [CacheFact], in the order in which policies have them.
var CacheFacts = []CacheFact{CacheByActor, CacheByPerson, CacheByAgent, CacheBySession}

// ParseCacheFacts reads facts with commas or blanks between; none for "none" and for an empty text.
func ParseCacheFacts(s string) ([]CacheFact, error) {
	list := []CacheFact{}
	if strings.EqualFold(strings.TrimSpace(s), "none") {
		return list, nil
	}
	for _, word := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' }) {
		fact, ok := Parse(word, CacheFacts)
		if !ok {
			return nil, Errorf(CodeInvalid, "%q is no fact of who asks; use some of %s", word, Names(CacheFacts))
		}
		list = append(list, fact)
	}
	return list, nil
}

// CacheFactsText writes facts as [ParseCacheFacts] reads them.
func CacheFactsText(list []CacheFact) string {
	words := make([]string, len(list))
	for i, fact := range list {
		words[i] = string(fact)
	}
	return strings.Join(words, ",")
}

// normalCacheFacts brings facts into their order, each once; nil for none. Unknown ones come last.
func normalCacheFacts(list []CacheFact) []CacheFact {
	var out []CacheFact
	for _, fact := range list {
		out = append(out, normalEnum(fact, CacheFacts, ""))
	}
	place := func(f CacheFact) int {
		if at := slices.Index(CacheFacts, f); at >= 0 {
			return at
		}
		return len(CacheFacts)
	}
	slices.SortStableFunc(out, func(a, b CacheFact) int { return place(a) - place(b) })
	return slices.Compact(out)
}

// CachedFor returns the part of who asks that stored verdicts depend on; empty if everybody in the project shares them. A name that is only a claim
// is another one than the same name where it is verified.
func (p *ProjectPolicy) CachedFor(actor string, i Identity) string {
	var b strings.Builder
	for _, fact := range p.CacheBy {
		value, claimed := actor, false
		switch fact {
		case CacheByActor:
		case CacheByPerson:
			value, claimed = FoldName(i.Person), i.Claims("person")
		case CacheByAgent:
			value, claimed = FoldName(i.Agent), i.Claims("agent")
		case CacheBySession:
			value, claimed = FoldName(i.Session), i.Claims("session")
		}
		b.WriteString(string(fact))
		if claimed {
			b.WriteString(" claimed")
		}
		b.WriteString("=" + value + "\x00")
	}
	return b.String()
}
