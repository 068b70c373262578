package console

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"tenet/internal/rule"
)

// entry holds the text that a person has typed into a form, and its errors, so that a page can show both again.
type entry struct {
	values url.Values
	wrong  map[string]string // errors by the name of the field in the form
	// problem is the error of the form as a whole.
	problem string
	status  int    // of the page; 0 means 200
	prefix  string // of the ids of its elements, where a page has several forms
}

// get is the text of a field.
func (t *entry) get(name string) string { return t.values.Get(name) }

// has reports whether a field has a value, as one of several.
func (t *entry) has(name, value string) bool {
	for _, v := range t.values[name] {
		if v == value {
			return true
		}
	}
	return false
}

// bad notes what is wrong with a field.
func (t *entry) bad(name, message string) {
	if t.wrong == nil {
		t.wrong = map[string]string{}
	}
	if t.wrong[name] == "" {
		t.wrong[name] = message
	}
	t.status = http.StatusUnprocessableEntity
}

// fails reports whether something is wrong.
func (t *entry) fails() bool { return t.problem != "" || len(t.wrong) > 0 }

// refused are the codes of errors that a person mends in the form.
var refused = map[rule.Code]bool{
	rule.CodeInvalid: true, rule.CodeNotFound: true, rule.CodeConflict: true, rule.CodePrecondition: true, rule.CodeTooLarge: true,
	rule.CodeRateLimited: true, rule.CodeUnavailable: true,
}

// refuse notes an error of the API, its fields under the names that field gives them. An error that nobody can mend in the form comes
// back.
func (t *entry) refuse(err error, field func(name string) string) error {
	e, ok := errors.AsType[*rule.Error](err)
	if !ok || !refused[e.Code] {
		return err
	}
	t.status = statuses[e.Code]
	var rest []string
	for _, f := range e.Fields {
		if name := field(f.Field); name != "" {
			t.bad(name, f.Message)
			t.status = statuses[e.Code]
		} else {
			rest = append(rest, strings.TrimSpace(f.Field+" "+f.Message))
		}
	}
	if len(e.Fields) == 0 {
		rest = append(rest, e.Message)
	}
	t.problem = strings.Join(rest, "; ")
	return nil
}

// code is the status of the page with the form.
func (t *entry) code() int {
	if t.status == 0 {
		return http.StatusOK
	}
	return t.status
}

// asked is a field of a form.
type asked struct {
	name, label string
	hint        string
	kind        string // text, number, area, code
	choices     []option
	examples    []string
	max         int // characters; 0 is 10,000
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9]+`)

// id is the id of the element of the field in a form.
func (a *asked) id(t *entry) string {
	return t.prefix + "i-" + strings.Trim(notInID.ReplaceAllString(a.name, "-"), "-")
}

// describedBy names the elements that describe the field.
func (a *asked) describedBy(t *entry) string {
	var ids []string
	if a.hint != "" {
		ids = append(ids, a.id(t)+"-hint")
	}
	if t.wrong[a.name] != "" {
		ids = append(ids, a.id(t)+"-wrong")
	}
	return strings.Join(ids, " ")
}

func (a *asked) limit() int {
	if a.max == 0 {
		return 10_000
	}
	return a.max
}

// shownExamples are the examples that an attribute can hold without hiding something.
func (a *asked) shownExamples() []string {
	var out []string
	for _, e := range a.examples {
		if visible(e) == e && !strings.ContainsAny(e, "\n\t") {
			out = append(out, e)
		}
	}
	return out
}

// splitList reads a list from a field: one entry a line, or separated by commas if commas is true.
func splitList(text string, commas bool) []string {
	var out []string
	for _, s := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' || commas && r == ',' }) {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}
