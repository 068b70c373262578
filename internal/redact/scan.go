package redact

import (
	"strings"
)

// What windows looks for, in bytes.
const (
	minRun    = 10   // of letters and digits that may be a secret
	minValue  = 16   // of a run that is a value and has few digits
	minMixed  = 3    // changes between letter and digit in a run that no word has
	minCaps   = 16   // of capitals and digits alone, as access keys with few digits are
	before    = 96   // shown in front of a run: detectors want a name and an equals sign there
	behind    = 24   // shown behind it
	longRun   = 4096 // a longer one is an embedded file: only its ends are shown
	longLogin = 300  // of user and password in an address
)

// windows returns the pieces of text that a detector of secrets has to see, one below the other, and the secrets that need
// no detector. A secret is a run of letters and digits in which these alternate, or which is the value of something; of
// capitals and digits alone; or it stands in a line that names curl. All else, most of any text, need not be read by expressions.
func windows(text string) (suspicious string, secrets []secret) {
	var b strings.Builder
	shown := 0 // text before it is in b already
	show := func(from, to int) {
		from, to = boundary(text, max(from, 0), -1), boundary(text, min(to, len(text)), +1)
		if from = max(from, shown); from >= to {
			return
		}
		if from > shown && b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(text[from:to])
		shown = to
	}
	keyEnd := 0
	for i := 0; i < len(text); {
		c := class[text[i]]
		if c == 0 {
			if text[i] == ':' && strings.HasPrefix(text[i:], "://") {
				if password := login(text[i+3:]); password != "" {
					secrets = append(secrets, secret{text: ":" + password + "@", kind: "url-password", keep: 1})
				}
			}
			i++
			continue
		}
		from, kinds, mixed := i, c, 0
		for i++; i < len(text) && class[text[i]] != 0; i++ {
			next := class[text[i]]
			if (c|next)&digit != 0 && (c&next)&digit == 0 && (c|next)&joint == 0 {
				mixed++
			}
			c, kinds = next, kinds|next
		}
		switch n := i - from; {
		case from < keyEnd: // inside a private key
		case n >= minRun && text[from] == '-' && strings.HasPrefix(text[from:], "-----BEGIN"):
			var lines []secret
			if lines, keyEnd = privateKey(text, from); len(lines) > 0 {
				secrets = append(secrets, lines...)
			}
		case n >= longRun && kinds&digit != 0:
			show(from-before, from+longRun/8)
			show(i-longRun/8, i+behind)
		case n >= minRun && mixed >= minMixed, n >= minValue && mixed > 0 && isValue(text[:from]), n >= minCaps && kinds&(upper|lower|joint) == upper:
			show(from-before, i+behind)
		case n == len("curl") && text[from:i] == "curl":
			show(from, i+longLogin)
		}
	}
	return b.String(), secrets
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

// isValue reports whether what follows a text is the value of something: behind an equals sign, a colon or a quote.
func isValue(text string) bool {
	text = strings.TrimRight(text[max(0, len(text)-4):], " ")
	return text != "" && strings.IndexByte("=:\"'`>", text[len(text)-1]) >= 0
}

// boundary moves at to the nearest place in a direction that is not inside a run, at most one run's usual length away.
func boundary(text string, at, step int) int {
	for range 64 {
		if at == 0 || at == len(text) || class[text[at-1]] == 0 || class[text[at]] == 0 {
			break
		}
		at += step
	}
	return at
}

// login returns the password of an address whose text begins behind the slashes, such as user:password@host.
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
	if !ok || strings.ContainsAny(password, "${}()[]%*") { // a variable to be filled in, or masked already
		return ""
	}
	return password
}

// privateKeyKind is what a line of a private key looks like.
const privateKeyKind = "private-key"

// maxKeyLines is how many lines of a private key are looked at.
const maxKeyLines = 400

// privateKey reads the lines of a private key whose head begins at from, up to its foot or to where the text is no longer
// that of a key. It returns the secret lines and where the key ends. Text that is no private key has none.
func privateKey(text string, from int) (lines []secret, end int) {
	head, _, _ := strings.Cut(text[from:min(len(text), from+200)], "\n")
	if !strings.Contains(head, "PRIVATE KEY") {
		return nil, from
	}
	// Behind the head the key goes on in the same line where line ends are written as \n.
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
	// Only there: anybody can pass a word off as a line of a key, and it must not vanish from code that way.
	for i := range lines {
		lines[i].from, lines[i].to = from, end
	}
	return lines, end
}

// wordLength is the length from which letters alone are no word.
const wordLength = 40

// keyText reports whether s may be a line of a key: base64 without blanks, and no word.
func keyText(s string) bool {
	return len(s) >= minSecret && (len(s) >= wordLength || strings.ContainsAny(s, "0123456789+/=")) && strings.IndexFunc(s, func(r rune) bool {
		return r > 0x7f || class[byte(r)] == 0 && r != '+' && r != '/' && r != '=' //nolint:gosec // ASCII, checked before
	}) < 0
}
