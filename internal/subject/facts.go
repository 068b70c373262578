package subject

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"tenet/internal/rule"
)

// normalFacts copies facts into the types that encoding/json decodes into, so that the subject shares nothing with its
// caller and equal facts have one form.
func normalFacts(p *rule.Problems, facts map[string]any) map[string]any {
	w := factWalk{problems: p, left: MaxFactsNodes}
	out, _ := w.value(facts).(map[string]any)
	return out
}

// maxFactProblems is how many problems of facts Build reports.
const maxFactProblems = 20

type factWalk struct {
	problems *rule.Problems
	path     []string // of the current value below facts; joined only for a problem, since keys may be long
	left     int      // values until the limit
	count    int
	stopped  bool
}

// value normalises one value. The result for a bad value does not matter: it makes Build fail.
func (w *factWalk) value(v any) any {
	if w.left--; w.left < 0 {
		w.problem("brings facts to more than %d values", MaxFactsNodes)
		w.stopped = true
		return nil
	}
	switch v := v.(type) {
	case nil, bool:
		return v
	case string:
		w.text(v)
		return v
	case float64:
		return w.number(v)
	case float32:
		return w.number(float64(v))
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			f = math.NaN()
		} else if !rule.KeepsNumber(v.String()) {
			w.problem("is a number that 64 bits do not keep; use at most 15 digits, or a string")
			return nil
		}
		return w.number(f)
	case map[string]any:
		return w.object(v)
	case []any:
		return w.list(v)
	default:
		w.problem("is a %T; use JSON values", v)
		return nil
	}
}

func (w *factWalk) object(v map[string]any) any {
	if w.tooDeep() {
		return nil
	}
	out := make(map[string]any, len(v))
	for key, inner := range v {
		if w.stopped {
			return nil
		}
		w.path = append(w.path, "."+key)
		w.text(key)
		out[key] = w.value(inner)
		w.path = w.path[:len(w.path)-1]
	}
	return out
}

func (w *factWalk) list(v []any) any {
	if w.tooDeep() {
		return nil
	}
	out := make([]any, 0, len(v))
	for i, inner := range v {
		if w.stopped {
			return nil
		}
		w.path = append(w.path, fmt.Sprintf("[%d]", i))
		out = append(out, w.value(inner))
		w.path = w.path[:len(w.path)-1]
	}
	return out
}

func (w *factWalk) tooDeep() bool {
	if len(w.path) < MaxFactsDepth {
		return false
	}
	w.problem("is more than %d levels deep", MaxFactsDepth)
	return true
}

func (w *factWalk) number(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		w.problem("is not a number that fits in 64 bits")
		return nil
	}
	return f
}

func (w *factWalk) text(s string) {
	switch {
	case !utf8.ValidString(s):
		w.problem("is not valid UTF-8")
	case strings.IndexByte(s, 0) >= 0:
		w.problem("holds a NUL character")
	}
}

// problem notes that the current value is wrong.
func (w *factWalk) problem(format string, args ...any) {
	const longest = 40 // bytes of a key in a message
	field := "facts"
	for _, piece := range w.path {
		if len(piece) > longest {
			piece = piece[:longest] + "..."
		}
		field += piece
	}
	field = strings.ReplaceAll(strings.ToValidUTF8(field, "\uFFFD"), "\x00", "\uFFFD")
	w.problems.Add(field, format, args...)
	w.count++
	w.stopped = w.stopped || w.count == maxFactProblems
}

// factsJSON encodes facts as JSON with sorted keys and unescaped characters, over several lines if indent is not empty. It
// returns "" for facts that do not encode, which a built subject never has.
func factsJSON(facts map[string]any, indent string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(facts); err != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}
