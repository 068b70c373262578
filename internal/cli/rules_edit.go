package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tenet/internal/catalog"
	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/text"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

type rulesEditCommand struct {
	rulePick
	bulk
	output

	Set            []string `sep:"none" placeholder:"FIELD=VALUE" help:"Set a field without an editor, such as severity=HIGH; nothing after = clears it; may be repeated."`
	AddTag         []string `placeholder:"TAG" help:"Add a tag; may be repeated."`
	RemoveTag      []string `placeholder:"TAG" help:"Take a tag away; may be repeated."`
	Note           string   `placeholder:"TEXT" help:"Why; kept with the version of each rule."`
	AllowWeakening bool     `help:"Let an enforced CRITICAL or HIGH rule in force demand less, or hold in fewer places; needs --note."`
}

// Help returns examples.
func (rulesEditCommand) Help() string {
	return `Opens $VISUAL or $EDITOR on the rules as YAML. What cannot be stored opens the editor again, with the reason above the text. A line
that you delete clears its field. Where somebody else has changed a rule meanwhile, nothing of theirs is lost: the change is refused.

In a project with two_person_approval, a change of a rule in force waits for another person (tenet rules pending).

    tenet rules edit SEC-003
    tenet rules edit --tag payments --scope finance
    tenet rules edit --owner treasury --set owner=finance-ops --note "the team has a new name"
    tenet rules edit SEC-003 --set severity=HIGH --add-tag pci
    tenet rules edit SEC-003 --set severity=MEDIUM --allow-weakening --note "the service is retired"`
}

// setFields are the fields that --set takes, and whether each is a list with commas between.
var setFields = map[string]bool{
	"slug": false, "statement": false, "modality": false, "severity": false, "enforcement": false, "owner": false, "rationale": false, "waivable": false,
	"scope": true, "tags": true,
}

// Run changes rules by flags, or in the editor.
func (k *rulesEditCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	rules, err := k.find(ctx, c)
	if err != nil {
		return err
	}
	if len(rules) == 0 {
		s.note("no rule matches")
		return nil
	}
	if len(k.Set)+len(k.AddTag)+len(k.RemoveTag) == 0 {
		return k.inEditor(ctx, s, c, rules)
	}
	fields, err := setValues(k.Set)
	if err != nil {
		return err
	}
	if agreed, err := k.agree(s, &k.rulePick, rules, "Change"); err != nil || !agreed {
		return err
	}
	return k.store(ctx, s, c, rules, func(r *rule.Rule) map[string]any {
		change := maps.Clone(fields)
		if len(k.AddTag)+len(k.RemoveTag) > 0 {
			tags := slices.DeleteFunc(slices.Concat(r.Tags, k.AddTag), func(tag string) bool { return slices.Contains(k.RemoveTag, tag) })
			change["tags"] = tags
		}
		return change
	})
}

// setValues reads the values of --set.
func setValues(set []string) (map[string]any, error) {
	fields := map[string]any{}
	for _, one := range set {
		name, value, ok := strings.Cut(one, "=")
		list, known := setFields[name]
		switch {
		case !ok:
			return nil, fmt.Errorf("--set: %q has no =; write a field and its value, such as severity=HIGH", one)
		case !known:
			return nil, fmt.Errorf("--set: %q cannot be set by a flag; use one of %s, or the editor", name, strings.Join(slices.Sorted(maps.Keys(setFields)), ", "))
		case value == "":
			fields[name] = nil
		case name == "waivable" && (value == "true" || value == "false"):
			fields[name] = value == "true"
		case name == "waivable":
			return nil, fmt.Errorf("--set: waivable is true or false, not %q", value)
		case list:
			var values []string
			for one := range strings.SplitSeq(value, ",") {
				values = append(values, strings.TrimSpace(one))
			}
			fields[name] = values
		default:
			fields[name] = value
		}
	}
	return fields, nil
}

