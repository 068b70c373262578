package console

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"

	"tenet/internal/rule"
)

// numberPattern is a number of JSON, which keeps its digits on the way to the API.
var numberPattern = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?$`)

// Bounds of what is typed as facts.
const (
	maxOthers    = 500 // lines
	maxFactDepth = 20
)

// parseFact reads the value of a fact of a type from what was typed. The error says what to type instead.
func parseFact(text, kind string) (any, error) {
	plain := strings.TrimSpace(text)
	switch kind {
	case "number":
		if !numberPattern.MatchString(plain) {
			return nil, rule.Errorf(rule.CodeInvalid, "This is not a number. Write one such as 1250.50, without spaces and units.")
		}
		return json.Number(plain), nil
	case "boolean":
		if plain != "true" && plain != "false" {
			return nil, rule.Errorf(rule.CodeInvalid, "Choose yes or no.")
		}
		return plain == "true", nil
	case "list":
		if strings.HasPrefix(plain, "[") {
			return parseJSON(plain)
		}
		list := []any{}
		for _, s := range splitList(text, true) {
			list = append(list, s)
		}
		return list, nil
	case "text":
		return strings.ReplaceAll(text, "\r\n", "\n"), nil
	}
	switch {
	case numberPattern.MatchString(plain):
		return json.Number(plain), nil
	case plain == "true" || plain == "false":
		return plain == "true", nil
	case strings.ContainsAny(plain[:1], `[{"`):
		return parseJSON(plain)
	}
	return plain, nil
}

func parseJSON(text string) (any, error) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, rule.Errorf(rule.CodeInvalid, "This begins like JSON and is none: %s", err.Error())
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, rule.Errorf(rule.CodeInvalid, "There is more behind the JSON value. Remove it.")
	}
	return v, nil
}

// putFact puts a value where the path leads, and makes the objects on the way.
func putFact(facts map[string]any, path []string, value any) error {
	at := facts
	for _, key := range path[:len(path)-1] {
		next, given := at[key]
		if !given {
			next = map[string]any{}
			at[key] = next
		}
		object, ok := next.(map[string]any)
		if !ok {
			return rule.Errorf(rule.CodeInvalid, "%s has a value already. Give either that or what is in it.", key)
		}
		at = object
	}
	last := path[len(path)-1]
	if _, given := at[last]; given {
		return rule.Errorf(rule.CodeInvalid, "%s is given twice.", strings.Join(path, "."))
	}
	at[last] = value
	return nil
}

// readOthers reads the facts that are typed as name=value, one a line.
func (v *try) readOthers(facts map[string]any, types map[string]string) error {
	lines := splitList(v.form.get(otherField), false)
	if len(lines) > maxOthers {
		return rule.Errorf(rule.CodeInvalid, "These are %d lines; at most %d are read.", len(lines), maxOthers)
	}
	for _, line := range lines {
		name, text, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		path := strings.Split(name, ".")
		switch {
		case !ok || name == "" || slices.Contains(path, ""):
			return rule.Errorf(rule.CodeInvalid, "%q is not a name and a value. Write supplier.country=FR.", clipText(line, briefText))
		case len(path) > maxFactDepth:
			return rule.Errorf(rule.CodeInvalid, "%q has more than %d parts.", clipText(name, briefText), maxFactDepth)
		case strings.TrimSpace(text) == "":
			continue
		case !v.holds(path[0]):
			in := inFact[v.kind]
			return rule.Errorf(rule.CodeInvalid, "A subject of this kind has its facts below %s. Write %s.%s.", in, in, clipText(line, briefText))
		}
		value, err := parseFact(text, types[name])
		if err == nil {
			err = putFact(facts, path, value)
		}
		if err != nil {
			return rule.Errorf(rule.CodeInvalid, "%s: %s", clipText(name, briefText), err.Error())
		}
	}
	return nil
}
