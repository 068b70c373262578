package norm

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"tenet/internal/corpus"
)

// Set is the content words of a text in the form in which they are compared: the stems of words, one of several synonyms.
type Set map[string]bool

func (s Set) add(t word) {
	if w := t.key(); w != "" {
		s[w] = true
	}
}

// Within reports whether all words of s are in other.
func (s Set) Within(other Set) bool {
	for w := range s {
		if !other[w] {
			return false
		}
	}
	return true
}

// Minus returns the words of s that are not in other, in order.
func (s Set) Minus(other Set) []string {
	var out []string
	for _, w := range slices.Sorted(maps.Keys(s)) {
		if !other[w] {
			out = append(out, w)
		}
	}
	return out
}

func union(sets ...Set) Set {
	out := Set{}
	for _, s := range sets {
		maps.Copy(out, s)
	}
	return out
}

// word is a word, number or piece of code of a statement.
type word struct {
	text string // in lower case, except code
	// written is the text as it was, where text has a plainer word for it, such as disabled for switched off.
	written string
	code    bool // was between backticks
	// end is the punctuation mark behind it: a comma, a semicolon, the end of a sentence ('.'), or 0.
	end byte
	// from and to are its place in the text, in bytes.
	from, to int
}

// key is the word as it is compared; empty for words without content.
func (w word) key() string {
	if w.code {
		return w.text
	}
	if noContent[w.text] {
		return ""
	}
	stem := corpus.Stem(w.base())
	if same, ok := synonyms()[stem]; ok {
		return same
	}
	if at := strings.LastIndexByte(stem, '-'); at > 0 && stem == w.text { // force-pushing is to force-push
		return stem[:at+1] + corpus.Stem(stem[at+1:])
	}
	return stem
}

// base is the base form of an irregular verb, and the text of any other word.
func (w word) base() string {
	if base, ok := irregular()[w.text]; ok && !w.code {
		return base
	}
	return w.text
}

// maxWords bounds the words of a statement that are looked at.
const maxWords = 300

// tokens divides a text into words. It leaves out parentheses, which explain.
func tokens(text string) []word {
	var out []word
	depth := 0
	for i := 0; i < len(text) && len(out) < maxWords; {
		c, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth = max(0, depth-1)
		case depth > 0:
		case c == '`':
			if code, n := backticks(text[i:]); n > 0 {
				out = append(out, word{text: code, code: true, from: i, to: i + n})
				i += n
				continue
			}
		case inWord(c) || currency[c] != "":
			n := wordLength(text[i:])
			out = append(out, word{text: plainWord(text[i : i+n]), from: i, to: i + n})
			i += n
			continue
		case len(out) > 0:
			out[len(out)-1].mark(c, text[i+size:])
			if c == '%' {
				out[len(out)-1].to = i + size
			}
		}
		i += size
	}
	return joinPhrases(out)
}

// mark notes the punctuation mark behind a word.
func (w *word) mark(c rune, rest string) {
	switch c {
	case ',':
		w.end = ','
	case ';', '!', '?', '\n':
		w.end = '.'
	case '.', ':':
		if next, _ := utf8.DecodeRuneInString(rest); rest == "" || unicode.IsSpace(next) {
			w.end = '.'
		}
	case '%':
		w.text += "%"
	}
}

// backticks returns the code at the beginning of a text and its length with the marks; 0 without a second mark.
func backticks(text string) (code string, n int) {
	end := strings.IndexByte(text[1:], '`')
	if end < 1 {
		return "", 0
	}
	return text[1 : 1+end], end + 2
}

func inWord(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }

// wordLength is the bytes of the word that a text begins with. Words hold marks such as those of don't, 1,000, 1.2, os.environ and read-only.
func wordLength(text string) int {
	_, n := utf8.DecodeRuneInString(text)
	for n < len(text) {
		c, size := utf8.DecodeRuneInString(text[n:])
		if !inWord(c) {
			next, _ := utf8.DecodeRuneInString(text[n+size:])
			before, _ := utf8.DecodeLastRuneInString(text[:n])
			inner := strings.ContainsRune("'’.-_/:", c) || (c == ',' && unicode.IsDigit(before) && unicode.IsDigit(next))
			if !inner || !inWord(next) {
				break
			}
		}
		n += size
	}
	return n
}

func plainWord(text string) string {
	text = strings.ReplaceAll(strings.ToLower(text), "’", "'")
	return strings.TrimSuffix(text, "'s")
}