// store changes rules, each by the fields that change returns for it.
func (k *rulesEditCommand) store(ctx context.Context, s *session, c *client.Client, rules []rule.Rule, change func(*rule.Rule) map[string]any) error {
	return each(s, k.output, rules, func(r *rule.Rule) (changedRule, error) {
		return k.revise(ctx, c, r, change(r))
	}, func(made changedRule) string { return storedRow(s, made) })
}

// revise changes fields of a rule that nobody else has changed since it was read.
func (k *rulesEditCommand) revise(ctx context.Context, c *client.Client, r *rule.Rule, fields map[string]any) (changedRule, error) {
	if k.Note != "" {
		fields["change_note"] = k.Note
	}
	if k.AllowWeakening {
		fields["allow_weakening"] = true
	}
	next, err := client.Call(ctx, c, op.ReviseRule.At(r.ID).IfMatch(r.Version), fields)
	if err != nil {
		return changedRule{}, err
	}
	made := changedRule{Version: next.Version, Changes: rule.Diff(*r, next)}
	if next.Pending != nil {
		made.Revision, made.Changes = next.Pending.Number, next.Pending.Changes
	}
	return made, nil
}

// storedRow says what became of a changed rule.
func storedRow(s *session, made changedRule) string {
	var b bytes.Buffer
	name := s.bold(line(orID(made.Slug, made.RuleID)))
	switch {
	case made.Revision > 0:
		fmt.Fprintf(&b, "%s  %s\n", name, s.yellow(fmt.Sprintf("revision %d waits for another person", made.Revision)))
	case len(made.Changes) == 0:
		fmt.Fprintf(&b, "%s  unchanged\n", name)
	default:
		fmt.Fprintf(&b, "%s  version %d\n", name, made.Version)
	}
	printChanges(s, &b, made.Changes)
	return b.String()
}

// maxInEditor is how many rules one editor opens on.
const maxInEditor = 500

// inEditor lets the person edit rules as one YAML text.
func (k *rulesEditCommand) inEditor(ctx context.Context, s *session, c *client.Client, rules []rule.Rule) error {
	if k.DryRun {
		return listPicked(s, rules)
	}
	if len(rules) > maxInEditor {
		return fmt.Errorf("%d rules are too many for one editor; narrow the filter to %d, or change a field with --set", len(rules), maxInEditor)
	}
	body, err := editable(rules)
	if err != nil {
		return err
	}
	before, err := editedFields(body)
	if err != nil {
		return err
	}
	about := "rule " + line(rules[0].Label())
	if len(rules) > 1 {
		about = text.Plural(len(rules), "rule")
	}
	head := fmt.Sprintf("# Change %s, save, and close the editor. To give up, close it without a change.\n"+
		"# A line that is deleted clears its field. The status is changed by tenet rules submit, approve, publish and retire.\n", about)
	agreed, stored := k.Yes, []changedRule{}
	d := draft{name: "tenet-rules-*.yaml", text: append([]byte(head), body...), accept: func(edited []byte) error {
		changes, err := changesOf(before, edited)
		if err != nil {
			return err
		}
		var touched []rule.Rule
		for i := range rules {
			if len(changes[rules[i].ID]) > 0 {
				touched = append(touched, rules[i])
			}
		}
		if len(touched) > 1 && !agreed {
			if err := listPicked(s, touched); err != nil {
				return err
			}
			if !isTerminal(s.stdin) {
				return fmt.Errorf("%w: there is no terminal to ask on; give --yes", errUntouched)
			}
			if !confirm(s, fmt.Sprintf("Change %s?", text.Plural(len(touched), "rule"))) {
				return errUntouched
			}
			agreed = true
		}
		for i := range touched {
			made, err := k.revise(ctx, c, &touched[i], changes[touched[i].ID])
			if err != nil {
				return fmt.Errorf("%s: %w", touched[i].Label(), err)
			}
			made.RuleID, made.Slug = touched[i].ID, touched[i].Slug
			stored = append(stored, made)
			if !k.json() {
				if _, err := fmt.Fprint(s.out, storedRow(s, made)); err != nil {
					return err
				}
			}
			// What is stored needs not be stored again where a later rule opens the editor once more.
			if before[touched[i].ID], err = fieldsAfter(before[touched[i].ID], changes[touched[i].ID]); err != nil {
				return err
			}
			if rules, err = reread(ctx, c, rules, touched[i].ID); err != nil {
				return err
			}
		}
		return nil
	}}
	err = d.edit(ctx, s)
	if k.json() {
		if err := printJSON(s.out, stored); err != nil {
			return err
		}
	}
	if errors.Is(err, errUnedited) {
		s.note("nothing was changed")
		return nil
	}
	if err == nil && len(stored) == 1 {
		notePage(s, stored[0])
	}
	return err
}

