package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tenet/internal/console/wordmark"
	"tenet/internal/rule"
)

// minWords is from how many words on both sides a text is compared word by word.
const minWords = 3

// printFields shows the fields that a change changes: fields of objects one by one, entries of lists that come and go, and texts word by word.
func printFields(s *session, b *bytes.Buffer, fields []rule.FieldChange) {
	for _, f := range fields {
		var before, after any
		if decode(f.Before, &before) != nil || decode(f.After, &after) != nil {
			fmt.Fprintf(b, "    %s: %s %s %s\n", f.Field, s.red(value(f.Before)), s.dim("→"), s.green(value(f.After)))
			continue
		}
		printField(s, b, f.Field, before, after)
	}
}

func decode(raw json.RawMessage, v any) error {
	if len(raw) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return dec.Decode(v)
}

func printField(s *session, b *bytes.Buffer, name string, before, after any) {
	old, wasObject := before.(map[string]any)
	next, isObject := after.(map[string]any)
	if wasObject && isObject {
		keys := maps.Clone(old)
		maps.Copy(keys, next)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if jsonLine(old[key]) != jsonLine(next[key]) {
				printField(s, b, name+"."+key, old[key], next[key])
			}
		}
		return
	}
	was, wasList := before.([]any)
	is, isList := after.([]any)
	if wasList && isList && len(was)+len(is) > 1 {
		printEntries(s, b, name, was, is)
		return
	}
	x, wasText := before.(string)
	y, isText := after.(string)
	if wasText && isText && len(strings.Fields(x)) >= minWords && len(strings.Fields(y)) >= minWords {
		fmt.Fprintf(b, "    %s: %s\n", name, wordwise(s, x, y))
		return
	}
	fmt.Fprintf(b, "    %s: %s %s %s\n", name, s.red(jsonLine(before)), s.dim("→"), s.green(jsonLine(after)))
}

// printEntries shows what comes into a list and what goes out of it; if only the order differs, both lists.
func printEntries(s *session, b *bytes.Buffer, name string, was, is []any) {
	all := func(list []any) []string {
		out := make([]string, len(list))
		for i, v := range list {
			out[i] = jsonLine(v)
		}
		return out
	}
	old, next := all(was), all(is)
	var parts []string
	for _, v := range old {
		if !slices.Contains(next, v) {
			parts = append(parts, s.red("-"+v))
		}
	}
	for _, v := range next {
		if !slices.Contains(old, v) {
			parts = append(parts, s.green("+"+v))
		}
	}
	if len(parts) == 0 {
		parts = []string{s.red("[" + strings.Join(old, ", ") + "]"), s.dim("→"), s.green("[" + strings.Join(next, ", ") + "]")}
	}
	fmt.Fprintf(b, "    %s: %s\n", name, strings.Join(parts, " "))
}

// jsonLine writes a value on one line, as JSON.
func jsonLine(v any) string {
	if v == nil {
		return "nothing"
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return "nothing"
	}
	return value(bytes.TrimSpace(buf.Bytes()))
}

// wordwise shows two texts as one, in the manner of git diff --word-diff.
func wordwise(s *session, old, next string) string {
	var b strings.Builder
	for _, p := range wordmark.Compare(old, next) {
		text := p.Text
		trimmed := strings.TrimSpace(text)
		switch {
		case p.Op == wordmark.Same || trimmed == "":
			if p.Op != wordmark.Removed {
				b.WriteString(text)
			}
		case p.Op == wordmark.Removed:
			b.WriteString(strings.Replace(text, trimmed, s.red("[-"+trimmed+"-]"), 1))
		default:
			b.WriteString(strings.Replace(text, trimmed, s.green("{+"+trimmed+"+}"), 1))
		}
	}
	return foreignLine(b.String(), s.colour)
}

// foreignLine is line for a text with colours of our own.
func foreignLine(text string, coloured bool) string {
	if !coloured {
		return line(text)
	}
	parts := strings.Split(text, "\x1b")
	for i, p := range parts {
		parts[i] = line(p)
	}
	return strings.Join(parts, "\x1b")
}
