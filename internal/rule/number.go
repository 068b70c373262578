package rule

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// MaxWholeNumber is the largest number below which every whole number is a 64-bit number of its own. Checks leave the comparison of
// larger ones open where they seem equal.
const MaxWholeNumber = 1<<53 - 1

// exactDigits is how many digits of a decimal a 64-bit number always keeps.
const exactDigits = 15

// KeepsNumber reports whether a decimal, as JSON writes it, stays on its side of every bound when it becomes a 64-bit number: 1000.1
// does, and 1000.0000000000000000001 becomes 1000. A decimal is kept if the number, written with as many digits, is that decimal again. Numbers beyond
// [MaxWholeNumber] count as kept.
func KeepsNumber(decimal string) bool {
	digits, _, scientific := strings.Cut(strings.ToLower(decimal), "e")
	if !scientific && len(digits) <= exactDigits {
		return true
	}
	x, err := strconv.ParseFloat(decimal, 64)
	if err != nil {
		return false
	}
	digits = strings.TrimLeft(strings.Replace(strings.TrimPrefix(digits, "-"), ".", "", 1), "0")
	digits = strings.TrimRight(digits, "0")
	switch {
	case digits == "":
		return true
	case math.Abs(x) > MaxWholeNumber:
		return true
	case x == 0:
		return false
	}
	again, _, _ := strings.Cut(strconv.FormatFloat(math.Abs(x), 'e', len(digits)-1, 64), "e")
	return strings.Replace(again, ".", "", 1) == digits
}

// LostNumber returns the first number in a JSON text that [KeepsNumber] rejects. It looks no further than the text is valid.
func LostNumber(text []byte) (decimal string, found bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return "", false
		}
		if n, ok := token.(json.Number); ok && !KeepsNumber(n.String()) {
			return n.String(), true
		}
	}
}
