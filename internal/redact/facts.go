package redact

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tenet/internal/wire"
)

// facts redacts the keys and the strings of facts. It returns facts without secrets as they are.
func (p *pass) facts(facts map[string]any) map[string]any {
	before := len(p.found)
	out, _ := p.value("facts", "", facts).(map[string]any)
	if len(p.found) == before {
		return facts
	}
	return out
}

// value redacts one value at a path and under a key.
func (p *pass) value(path, key string, v any) any {
	switch v := v.(type) {
	case string:
		return p.fact(path, key, v)
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = p.value(fmt.Sprintf("%s[%d]", path, i), key, inner)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			clean := p.fact(path, "", name)
			for _, taken := out[clean]; taken; _, taken = out[clean] {
				clean += "'" // two keys that were secrets of a kind
			}
			out[clean] = p.value(path+"."+clean, name, v[name])
		}
		return out
	}
	return v
}

// fact redacts a string. The rules see its key in front of it, because many look for a name such as api_key there.
func (p *pass) fact(path, key, s string) string {
	if secretNames[normal(key)] {
		scheme, value := schemeOf(s)
		if kind := valueKind(value); kind != "" {
			p.known.fact(value, kind)
			p.note(path, []wire.Redaction{{Kind: kind, Line: 1}})
			return scheme + Placeholder(kind)
		}
	}
	lead := ""
	if key != "" && len(key) <= before/2 && !strings.ContainsAny(key, "\n") {
		lead = key + `="`
	}
	clean, found := p.r.text(lead+s, p.known)
	rest, ok := strings.CutPrefix(clean, lead)
	if !ok { // the key itself holds a secret; its own redaction replaces it
		return p.text(path, s)
	}
	p.note(path, found)
	return rest
}

// secretNames are the keys whose every value is a secret.
var secretNames = map[string]bool{
	"password": true, "passwd": true, "passphrase": true, "clientsecret": true, "apikey": true, "secretkey": true,
	"accesstoken": true, "refreshtoken": true, "privatekey": true, "secretaccesskey": true, "authorization": true,
}

// normal returns a key in lower case and without joints.
func normal(key string) string { return strings.ToLower(joints.Replace(key)) }

var joints = strings.NewReplacer("_", "", "-", "", " ", "")

// WithheldKind is the kind of a fact that is replaced because its name is that of a secret, although it is more than one token.
// The judge does not see what it says, so a text with a placeholder of this kind counts as unexamined.
const WithheldKind = "password-text"

// valueKind returns the kind of the value of a secret name: password for one word without the signs of code or of high entropy,
// [WithheldKind] for other text, and nothing for a reference or a placeholder.
func valueKind(s string) string {
	switch {
	case len(s) < minSecret, strings.HasPrefix(s, "[redacted:"), reference(s):
		return ""
	case strings.ContainsAny(s, " \t\r\n\v\f"), strings.ContainsAny(s, "${}<>*()[];,|&\\\"'`=") && !highEntropy(s):
		return WithheldKind
	}
	return "password"
}

// reference reports whether a value names a variable or is masked.
func reference(s string) bool {
	return !strings.ContainsAny(s, " \t\r\n\v\f();") && (strings.HasPrefix(s, "$") || strings.Contains(s, "**") ||
		strings.HasPrefix(s, "{{") && strings.HasSuffix(s, "}}") || strings.HasPrefix(s, "<") && strings.HasSuffix(s, ">"))
}

// schemeOf cuts the scheme off the value of an Authorization header.
func schemeOf(s string) (scheme, value string) {
	for _, scheme := range []string{"Bearer ", "Basic ", "Token "} {
		if len(s) > len(scheme) && strings.EqualFold(s[:len(scheme)], scheme) {
			return s[:len(scheme)], s[len(scheme):]
		}
	}
	return "", s
}
