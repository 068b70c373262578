package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"tenet/internal/rule"
)

// Encoded has the types that [AppendJSON] encodes.
type Encoded interface {
	*EvaluationRecord | *rule.Evaluation | *SubmissionAnswer | *EdgeBatch | *rule.Rule | *Page[rule.Rule] | *RuleSearchPage
}

// AppendJSON appends v as package encoding/json encodes it, byte for byte, in a fraction of the time: every evaluation encodes its answer and its
// record, and lists have thousands of rules. With escapeHTML it escapes as [json.Marshal] does. It panics for a value that has no JSON, as only a fault of this program makes one.
func AppendJSON[T Encoded](b []byte, v T, escapeHTML bool) []byte {
	if v == nil {
		return append(b, "null"...)
	}
	t := jsonText{b, escapeHTML}
	switch v := any(v).(type) {
	case *EvaluationRecord:
		t.record(v)
	case *rule.Evaluation:
		t.open()
		t.evaluation(v)
		t.end()
	case *SubmissionAnswer:
		t.open()
		t.evaluation(&v.Evaluation)
		t.text("submission_id", v.SubmissionID)
		t.text("subject_kind", v.SubjectKind)
		t.end()
	case *EdgeBatch:
		batch(&t, v)
	case *rule.Rule:
		t.rule(v)
	case *Page[rule.Rule]:
		t.rulePage(v)
	case *RuleSearchPage:
		t.searchPage(v)
	}
	return t.b
}

// jsonText is JSON under construction.
type jsonText struct {
	b          []byte
	escapeHTML bool
}

func (t *jsonText) open() { t.b = append(t.b, '{') }
func (t *jsonText) end()  { t.b = append(t.b, '}') }

// name begins a field of an object, or with an empty name an element of a list.
func (t *jsonText) name(name string) {
	if last := t.b[len(t.b)-1]; last != '{' && last != '[' {
		t.b = append(t.b, ',')
	}
	if name != "" {
		t.b = append(t.b, '"')
		t.b = append(t.b, name...)
		t.b = append(t.b, '"', ':')
	}
}

func (t *jsonText) text(name, s string) {
	t.name(name)
	t.quote(s)
}

// textIf omits an empty text.
func (t *jsonText) textIf(name, s string) {
	if s != "" {
		t.text(name, s)
	}
}

func (t *jsonText) number(name string, n int64) {
	t.name(name)
	t.b = strconv.AppendInt(t.b, n, 10)
}

// numberIf omits zero.
func (t *jsonText) numberIf(name string, n int) {
	if n != 0 {
		t.number(name, int64(n))
	}
}

func (t *jsonText) truth(name string, v bool) {
	t.name(name)
	t.b = strconv.AppendBool(t.b, v)
}

// trueIf omits false.
func (t *jsonText) trueIf(name string, v bool) {
	if v {
		t.truth(name, v)
	}
}

func (t *jsonText) time(name string, at time.Time) {
	t.name(name)
	b, err := at.AppendText(append(t.b, '"'))
	if err != nil {
		t.value(at)
		return
	}
	t.b = append(b, '"')
}

// other encodes a field that few values have by package encoding/json.
func (t *jsonText) other(name string, v any) {
	t.name(name)
	t.value(v)
}