// reread reads one of some rules again.
func reread(ctx context.Context, c *client.Client, rules []rule.Rule, id string) ([]rule.Rule, error) {
	next := slices.Clone(rules)
	for i := range next {
		if next[i].ID == id {
			r, err := c.Rule(ctx, id)
			if err != nil {
				return nil, err
			}
			next[i] = r
		}
	}
	return next, nil
}

// ruleFields are the fields of a rule in a file, as JSON by their names.
type ruleFields map[string]json.RawMessage

// editable writes rules as the text that is edited: with their ids, without what other commands change.
func editable(rules []rule.Rule) ([]byte, error) {
	var f wire.RuleFile
	for i := range rules {
		in := wire.RuleInput{}
		rules[i].WriteTo(&in)
		in.ID, in.Status = rules[i].ID, ""
		f.Rules = append(f.Rules, in)
	}
	return catalog.YAML(&f)
}

// editedFields reads the fields of the rules of a text, by the ids of the rules.
func editedFields(edited []byte) (map[string]ruleFields, error) {
	f, err := catalog.ParseYAML(edited)
	if err != nil {
		return nil, err
	}
	if f.Defaults != nil || len(f.Cases) > 0 || len(f.Federation) > 0 {
		return nil, errors.New("the text has more than rules; tenet rules apply takes defaults, cases and nodes")
	}
	all := map[string]ruleFields{}
	for i := range f.Rules {
		in := &f.Rules[i]
		switch {
		case in.ID == "":
			return nil, fmt.Errorf("rules[%d] has no id; put it back, since it says which rule is changed", i)
		case all[in.ID] != nil:
			return nil, fmt.Errorf("rules[%d]: the id %s occurs twice", i, in.ID)
		case in.Status != "":
			return nil, fmt.Errorf("rules[%d]: the status is changed by tenet rules submit, approve, publish and retire; take the line away", i)
		case len(in.Relationships) > 0:
			return nil, fmt.Errorf("rules[%d]: relationships are changed by tenet rules apply; take them away", i)
		}
		b, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		var fields ruleFields
		if err := json.Unmarshal(b, &fields); err != nil {
			return nil, err
		}
		delete(fields, "id")
		all[in.ID] = fields
	}
	return all, nil
}

// changesOf returns the fields that an edited text changes, by the ids of the rules. A field that is gone is null.
func changesOf(before map[string]ruleFields, edited []byte) (map[string]map[string]any, error) {
	after, err := editedFields(edited)
	if err != nil {
		return nil, err
	}
	changes := map[string]map[string]any{}
	for id, fields := range after {
		was, known := before[id]
		if !known {
			return nil, fmt.Errorf("the id %s is none of those that are edited; tenet rules new makes rules", id)
		}
		change := map[string]any{}
		for name, value := range fields {
			if !bytes.Equal(was[name], value) {
				change[name] = value
			}
		}
		for name := range was {
			if _, ok := fields[name]; !ok {
				change[name] = nil
			}
		}
		if _, onlyNote := change["change_note"]; onlyNote && len(change) == 1 {
			continue
		}
		changes[id] = change
	}
	return changes, nil
}

// fieldsAfter returns the fields of a rule after a change.
func fieldsAfter(fields ruleFields, change map[string]any) (ruleFields, error) {
	next := maps.Clone(fields)
	for name, value := range change {
		if value == nil {
			delete(next, name)
			continue
		}
		b, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		next[name] = b
	}
	return next, nil
}
