package assistant

import (
	"slices"
	"strconv"
	"strings"

	"tenet/internal/rule"
)

// A tag follows the statement of a rule, in backquotes, and says what the wording does not:
//
//   - Payments above 10000 need a second approver. `[MUST CRITICAL PAY-001 scope:finance/payments]`
//
// Modality and severity come first, then the slug, if any, then the parts that narrow the rule. A value that holds a space, a
// comma or another sign of the notation is in quotation marks, with the escapes of Go.
type tag struct {
	modality rule.Modality
	severity rule.Severity
	slug     string
	scope    []string
	paths    []string
	exclude  []string
	repos    []string
	kinds    []string
	tools    []string
	tags     []string
	text     string // the statement, where a list item cannot hold it as it is
}

// fields returns the named parts of a tag, in the order they are written in.
func (t *tag) fields() []struct {
	name string
	list *[]string
} {
	return []struct {
		name string
		list *[]string
	}{{"scope", &t.scope}, {"paths", &t.paths}, {"not", &t.exclude}, {"repos", &t.repos}, {"kinds", &t.kinds}, {"tools", &t.tools}, {"tags", &t.tags}}
}

// String writes the tag.
func (t *tag) String() string {
	var b strings.Builder
	b.WriteString("`[" + string(t.modality) + " " + string(t.severity))
	if t.slug != "" {
		b.WriteString(" " + t.slug)
	}
	for _, f := range t.fields() {
		for i, v := range *f.list {
			if i == 0 {
				b.WriteString(" " + f.name + ":")
			} else {
				b.WriteByte(',')
			}
			b.WriteString(value(v))
		}
	}
	if t.text != "" {
		b.WriteString(" text:" + quote(t.text))
	}
	b.WriteString("]`")
	return b.String()
}

// value writes one value, in quotation marks where it needs them.
func value(s string) string {
	for _, r := range s {
		if r <= ' ' || r > '~' || strings.ContainsRune("\",`\\", r) {
			return quote(s)
		}
	}
	return s
}

// quote writes a string so that it holds neither line breaks nor backquotes.
func quote(s string) string { return strings.ReplaceAll(strconv.Quote(s), "`", `\x60`) }

// maxTag bounds the length of a tag in bytes; the longest that [Write] makes is shorter.
const maxTag = 256 << 10

// cutTag takes the tag off the end of a line.
func cutTag(line string) (before string, t tag, ok bool) {
	line = strings.TrimRight(line, " \t")
	inside, closed := strings.CutSuffix(line, "]`")
	if !closed {
		return "", tag{}, false
	}
	at := strings.LastIndex(inside, "`[")
	if at < 0 || len(inside)-at > maxTag {
		return "", tag{}, false
	}
	t, ok = parseTag(inside[at+2:])
	return strings.TrimRight(inside[:at], " \t"), t, ok
}

// parseTag reads the text between the brackets. A part that it does not know makes it no tag.
func parseTag(s string) (t tag, ok bool) {
	first, rest, _ := strings.Cut(s, " ")
	if t.modality, ok = exact(first, rule.Modalities); !ok {
		return tag{}, false
	}
	first, rest, _ = strings.Cut(rest, " ")
	if t.severity, ok = exact(first, rule.Severities); !ok {
		return tag{}, false
	}
	for rest = strings.TrimLeft(rest, " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
		name, after, named := strings.Cut(rest, ":")
		if word, _, _ := strings.Cut(rest, " "); !named || len(word) < len(name) {
			if t.slug != "" {
				return tag{}, false
			}
			t.slug, rest = word, rest[len(word):]
			continue
		}
		if rest, ok = t.take(name, after); !ok {
			return tag{}, false
		}
	}
	return t, true
}

// take reads the values of one named part, and returns the rest of the text.
func (t *tag) take(name, s string) (rest string, ok bool) {
	var list []string
	for {
		var v string
		if v, s, ok = cutValue(s); !ok {
			return "", false
		}
		list = append(list, v)
		if !strings.HasPrefix(s, ",") {
			break
		}
		s = s[1:]
	}
	if name == "text" && len(list) == 1 {
		t.text = list[0]
		return s, t.text != ""
	}
	for _, f := range t.fields() {
		if f.name == name && len(*f.list) == 0 {
			*f.list = list
			return s, true
		}
	}
	return "", false
}

// cutValue reads one value.
func cutValue(s string) (v, rest string, ok bool) {
	if strings.HasPrefix(s, `"`) {
		quoted, err := strconv.QuotedPrefix(s)
		if err != nil {
			return "", "", false
		}
		v, err = strconv.Unquote(quoted)
		return v, s[len(quoted):], err == nil
	}
	end := strings.IndexAny(s, " ,")
	if end < 0 {
		end = len(s)
	}
	return s[:end], s[end:], end > 0
}

// exact finds a value as it is written, in capitals, so that prose is not taken for a tag.
func exact[T ~string](s string, all []T) (T, bool) {
	return T(s), slices.Contains(all, T(s))
}
