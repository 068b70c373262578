package redact

import (
	"slices"
	"strings"

	"tenet/internal/wire"
)

// A redaction must not hide code, whatever an author writes around it. So its shape is fixed, and nothing else can be
// replaced: a span is a piece of one line, made of the characters of secrets. It holds no blank, bracket, quote, semicolon,
// comma or backslash, and so no statement, call or string ends or begins in it. What a rule finds beyond that is narrowed to
// the tokens in it that are random; see narrow.

// span is a token to replace. Only tokenAt makes one.
type span struct {
	from, to int
	kind     string
}

// minSecret is the length of the shortest secret that a rule finds, minPassword that of a password whose place is certain.
const (
	minSecret   = 6
	minPassword = 4
)

// tokenAt returns the span of a token, or false if a part of a text is none.
func tokenAt(text string, from, to int, kind string) (span, bool) {
	if to <= from {
		return span{}, false
	}
	for i := from; i < to; i++ {
		if !tokenByte(text, i) {
			return span{}, false
		}
	}
	return span{from, to, kind}, true
}

// tokenByte reports whether the byte at an offset of a text can belong to a token: a letter, a digit, a joint, a sign of
// base64, or a byte of a percent-encoded one.
func tokenByte(text string, i int) bool {
	c := text[i]
	if class[c] != 0 || strings.IndexByte(joiners, c) >= 0 || c == '!' || c == '@' {
		return true
	}
	return c == '%' && i+2 < len(text) && isHex(text[i+1]) && isHex(text[i+2])
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }

// joiners are the characters of tokens that are operators in code. A token is cut there into pieces that are judged alone.
const joiners = "-.+/=~"

// narrow returns the spans of the part of a text that a rule takes for a secret.
func narrow(text string, from, to int, kind string) []span {
	switch kind {
	case privateKeyKind:
		return nil // privateKey reads them
	case "curl-auth-user":
		return login(text, from, to, kind)
	case "curl-auth-header": // its place is certain too
		if password(text[from:to]) {
			if s, ok := tokenAt(text, from, to, kind); ok {
				return []span{s}
			}
		}
	case "jwt-base64": // the rule takes a few of its characters
		for from > 0 && class[text[from-1]] != 0 {
			from--
		}
		for to < len(text) && class[text[to]] != 0 {
			to++
		}
	}
	var out []span
	for i := from; i < to; {
		if !tokenByte(text, i) || strings.IndexByte("!@", text[i]) >= 0 {
			i++
			continue
		}
		end := i + 1
		for end < to && tokenByte(text, end) && strings.IndexByte("!@", text[end]) < 0 {
			end++
		}
		out = append(out, randomParts(text, i, end, kind)...)
		i = end
	}
	return out
}

// Lengths from which a piece of a token is a word: beside a value that only its name makes a secret, and in a token that has
// the form of a secret, where groups of four or five capitals are common.
const (
	shortWord = 4
	longWord  = 6
)

// word reports whether a piece of a token is a word, which stays whatever is beside it: least letters or more in the case of a
// word, or a longer name. Two in a thousand random pieces of ten characters count as words.
func word(piece string, least int) bool {
	if len(piece) < least {
		return false
	}
	_, odds := randomness(piece)
	if len(piece) >= longWord && odds < maxOddsOfWord {
		return true
	}
	if odds >= maxOddsOfShortWord {
		return false
	}
	hex := true
	for i := range len(piece) {
		k := class[piece[i]]
		if k&(upper|lower) == 0 || i > 1 && k != class[piece[i-1]] || i == 1 && k == upper && class[piece[0]] == lower {
			return false
		}
		hex = hex && isHex(piece[i])
	}
	return !hex
}

// named reports whether the name in front of a value, and not its form, makes it a secret for a rule.
func named(kind string) bool { return strings.Contains(kind, "generic") }

// randomParts returns the parts of a token without the words in it. Words at the begin of a form belong to it.
func randomParts(text string, from, to int, kind string) []span {
	least := longWord
	if named(kind) {
		least = shortWord
	}
	var out []span
	start, end := -1, -1 // of the part, without joiners at its ends
	flush := func() {
		if start >= 0 && random(text[start:end], kind) && !called(text, start, end) {
			for end < to && text[end] == '=' { // padding
				end++
			}
			if s, ok := tokenAt(text, start, end, kind); ok {
				out = append(out, s)
			}
		}
		start = -1
	}
	for i := from; i < to; {
		if strings.IndexByte(joiners, text[i]) >= 0 {
			i++
			continue
		}
		j := i
		for j < to && strings.IndexByte(joiners, text[j]) < 0 {
			j++
		}
		if word(text[i:j], least) && (start >= 0 || named(kind)) {
			flush()
		} else {
			if start < 0 {
				start = i
			}
			end = j
		}
		i = j
	}
	flush()
	return out
}