// words of a list, by word.
func list(lines ...string) map[string]bool {
	out := map[string]bool{}
	for _, line := range lines {
		for w := range strings.FieldsSeq(line) {
			out[w] = true
		}
	}
	return out
}

// noContent are words that say nothing about what a rule is about.
var noContent = list(
	"a an the this that these those it its they them their he she his her we our you your i my who which what whose there here",
	"be is are was were been being am do does did has had get gets got become becomes",
	"and or nor but so as than then also too both either neither just even still yet very",
	"of in on at to from by with for into onto over under about against between through via per within upon among toward towards across",
	"all any every each some no not never always ever whatever whenever wherever everyone everybody anyone anybody",
	"must shall should may might can could will would need needs needed ought have-to",
	"if when while where unless except until once during",
	"please ensure ensures sure make that's it's e.g i.e etc only least most others such",
)

// synonyms maps several words of like meaning to the one by which they are compared, as stems.
var synonyms = sync.OnceValue(func() map[string]string { return groups(synonymLines...) })

var synonymLines = []string{
	"use employ utilis util utilize utilise usage",
	"store save persist",
	"keep retain retent kept preserv",
	"delet remov eras purg destroy discard dispos wipe",
	"send sent transmit",
	"allow Permit accept author grant",
	"approv approve sign-off",
	"enabl activ turn-on",
	"contain include have",
	"chang modif edit alter updat amend rotat renew",
	"password passphras passcod",
	"repli respond answer respons",
	"pay paid payment settl remuner",
	"write written wrote",
	"run ran execut",
	"encrypt cipher",
	"employe staff",
	"custom client",
	"charact char",
	"email e-mail mail",
	"secret credenti",
	"revie review",
	"deploy releas",
	"complet finish",
	"mfa two-factor multi-factor 2fa",
	"invoic bill",
	"share disclos",
	"person peopl",
	"photograph photographi photo",
	"do perform conduct happen done made made",
}

func groups(lines ...string) map[string]string {
	out := map[string]string{}
	for _, line := range lines {
		all := strings.Fields(line)
		for _, w := range all {
			out[w] = all[0]
			out[corpus.Stem(w)] = all[0]
		}
	}
	return out
}

// opposites turn a verb into the one that it is the opposite of, by stem.
var opposites = sync.OnceValue(func() map[string]string { return stems(oppositeWords) })

var oppositeWords = map[string]string{
	"disable": "enable", "deactivate": "enable", "exclude": "include", "omit": "include", "deny": "allow", "reject": "allow", "refuse": "allow",
	"disallow": "allow", "block": "allow", "hide": "show", "unencrypted": "encrypted", "unsigned": "signed", "unhashed": "hashed",
	"unverified": "verified", "unapproved": "approved", "unreviewed": "reviewed", "unauthenticated": "authenticated",
}

func stems(m map[string]string) map[string]string {
	out := map[string]string{}
	for from, to := range m {
		out[corpus.Stem(from)] = word{text: to}.key()
	}
	return out
}

// Key returns a plain word as it is compared; empty for one without content.
func Key(w string) string { return word{text: w}.key() }

// Words returns the content words of a text.
func Words(text string) Set {
	out := Set{}
	for _, t := range tokens(text) {
		out.add(t)
	}
	return out
}

// imperatives are verbs that begin a demand, as in "Use parameterised queries". Rules for code are mostly written so.
var imperatives = list(
	"add allow always apply approve archive ask assign attach audit authenticate avoid back bind build call cap catch check choose cite close",
	"collect commit compare configure confirm construct contain convert copy create declare default define delete deny deploy derive describe",
	"disable disallow disclose do document drop enable encode encrypt end enforce ensure escape expose fail follow forbid format get give grant",
	"group handle hash have hide import include inform initialise initialize inject join keep label leave let limit link list load lock log make",
	"mark mask match merge mock move name never normalise normalize notify obtain open order pass pay pin place prefer prefix protect provide",
	"publish put read record redact refuse reject release remove rename replace report request require reserve restrict retain return review",
	"revoke rotate run sanitise sanitize save select send separate set show sign sort specify split start state stop store submit tag tell test",
	"throw track treat trim turn update use validate verify version wait wrap write",
)

// Imperative reports whether a sentence that begins with a word, in lower case, may be an order: the word is a verb that orders often begin
// with. It may also be a noun, such as log and test.
func Imperative(w string) bool { return imperatives[w] }
