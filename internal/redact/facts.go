package redact

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// facts redacts the keys and the strings of facts. It returns the facts themselves if there is no secret in them.
func (r *Redactor) facts(facts map[string]any) (map[string]any, []Found) {
	if len(facts) == 0 {
		return facts, nil
	}
	w := walk{r: r}
	out, _ := w.value("facts", "", facts).(map[string]any)
	if len(w.found) == 0 {
		return facts, nil
	}
	return out, w.found
}

type walk struct {
	r     *Redactor
	found []Found
}

// value redacts one value, which stands at a path and under a key.
func (w *walk) value(path, key string, v any) any {
	switch v := v.(type) {
	case string:
		return w.text(path, key, v)
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = w.value(fmt.Sprintf("%s[%d]", path, i), key, inner)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			clean := w.text(path, "", name)
			for _, taken := out[clean]; taken; _, taken = out[clean] {
				clean += "'" // two keys that were secrets of a kind
			}
			out[clean] = w.value(path+"."+clean, name, v[name])
		}
		return out
	}
	return v
}

// text redacts a string. Its key is shown to the detector, which looks for names like api_key in front of a secret.
func (w *walk) text(path, key, s string) string {
	note := func(kind string) {
		w.found = append(w.found, Found{Kind: kind, Where: path, Line: 1})
	}
	if secretNames[normal(key)] && plain(s) {
		note("password")
		return Placeholder("password")
	}
	lead := ""
	if key != "" && len(key) <= before/2 && !strings.ContainsAny(key, "\n") {
		lead = key + `="`
	}
	clean, found := w.r.Text(lead + s)
	if len(found) == 0 {
		return s
	}
	rest, ok := strings.CutPrefix(clean, lead)
	if !ok { // the key itself holds a secret; it is redacted where it stands as a key
		rest, found = w.r.Text(s)
	}
	for _, f := range found {
		w.found = append(w.found, Found{Kind: f.Kind, Where: path, Line: f.Line})
	}
	return rest
}

// secretNames are keys whose value is a secret whatever it looks like.
var secretNames = map[string]bool{
	"password": true, "passwd": true, "passphrase": true, "clientsecret": true, "apikey": true, "secretkey": true,
	"accesstoken": true, "refreshtoken": true, "privatekey": true, "secretaccesskey": true, "authorization": true,
}

// normal makes keys that differ in case and joints equal.
func normal(key string) string { return strings.ToLower(joints.Replace(key)) }

var joints = strings.NewReplacer("_", "", "-", "", " ", "")

// plain reports whether a value may be a secret rather than a reference to one, or a word about it.
func plain(s string) bool {
	return len(s) >= minSecret && !strings.ContainsAny(s, "${}<>*") && !strings.HasPrefix(s, "[redacted:")
}
