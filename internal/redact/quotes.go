package redact

import (
	"encoding/json"
	"strings"
)

// secrets holds the secrets of the texts of one subject, to find them in texts that quote it. One of high entropy is found
// anywhere. Another one, which may be a word, is found only where the text around it is that of the place of the secret.
type secrets struct {
	anywhere table
	// places are the places of the others, by the secret.
	places map[string][]place
}

// place is the text before and after a secret in its line.
type place struct {
	before, after, kind string
	// whole means that the secret is all of a fact, which is quoted alone or in quotes, as in JSON.
	whole bool
}

// maxPlaces is how many places of one secret are compared with a quote, maxContext how many bytes before and after each.
const (
	maxPlaces  = 64
	maxContext = 200
)

func newSecrets() *secrets {
	return &secrets{anywhere: table{map[[4]byte][]int{}, map[string]string{}}, places: map[string][]place{}}
}

// add adds the secrets of a text.
func (k *secrets) add(text string, spans []span) {
	if k == nil {
		return
	}
	for _, s := range spans {
		secret := text[s.from:s.to]
		if k.anywhere.add(secret, s.kind); k.anywhere.kinds[secret] != "" || len(k.places[secret]) >= maxPlaces {
			continue
		}
		before, after := text[max(0, s.from-maxContext):s.from], text[s.to:min(len(text), s.to+maxContext)]
		before = before[strings.LastIndexByte(before, '\n')+1:]
		after, _, _ = strings.Cut(after, "\n")
		k.places[secret] = append(k.places[secret], place{before: before, after: after, kind: s.kind})
	}
}

// fact adds a secret that is the value of a fact.
func (k *secrets) fact(value, kind string) {
	escaped, _ := json.Marshal(value) //nolint:errchkjson // a string
	for _, form := range []string{value, string(escaped[1 : len(escaped)-1])} {
		if list := k.places[form]; len(list) < maxPlaces {
			k.places[form] = append(list, place{kind: kind, whole: true})
		}
	}
}

// replace replaces the secrets in another text, which has the spans of its own.
func (k *secrets) replace(text string, spans []span) string {
	for i := 0; i+minPassword <= len(text); i++ {
		if i+minSecret <= len(text) {
			if n, kind := k.anywhere.at(text, i); n > 0 {
				if s, ok := tokenAt(text, i, i+n, kind); ok {
					spans = append(spans, s)
				}
			}
		}
	}
	for secret, places := range k.places {
		for at := 0; ; at++ {
			i := strings.Index(text[at:], secret)
			if i < 0 {
				break
			}
			at += i
			for _, p := range places {
				if p.quoted(text, at, at+len(secret)) {
					spans = append(spans, span{at, at + len(secret), p.kind})
					break
				}
			}
		}
	}
	if len(spans) == 0 {
		return text
	}
	clean, _ := placed(text, ordered(spans))
	return clean
}

// quoted reports whether a part of a text quotes the place.
func (p *place) quoted(text string, from, to int) bool {
	before := text[strings.LastIndexByte(text[:from], '\n')+1 : from]
	after, _, _ := strings.Cut(text[to:], "\n")
	if p.whole {
		return (before == "" || strings.HasSuffix(before, `"`) || strings.HasSuffix(before, " ")) && (after == "" || after[0] == '"')
	}
	before, after = strings.TrimLeft(before, " \t"), strings.TrimRight(after, " \t\r")
	before, after = before[max(0, len(before)-maxContext):], after[:min(len(after), maxContext)]
	if strings.HasSuffix(p.before, before) && strings.HasPrefix(p.after, after) {
		return true
	}
	before, open := strings.CutPrefix(before, `"`) // a value as JSON
	after, closed := strings.CutSuffix(after, `"`)
	return open && closed && strings.HasSuffix(p.before, before) && strings.HasPrefix(p.after, after)
}
