package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tenet/internal/store"
)

// fieldsOf reads the fields of a JSON object in one pass, without their values: the body of an import of 10,000 rules has megabytes. The fields
// share the memory of the text.
func fieldsOf(text []byte) (fields, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if kind := d.PeekKind(); kind != '{' {
		v, err := d.ReadValue()
		if err == nil && kind != 'n' {
			err = fmt.Errorf("the body is %.20s, not an object", v)
		}
		return nil, err
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	b := fields{}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		v, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		end := d.InputOffset()
		b[key] = text[end-int64(len(v)) : end : end]
	}
	if _, err := d.ReadToken(); err != nil { // the end of the object
		return nil, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the body has more than an object")
	}
	return b, nil
}

func readImport(a *About, b fields) {
	a.Action = ActionImported
	a.Object = Object{Kind: ObjectRule}
	_ = jsonv2.Unmarshal(b["rules"], &a.Versions, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) // an entry without them names none
	seen := make(map[string]bool, len(a.Versions))
	for _, v := range a.Versions {
		if v.RuleID != "" && !seen[v.RuleID] {
			seen[v.RuleID] = true
			a.Rules = append(a.Rules, v.RuleID)
		}
	}
	a.Recorded = true
	for _, name := range []string{"created", "updated", "proposed", "retired", "attached", "detached"} {
		a.Changes = appendCount(a.Changes, b, name)
	}
}

// ImportedRules returns the ids of the rules that the entry of an import concerns, as [Read] does, in any order and some of them perhaps twice. It
// takes half of the time.
func ImportedRules(e *store.AuditEntry) ([]string, error) {
	text, err := Body(*e)
	if err != nil {
		return nil, err
	}
	b, err := fieldsOf(text)
	if err != nil {
		return nil, fmt.Errorf("audit: entry %d of project %s: %w", e.Seq, e.ProjectID, err)
	}
	const key, name = `"rule_id":"`, `"rule_id"`
	rules := string(b["rules"])
	named := strings.Count(rules, name)
	ids := make([]string, 0, named)
	for rest := rules; ; {
		_, after, found := strings.Cut(rest, key)
		if !found {
			break
		}
		var id string
		if id, rest, _ = strings.Cut(after, `"`); strings.Contains(id, `\`) {
			named = -1
		}
		ids = append(ids, id)
	}
	if len(ids) != named { // it is not written as this program writes it
		about, err := Read(e)
		return about.Rules, err
	}
	return ids, nil
}
