package redact

import (
	"strings"
)

// Limits of windows. A run is a sequence of letters, digits, _ and -. All are bytes, except minMixed.
const (
	minRun    = 10   // the shortest run that may be a secret
	minValue  = 16   // the shortest run with few digits that may be a secret as a value
	minMixed  = 3    // changes between letter and digit, which no word has
	minMarked = 14   // the shortest run that begins as one kind of secret does
	minCaps   = 16   // the shortest run of capitals alone, such as an access key
	before    = 96   // copied from before a run: many rules want a name and an equals sign there
	behind    = 24   // copied from after it
	longRun   = 4096 // a longer run is an embedded file: windows copies only its ends
	longLogin = 300  // the longest user and password in an address
)

// window is a part of a text, copied to an offset of another one.
type window struct{ at, from, to int }

// windows returns the parts of a text that may hold a secret, one below the other, for the rules to read, where they come from,
// and the secrets that it finds without rules. A possible secret is a run in which letters and digits alternate, a run that is the value of
// something, a run of capitals, or the rest of a line that names curl.
func windows(text string) (suspicious string, places []window, secrets []span) {
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
		if n := len(places); from == copied && n > 0 {
			places[n-1].to = to
		} else {
			places = append(places, window{b.Len(), from, to})
		}
		b.WriteString(text[from:to])
		copied = to
	}
	keyEnd := 0
	for i := 0; i < len(text); {
		if class[text[i]] == 0 {
			if text[i] == ':' && strings.HasPrefix(text[i:], "://") {
				if p, ok := urlPassword(text, i+len("://")); ok {
					secrets = append(secrets, p)
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
		case n >= minRun && text[from] == '-' && (strings.HasPrefix(text[from:], "-----BEGIN") || strings.HasPrefix(text[from:], "------BEGIN")):
			var lines []span
			lines, keyEnd = privateKey(text, from)
			secrets = append(secrets, lines...)
		case n >= longRun && kinds&digit != 0:
			include(from-before, from+longRun/8)
			include(i-longRun/8, i+behind)
		case n >= minRun && mixed >= minMixed, n >= minValue && mixed > 0 && isValue(text[:from]), n >= minCaps && kinds&(upper|lower|joint) == upper,
			n >= minMarked && marked(text[from:i]):
			include(from-before, i+behind)
		case n == len("curl") && text[from:i] == "curl":
			include(from, i+longLogin)
		}
	}
	return b.String(), places, secrets
}

// marked reports whether a run begins as the tokens of Hugging Face, Slack or GitLab do, in which letters and digits may not alternate.
func marked(run string) bool {
	switch run[0] {
	case 'a', 'h', 'x':
		return strings.HasPrefix(run, "api_org_") || strings.HasPrefix(run, "hf_") || strings.HasPrefix(run, "xox")
	case 'g':
		return run[1] == 'l' && strings.IndexByte(run[4:8], '-') >= 0
	}
	return false
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

// password returns where the password of an address is, such as user:password@host, which begins at from, after the slashes.
func urlPassword(text string, from int) (span, bool) {
	address := text[from:min(len(text), from+longLogin)]
	if end := strings.IndexAny(address, " \t\r\n\"'`<>/|\\?#"); end >= 0 {
		address = address[:end]
	}
	at := strings.LastIndexByte(address, '@')
	if at < 0 {
		return span{}, false
	}
	user, secret, ok := strings.Cut(address[:at], ":")
	if !ok || !password(secret) { // a variable, or masked already
		return span{}, false
	}
	return tokenAt(text, from+len(user)+1, from+at, "url-password")
}