// Lengths of the longest piece of a token: shorter ones make a formula, or a name such as ECDHE-RSA-AES128-GCM-SHA256.
const (
	minPiece         = 5
	minPieceOfNamed  = 10 // as long as the shortest value that the generic rule takes
	minPieceOfRandom = 8  // of a token that is a million times likelier to be random
)

// random reports whether a token may be replaced where a rule of a kind finds it.
func random(token, kind string) bool {
	if len(token) < minSecret {
		return false
	}
	_, odds := randomness(token)
	if !named(kind) {
		return odds >= minOddsOfForm && longestPiece(token, joiners) >= min(minPiece, len(token))
	}
	longest := longestPiece(token, joiners+"_")
	return odds >= minOdds && (longest >= minPieceOfNamed || odds >= minOddsElsewhere && longest >= minPieceOfRandom || serial(token))
}

func longestPiece(token, joints string) (longest int) {
	for piece := range strings.FieldsFuncSeq(token, func(r rune) bool { return strings.ContainsRune(joints, r) }) {
		longest = max(longest, len(piece))
	}
	return longest
}

// serial reports whether a token has the form of a serial number: three or more groups of four or more characters, all equally long.
func serial(token string) bool {
	groups := strings.Split(token, "-")
	return len(groups) >= 3 && len(groups[0]) >= 4 && !slices.ContainsFunc(groups, func(g string) bool { return len(g) != len(groups[0]) })
}

// called reports whether a token outside quotes is called: whether it is a name.
func called(text string, from, to int) bool {
	return to < len(text) && text[to] == '(' && (from == 0 || strings.IndexByte("\"'`", text[from-1]) < 0)
}

// login returns the password in a part of a text such as user:password, and the user if it is random or alone.
func login(text string, from, to int, kind string) (out []span) {
	user, _, ok := strings.Cut(text[from:to], ":")
	if !ok || strings.Contains(text[from:to], "\n") {
		return nil
	}
	at := from + len(user)
	first, last := trimmed(text, from, at), trimmed(text, at+1, to)
	if s, ok := tokenAt(text, first[0], first[1], kind); ok && s.to-s.from >= minSecret {
		if _, odds := randomness(text[s.from:s.to]); odds >= minOdds {
			out = append(out, s)
		}
	}
	if password(text[last[0]:last[1]]) {
		if s, ok := tokenAt(text, last[0], last[1], kind); ok {
			out = append(out, s)
		}
	}
	return out
}

// trimmed returns the bounds of a part of a text without blanks and quotes around it.
func trimmed(text string, from, to int) [2]int {
	for from < to && strings.IndexByte(" \t\"'`", text[from]) >= 0 {
		from++
	}
	for to > from && strings.IndexByte(" \t\"'`", text[to-1]) >= 0 {
		to--
	}
	return [2]int{from, to}
}

// password reports whether a text in the place of a password is one token: letters, digits, - . _ ~ + @ and percent-encoded
// bytes, with = and ! at its end.
func password(s string) bool {
	if len(s) < minPassword {
		return false
	}
	body := strings.TrimRight(s, "=!")
	for i := range len(body) {
		if strings.IndexByte("=!/", body[i]) >= 0 || !tokenByte(s, i) {
			return false
		}
	}
	return body != ""
}

// ordered sorts spans and joins those that overlap. Two tokens that overlap are parts of one, since no byte of either is a
// byte between tokens.
func ordered(spans []span) []span {
	slices.SortStableFunc(spans, func(a, b span) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return b.to - a.to
	})
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.from < out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// placed puts placeholders in the place of spans, which are in order.
func placed(text string, spans []span) (string, []wire.Redaction) {
	var b strings.Builder
	found := make([]wire.Redaction, 0, len(spans))
	line, at := 1, 0
	for _, s := range spans {
		line += strings.Count(text[at:s.from], "\n")
		b.WriteString(text[at:s.from])
		b.WriteString(Placeholder(s.kind))
		found = append(found, wire.Redaction{Kind: s.kind, Line: line})
		at = s.to
	}
	b.WriteString(text[at:])
	return b.String(), found
}
