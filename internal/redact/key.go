package redact

import (
	"strings"
)

// privateKeyKind is the kind of the lines of a private key.
const privateKeyKind = "private-key"

// Bounds of private keys.
const (
	maxKeyLines = 400 // read of one key
	// shortKeyLine and longKeyLine bound the lines of a key: 64 by RFC 7468 and OpenPGP, 70 by OpenSSH, 76 by MIME. A key without
	// line ends is one line that may be longer.
	shortKeyLine = 64
	longKeyLine  = 76
	maxKeyLine   = 16 << 10
)

// privateKey reads the private key whose head begins at from. It returns its lines as spans, and where they end. Text between
// head and foot that is no line of a key stays: headers, comments and whatever an author puts there.
func privateKey(text string, from int) (lines []span, end int) {
	head, _, _ := strings.Cut(text[from:min(len(text), from+200)], "\n")
	_, rest, ok := strings.Cut(head, "PRIVATE KEY")
	if !ok {
		return nil, from
	}
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, " BLOCK"), "-----")
	// The key continues in the line of its head where line ends are written as \n.
	end = from + len(head) - len(rest)
	added := text[strings.LastIndexByte(text[:from], '\n')+1] == '+' // in a diff
	width, last := 0, false
	for range maxKeyLines {
		line, _, more := strings.Cut(text[end:], "\n")
		if strings.Contains(line, "-----BEGIN") {
			break
		}
		body, _, closed := strings.Cut(line, "-----END")
		at := end
		for piece := range strings.SplitSeq(body, `\n`) {
			a, b := keyLine(text, at, at+len(piece), width, added && at == end)
			at += len(piece) + len(`\n`)
			if a == b {
				continue
			}
			n := b - a
			if last && text[a] != '=' || width == 0 && n < shortKeyLine {
				continue // a short line is the last one
			}
			full := width == 0 || n == width
			if s, ok := tokenAt(text, a, b, privateKeyKind); ok && keyText(text[a:b], full) {
				lines = append(lines, s)
				width, last = max(width, n), !full
			}
		}
		end += len(line)
		if closed || !more || len(lines) > 0 && strings.Trim(line, " \t\r+-") == "" {
			break
		}
		end++
	}
	return lines, end
}

// keyLine returns the part of a line that may be a line of a key, without indentation, quotes, and the mark of a diff; an empty
// one for another line. A width of 0 means that it is the first. In an added line of a diff, a plus is before it.
func keyLine(text string, from, to, width int, added bool) (a, b int) {
	if from < to && (text[from] == '-' || added && text[from] == '+') {
		from++
	}
	for from < to && strings.IndexByte(" \t\r\"'`", text[from]) >= 0 {
		from++
	}
	for to > from && strings.IndexByte(" \t\r\"'`,;\\", text[to-1]) >= 0 {
		to--
	}
	n := to - from
	if width == 0 && n > longKeyLine && n <= maxKeyLine || n <= longKeyLine && (width == 0 || n <= width) {
		return from, to
	}
	return from, from
}

// keyText reports whether a token is random base64: its signs with padding at its end, and no word between them.
func keyText(s string, full bool) bool {
	body := strings.TrimRight(s, "=")
	if len(s)-len(body) > 2 || len(body) < minSecret {
		return false
	}
	for piece := range strings.FieldsFuncSeq(body, func(r rune) bool { return r == '+' || r == '/' }) {
		for i := range len(piece) {
			if class[piece[i]]&(upper|lower|digit) == 0 {
				return false
			}
		}
		if word(piece, longWord) {
			return false
		}
	}
	if full && (longestPiece(body, "+/") < minPieceOfNamed || entropy(body) < minKeyEntropy) {
		return false
	}
	bits, odds := randomness(body)
	if full {
		return bits >= minBits && odds >= minOddsElsewhere
	}
	return odds >= minOdds
}

// minKeyEntropy is the entropy of a whole line, in bits a character, that Yelp's detect-secrets demands of base64 by default is
// 4.5. Lines of the begin of a key have long runs of A, so it is less here.
const minKeyEntropy = 3.5