func (t *jsonText) value(v any) {
	b := bytes.NewBuffer(t.b)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(t.escapeHTML)
	if err := enc.Encode(v); err != nil {
		panic("wire: a value must encode as JSON: " + err.Error())
	}
	t.b = bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// list encodes a list; nil is null.
func list[E any](t *jsonText, name string, of []E, one func(*jsonText, *E)) {
	t.name(name)
	if of == nil {
		t.b = append(t.b, "null"...)
		return
	}
	t.b = append(t.b, '[')
	for i := range of {
		t.name("")
		one(t, &of[i])
	}
	t.b = append(t.b, ']')
}

// listIf omits an empty list.
func listIf[E any](t *jsonText, name string, of []E, one func(*jsonText, *E)) {
	if len(of) > 0 {
		list(t, name, of, one)
	}
}

func oneText[S ~string](t *jsonText, s *S) { t.quote(string(*s)) }

const hex = "0123456789abcdef"

// plain holds the bytes that need no look: all of ASCII but control characters, quotes, backslashes, and what HTML reads.
var plain = func() (table [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		table[c] = !strings.ContainsRune(`"\<>&`, c)
	}
	return table
}()

// plainPrefix returns how many plain bytes a text begins with. It looks at eight at a time: a byte is less than another if subtracting that borrows from
// its highest bit, so that a byte that is not plain sets it, and so may the byte behind that one.
func plainPrefix(s string) int {
	const each, highest = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; len(s)-i >= 8; i += 8 {
		b := s[i : i+8]
		w := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 | uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		found := w | (w - ' '*each)               // beyond ASCII, and control characters
		found |= (w ^ '\\'*each) - each           // equal bytes are 0 after ^
		found |= ((w | 4*each) ^ '&'*each) - each // & and ", which differ by one bit
		found |= ((w | 2*each) ^ '>'*each) - each // < and >, likewise
		if found&highest != 0 {
			break
		}
	}
	for i < len(s) && plain[s[i]] {
		i++
	}
	return i
}

// quote appends a string.
func (t *jsonText) quote(s string) {
	b := append(t.b, '"')
	from := 0
	for i := 0; i < len(s); {
		if i += plainPrefix(s[i:]); i == len(s) {
			break
		}
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && n == 1:
				b = append(append(b, s[from:i]...), `\ufffd`...)
				from = i + n
			case r == '\u2028' || r == '\u2029': // ends of lines for JavaScript
				b = append(append(b, s[from:i]...), '\\', 'u', '2', '0', '2', hex[r&0xf])
				from = i + n
			}
			i += n
			continue
		}
		if !t.escapeHTML && (c == '<' || c == '>' || c == '&') {
			i++
			continue
		}
		b = append(append(b, s[from:i]...), '\\')
		switch c {
		case '"', '\\':
			b = append(b, c)
		case '\b':
			b = append(b, 'b')
		case '\f':
			b = append(b, 'f')
		case '\n':
			b = append(b, 'n')
		case '\r':
			b = append(b, 'r')
		case '\t':
			b = append(b, 't')
		default:
			b = append(b, 'u', '0', '0', hex[c>>4], hex[c&0xf])
		}
		i++
		from = i
	}
	t.b = append(append(b, s[from:]...), '"')
}

// appendBase64 appends bytes as JSON has them; nil is null.
func appendBase64(to, b []byte) []byte {
	if b == nil {
		return append(to, "null"...)
	}
	return append(base64.StdEncoding.AppendEncode(append(to, '"'), b), '"')
}

// float appends a number in its shortest form.
func (t *jsonText) float(f float64) {
	if a := math.Abs(f); a >= 1e-6 && a < 1e21 || f == 0 && !math.Signbit(f) {
		t.b = strconv.AppendFloat(t.b, f, 'f', -1, 64)
		return
	}
	t.value(f)
}

// fact appends a value as it comes from JSON.
func (t *jsonText) fact(v any) {
	switch v := v.(type) {
	case nil:
		t.b = append(t.b, "null"...)
	case string:
		t.quote(v)
	case float64:
		t.float(v)
	case bool:
		t.b = strconv.AppendBool(t.b, v)
	case []any:
		if v == nil {
			t.b = append(t.b, "null"...)
			return
		}
		t.b = append(t.b, '[')
		for i := range v {
			t.name("")
			t.fact(v[i])
		}
		t.b = append(t.b, ']')
	case map[string]any:
		if v == nil {
			t.b = append(t.b, "null"...)
			return
		}
		t.open()
		for _, name := range slices.Sorted(maps.Keys(v)) {
			t.name("")
			t.quote(name)
			t.b = append(t.b, ':')
			t.fact(v[name])
		}
		t.end()
	default:
		t.value(v)
	}
}
