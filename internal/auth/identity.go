package auth

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// MaxActing bounds the names of a [wire.Acting], in bytes.
const MaxActing = 200

// Person is the person behind the actor: the person whom an identity provider has named, or the owner of the key. It is empty for keys
// without an owner and for the local user.
func (a Actor) Person() string {
	if a.Grants != nil {
		return a.Name
	}
	return a.Owner
}

// Identify returns for whom and by which agent an actor acts: what its key or token shows, and what the request claims beside it. The
// identity is zero if the actor says it all. An agent acts for the owner of its key, or the person of its token, alone: it is forbidden to
// name another person.
func Identify(who Actor, on wire.Acting) (rule.Identity, error) {
	on.OnBehalfOf, on.Agent, on.Session = strings.TrimSpace(on.OnBehalfOf), strings.TrimSpace(on.Agent), strings.TrimSpace(on.Session)
	var p rule.Problems
	for _, f := range []struct{ name, value string }{{"on_behalf_of", on.OnBehalfOf}, {"agent", on.Agent}, {"session", on.Session}} {
		CheckActing(&p, f.name, f.value)
	}
	if err := p.Err("the request does not say rightly who acts"); err != nil {
		return rule.Identity{}, err
	}
	id := rule.Identity{Person: who.Person(), Agent: who.Agent, Session: on.Session}
	claim := func(field string) { id.Claimed = append(id.Claimed, field) }
	if on.OnBehalfOf != "" && !rule.SamePerson(on.OnBehalfOf, id.Person) {
		if who.Agent != "" && id.Person != "" {
			return rule.Identity{}, rule.Errorf(rule.CodeForbidden, "the agent %s acts for %s alone; leave out on_behalf_of", who.Agent, id.Person)
		}
		id.Person = on.OnBehalfOf
		claim("person")
	}
	switch {
	case on.Agent == "" || rule.FoldName(on.Agent) == rule.FoldName(id.Agent):
	case id.Agent == "":
		id.Agent = on.Agent
		claim("agent")
	default:
		id.Client = on.Agent
	}
	if id.Session != "" {
		claim("session")
	}
	if id.Client != "" {
		claim("client")
	}
	if id.Agent == "" && id.Session == "" && id.Person == who.Name {
		return rule.Identity{}, nil
	}
	return id, nil
}

// CheckActing notes a name of a person, an agent or a session that is too long or no text.
func CheckActing(p *rule.Problems, field, value string) {
	switch {
	case len(value) > MaxActing:
		p.Add(field, "has %d bytes; at most %d are allowed", len(value), MaxActing)
	case !utf8.ValidString(value) || strings.ContainsFunc(value, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }):
		p.Add(field, "has characters that are no text")
	}
}
