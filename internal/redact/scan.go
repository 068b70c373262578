package redact

import (
	"strings"
)

// Limits of windows. A run is a sequence of letters, digits, _ and -. All are bytes, except minMixed.
const (
	minRun    = 10   // the shortest run that may be a secret
	minValue  = 16   // the shortest run with few digits that may be a secret as a value
	minMixed  = 3    // changes between letter and digit, which no word has
	minCaps   = 16   // the shortest run of capitals alone, such as an access key
	before    = 96   // copied from before a run: many rules want a name and an equals sign there
	behind    = 24   // copied from after it
	longRun   = 4096 // a longer run is an embedded file: windows copies only its ends
	longLogin = 300  // the longest user and password in an address
)

// windows returns the parts of a text that may hold a secret, one below the other, for the rules to read, and the secrets
// that it finds without rules. A possible secret is a run in which letters and digits alternate, a run that is the value of
// something, a run of capitals, or the rest of a line that names curl.
func windows(text string) (suspicious string, secrets []secret) {
	var b strings.Builder
	copied := 0 // the end of the text that is in b
	include := func(from, to int) {
		from, to = boundary(text, max(from, 0), -1), boundary(text, min(to, len(text)), +1)
		if from = max(from, copied); from >= to {
			return
		}
		if from > copied && b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(text[from:to])
		copied = to
	}
	keyEnd := 0
	for i := 0; i < len(text); {
		if class[text[i]] == 0 {
			if text[i] == ':' && strings.HasPrefix(text[i:], "://") {
				if password := login(text[i+3:]); password != "" {
					secrets = append(secrets, secret{text: ":" + password + "@", kind: "url-password", keep: 1})
				}
			}
			i++
			continue
		}
		from := i
		end, kinds, mixed := runAt(text, from)
		i = end
		switch n := i - from; {
		case from < keyEnd: // inside a private key
		case n >= minRun && text[from] == '-' && strings.HasPrefix(text[from:], "-----BEGIN"):
			var lines []secret
			if lines, keyEnd = privateKey(text, from); len(lines) > 0 {
				secrets = append(secrets, lines...)
			}
		case n >= longRun && kinds&digit != 0:
			include(from-before, from+longRun/8)
			include(i-longRun/8, i+behind)
		case n >= minRun && mixed >= minMixed, n >= minValue && mixed > 0 && isValue(text[:from]), n >= minCaps && kinds&(upper|lower|joint) == upper:
			include(from-before, i+behind)
		case n == len("curl") && text[from:i] == "curl":
			include(from, i+longLogin)
		}
	}
	return b.String(), secrets
}

// runAt returns the end of the run that begins at from, the classes of its bytes, and its changes between letter and digit.
func runAt(text string, from int) (end int, kinds uint8, mixed int) {
	last := class[text[from]]
	kinds = last
	for end = from + 1; end < len(text) && class[text[end]] != 0; end++ {
		c := class[text[end]]
		if (last|c)&digit != 0 && (last&c)&digit == 0 && (last|c)&joint == 0 {
			mixed++
		}
		last, kinds = c, kinds|c
	}
	return end, kinds, mixed
}

// Classes of the bytes that runs are made of.
const (
	upper = 1 << iota
	lower
	digit
	joint
)

var class = func() (c [256]uint8) {
	for b := range c {
		switch {
		case 'A' <= b && b <= 'Z':
			c[b] = upper
		case 'a' <= b && b <= 'z':
			c[b] = lower
		case '0' <= b && b <= '9':
			c[b] = digit
		case b == '_' || b == '-':
			c[b] = joint
		}
	}
	return c
}()

// isValue reports whether a value follows a text: whether it ends in an equals sign, a colon or a quote.
func isValue(text string) bool {
	text = strings.TrimRight(text[max(0, len(text)-4):], " ")
	return text != "" && strings.IndexByte("=:\"'`>", text[len(text)-1]) >= 0
}

// boundary moves at in the direction of step to the nearest place outside a run, at most 64 bytes away.
func boundary(text string, at, step int) int {
	for range 64 {
		if at == 0 || at == len(text) || class[text[at-1]] == 0 || class[text[at]] == 0 {
			break
		}
		at += step
	}
	return at
}

// login returns the password of an address such as user:password@host, which begins after the slashes.
func login(address string) string {
	address = address[:min(len(address), longLogin)]
	end := strings.IndexAny(address, " \t\r\n\"'`<>/|\\")
	if end >= 0 {
		address = address[:end]
	}
	at := strings.LastIndexByte(address, '@')
	if at < 0 {
		return ""
	}
	_, password, ok := strings.Cut(address[:at], ":")
	if !ok || strings.ContainsAny(password, "${}()[]%*") { // a variable, or masked already
		return ""
	}
	return password
}

// privateKeyKind is the kind of the lines of a private key.
const privateKeyKind = "private-key"

// maxKeyLines is how many lines of a private key privateKey reads.
const maxKeyLines = 400

// privateKey reads the private key whose head begins at from, up to its foot or to an empty line. It returns the secret lines
// and the end of the key; no lines for another text.
func privateKey(text string, from int) (lines []secret, end int) {
	head, _, _ := strings.Cut(text[from:min(len(text), from+200)], "\n")
	if !strings.Contains(head, "PRIVATE KEY") {
		return nil, from
	}
	// The key continues in the line of its head where line ends are written as \n.
	_, rest, _ := strings.Cut(text[from:], "PRIVATE KEY")
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, " BLOCK"), "-----")
	end = len(text) - len(rest)
	for range maxKeyLines {
		line, _, more := strings.Cut(text[end:], "\n")
		body, _, closed := strings.Cut(line, "-----END")
		for piece := range strings.SplitSeq(body, `\n`) {
			if piece = strings.Trim(piece, " \t\r+-\"'`,;"); keyText(piece) {
				lines = append(lines, secret{text: piece, kind: privateKeyKind})
			}
		}
		end += len(line)
		if closed || !more || (len(lines) > 0 && strings.Trim(line, " \t\r+-") == "" && end > len(text)-len(rest)+1) {
			break
		}
		end++
	}
	// The lines are secret here only. Otherwise an author could hide a word of the code by putting it into a key.
	for i := range lines {
		lines[i].from, lines[i].to = from, end
	}
	return lines, end
}

// wordLength is the length from which a run of letters is no word.
const wordLength = 40

// keyText reports whether s may be a line of a key: base64 without blanks, and no word.
func keyText(s string) bool {
	return len(s) >= minSecret && (len(s) >= wordLength || strings.ContainsAny(s, "0123456789+/=")) && strings.IndexFunc(s, func(r rune) bool {
		return r > 0x7f || class[byte(r)] == 0 && r != '+' && r != '/' && r != '=' //nolint:gosec // ASCII, checked before
	}) < 0
}
