package redact

import (
	_ "embed"
	"math"
	"strings"
)

// A secret is drawn at random from its alphabet; the names and words of a program are not. So a token is compared with two
// ways to have come about, by the bits that each needs to write it down: letter after letter as in the words of a program,
// and uniformly from the smallest alphabet that has its characters (minimum description length). A token of words needs 3 to
// 4 bits a letter in the first way, and 4 to 6 in the second; a random one needs 6 to 8 in the first.

// Bounds of [randomness], in bits.
const (
	// minOdds is by how much a token must be cheaper as random text than as words where a rule finds it by the name in front of
	// it only: twice as likely.
	minOdds = 1
	// minOddsOfForm is the same for a token that has the form of one kind of secret. Of random tokens of ten letters and
	// digits one in a hundred is below it, of sixteen one in a thousand.
	minOddsOfForm = -3
	// maxOddsOfWord is how little random a piece of a token must be to count as a word in it.
	maxOddsOfWord = -6
	// maxOddsOfShortWord is the same for a piece of letters in the case of a word, as random text hardly ever has it.
	maxOddsOfShortWord = 5
	// minBits is the entropy from which a secret is replaced wherever it occurs, and not only where a rule finds it. NIST SP
	// 800-63B (section 7.1) and the Session Management Cheat Sheet of OWASP demand it of the secret of a session.
	minBits = 64
	// minOddsElsewhere is minOdds for those, so that no name of a program is among them: a million to one.
	minOddsElsewhere = 20
)

// randomness compares the ways in which a token can have come about. Bits is its entropy if it is random; odds is by how many
// bits that is cheaper than to write it as words, below 0 for words.
func randomness(token string) (bits, odds float64) {
	words, before := wordBits(token)
	bits = uniformBits(token)
	least := bits
	// Many secrets begin with words that name their kind, such as sk_live_.
	for i := 1; i < len(token) && i <= maxPrefix; i++ {
		if class[token[i-1]]&(upper|lower|digit) != 0 {
			continue
		}
		if rest := uniformBits(token[i:]); before[i]+rest < least {
			least, bits = before[i]+rest, rest
		}
	}
	return bits, words - least
}

// maxPrefix is the length of the longest prefix that names the kind of a secret.
const maxPrefix = 24

// highEntropy reports whether a token is a secret wherever it occurs.
func highEntropy(token string) bool {
	bits, odds := randomness(token)
	return bits >= minBits && odds >= minOddsElsewhere
}

// alphabets are the sizes of the alphabets of secrets, by the classes of their characters; hex digits apart.
var alphabets = [...]float64{
	lower: 26, upper: 26, lower | upper: 52, digit: 10, digit | lower: 36, digit | upper: 36, digit | lower | upper: 62,
}

// uniformBits returns what a token needs if each of its characters is drawn from the smallest alphabet that has them all.
func uniformBits(token string) float64 {
	var kinds uint8
	hex, others := true, 0
	for i := range len(token) {
		c := token[i]
		k := class[c] & (upper | lower | digit)
		if k == 0 {
			others++
			continue
		}
		kinds |= k
		hex = hex && (k == digit || c|0x20 <= 'f')
	}
	size := alphabets[kinds]
	if hex && kinds&digit != 0 && kinds != digit {
		if size = 16; kinds == upper|lower|digit {
			size = 22
		}
	}
	n := float64(len(token) - others)
	// A base64 text has two characters besides in 64, a UUID or a chain of tokens a joint in eight or more.
	return alphabetBits + n*math.Log2(max(size, 1)) + float64(others)*jointBits
}

const (
	alphabetBits = 3 // to name one of eight alphabets
	jointBits    = 4 // a character that is no letter and no digit
)

// pairTable has the costs of letters in the words of programs, in half bits: a line for each letter and one for the start of
// a word, each with a sign per next letter, A for 0. It was counted in the source of Go; see TestPairTable.
//
//go:embed pairs.txt
var pairTable string

// pairBits are the bits of a letter after another one; row 26 is for the first of a word.
var pairBits = func() (bits [27][26]float64) {
	for i, line := range strings.Fields(pairTable) {
		for j := range 26 {
			bits[i][j] = float64(line[j]-'A') / 2
		}
	}
	return bits
}()

// turns are the bits of a class of character after another one in the names of programs: rows and columns are lower, upper,
// digit, other. Counted with pairTable.
var turns = [4][4]float64{
	{0.3, 3.5, 4.7, 3.6},
	{1.4, 0.9, 3.9, 4.0},
	{3.0, 2.5, 0.6, 3.3},
	{0.8, 1.4, 4.0, 5.0},
}

// wordBits returns what a token needs as words of a program, and what each of its beginnings needs.
func wordBits(token string) (bits float64, before []float64) {
	before = make([]float64, 0, 64)
	last, letter := 3, 26
	for i := range len(token) {
		before = append(before, bits)
		c := token[i]
		var now int
		switch class[c] {
		case lower:
			now = 0
		case upper:
			now = 1
		case digit:
			now = 2
		default:
			now = 3
		}
		bits += turns[last][now]
		switch {
		case now == 2:
			bits += math.Log2(10)
		case now == 3:
			bits += 1
		default:
			if last > 1 || last == 0 && now == 1 { // a word begins
				letter = 26
			}
			next := int(c|0x20) - 'a'
			bits += pairBits[letter][next]
			letter = next
		}
		last = now
	}
	return bits, before
}
