package rule

import (
	"fmt"
	"slices"
	"strings"
)

// Personal names the personal data in the subjects of a project. Records hold them encrypted under a key of the person that they are about, so
// that the removal of the key removes them from all records. The zero value names none.
type Personal struct {
	People []string `json:"people,omitempty" nullable:"false" doc:"Fields that name the person a record is about, such as facts.customer.id. Several persons may be named. A record that names none has a key of its own."`
	Fields []string `json:"fields,omitempty" nullable:"false" doc:"Fields with personal data: facts.NAME with all that is below it, identity.person, identity.session, action, intent, or content (diff and files). The fields of people are personal, too." example:"[\"facts.customer\",\"identity.person\"]"`
}

// Personal fields that are no facts.
const (
	PersonalPerson  = "identity.person"
	PersonalSession = "identity.session"
	PersonalAction  = "action"
	PersonalIntent  = "intent"
	PersonalContent = "content"
	PersonalFacts   = "facts."
)

var personalFields = []string{PersonalPerson, PersonalSession, PersonalAction, PersonalIntent, PersonalContent}

// IsZero reports whether no personal data are named.
func (p Personal) IsZero() bool { return len(p.People) == 0 && len(p.Fields) == 0 }

// All returns all personal fields, those of people included, by name and each once.
func (p Personal) All() []string {
	all := append(slices.Clone(p.People), p.Fields...)
	slices.Sort(all)
	return slices.Compact(all)
}

func (p *Personal) normalize() {
	p.People, p.Fields = NilIfEmpty(normalList(p.People, strings.TrimSpace)), NilIfEmpty(normalList(p.Fields, strings.TrimSpace))
}

func (p *Personal) validate(problems *Problems) {
	labels(problems, "personal.people", p.People)
	labels(problems, "personal.fields", p.Fields)
	for i, f := range p.People {
		if f != PersonalPerson && !isFactField(f) {
			problems.Add(fmt.Sprintf("personal.people[%d]", i), "is %q; name a fact, such as facts.customer.id, or %s", f, PersonalPerson)
		}
	}
	for i, f := range p.Fields {
		if !slices.Contains(personalFields, f) && !isFactField(f) {
			problems.Add(fmt.Sprintf("personal.fields[%d]", i), "is %q; name a fact, such as facts.customer.email, or one of %s", f, strings.Join(personalFields, ", "))
		}
	}
}

// isFactField reports whether a field is a fact by its path.
func isFactField(f string) bool {
	path, ok := strings.CutPrefix(f, PersonalFacts)
	return ok && !slices.Contains(strings.Split(path, "."), "")
}

// loosens calls way with each field of base that is no longer personal.
func (p *Personal) loosens(base *Personal, way func(format string, args ...any)) {
	all := p.All()
	covered := func(f string) bool {
		return slices.ContainsFunc(all, func(by string) bool { return f == by || strings.HasPrefix(f, by+".") })
	}
	for _, f := range base.All() {
		if !covered(f) {
			way("personal: %s is stored as it is", f)
		}
	}
	for _, f := range base.People {
		if !slices.Contains(p.People, f) {
			way("personal: %s no longer names a person", f)
		}
	}
}
