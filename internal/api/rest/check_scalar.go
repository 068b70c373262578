package rest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"tenet/internal/rule"
)

// text checks a quoted string.
func (c *check) text(s *Schema, raw []byte) error {
	if s.Type != typeString {
		if err := c.want(s, typeString, "a string"); err != nil || s.Type != "" || s.OneOf != nil {
			return err
		}
	}
	if !s.AllowNUL && holdsNUL(raw) {
		return c.problem("holds a NUL character")
	}
	if s.MinLength == nil && s.MaxLength == nil && s.Enum == nil && s.Format != "date-time" {
		return nil
	}
	unquoted, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return err
	}
	value := string(unquoted)
	if wrong := s.length(value); wrong != "" {
		return c.problem("%s", wrong)
	}
	switch {
	case s.Enum != nil && indexFold(s.Enum, value) < 0:
		return c.problem("is %q; use one of %s", Clip(value, maxValue), strings.Join(s.Enum, ", "))
	case s.Format == "date-time":
		if _, err := ParseTime(value); err != nil {
			return c.problem("%s", err.Error())
		}
	}
	return nil
}

// indexFold finds a value in any letter case.
func indexFold(values []string, value string) int {
	return slices.IndexFunc(values, func(v string) bool { return strings.EqualFold(v, value) })
}

// length says what is wrong with the length of a string, or returns "".
func (s *Schema) length(value string) string {
	n := utf8.RuneCountInString(value)
	if (s.MinLength != nil && n < *s.MinLength) || (s.MaxLength != nil && n > *s.MaxLength) {
		return fmt.Sprintf("has %d characters; %s", n, lengths(s.MinLength, s.MaxLength))
	}
	return ""
}

// lengths words the bounds of a length.
func lengths(shortest, longest *int) string {
	switch {
	case longest == nil:
		return fmt.Sprintf("at least %d are needed", *shortest)
	case shortest == nil:
		return fmt.Sprintf("at most %d are allowed", *longest)
	}
	return fmt.Sprintf("use %d to %d", *shortest, *longest)
}

// holdsNUL reports whether a quoted JSON string holds the character NUL, which JSON can only write as an escape.
func holdsNUL(raw []byte) bool {
	for rest := raw; ; {
		at := bytes.Index(rest, []byte(`\u0000`))
		if at < 0 {
			return false
		}
		slashes := 0 // before this one; an odd number escapes it
		for i := len(raw) - len(rest) + at - 1; i >= 0 && raw[i] == '\\'; i-- {
			slashes++
		}
		if slashes%2 == 0 {
			return true
		}
		rest = rest[at+1:]
	}
}

func (c *check) number(s *Schema, raw string) error {
	shown := Clip(raw, maxValue)
	var x float64
	switch {
	case s.Type == typeInteger:
		digits, ok := whole(raw)
		if !ok {
			return c.problem("must be an integer, not %s", shown)
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return c.problem("is %s; %s", shown, s.bounds())
		}
		if digits != raw {
			end := c.base + c.dec.InputOffset()
			c.respelled = append(c.respelled, respelled{end - int64(len(raw)), end, digits})
		}
		x = float64(n)
	case s.Type == typeNumber, s.Type == "" && s.OneOf == nil:
		var err error
		if x, err = strconv.ParseFloat(raw, 64); err != nil {
			return c.problem("is %s, which does not fit into a 64-bit number", shown)
		}
		if !rule.KeepsNumber(raw) {
			return c.problem("is %s, which a 64-bit number does not keep: it would become %s; send at most 15 digits, or a string", shown, strconv.FormatFloat(x, 'g', -1, 64))
		}
	default:
		return c.wrongType(s, "a number")
	}
	if s.outside(x) {
		return c.problem("is %s; %s", shown, s.bounds())
	}
	return nil
}

// maxExponent bounds the exponents that whole writes out: no integer of 64 bits has so many digits.
const maxExponent = 400

// whole returns a JSON number in digits alone if it is an integer: 53.0 and 5.3e1 are 53, as JSON Schema says.
func whole(raw string) (digits string, ok bool) {
	sign := ""
	if rest, negative := strings.CutPrefix(raw, "-"); negative {
		sign, raw = "-", rest
	}
	mantissa, power, scientific := strings.Cut(strings.ToLower(raw), "e")
	units, fraction, _ := strings.Cut(mantissa, ".")
	exponent := 0
	if scientific {
		n, err := strconv.Atoi(power)
		if err != nil || n > maxExponent || n < -maxExponent {
			n = maxExponent + 1
			if strings.HasPrefix(power, "-") {
				n = -n
			}
		}
		exponent = n
	}
	fraction = strings.TrimRight(fraction, "0")
	all := strings.TrimLeft(units+fraction, "0")
	switch point := len(units) + exponent; {
	case all == "":
		return "0", true
	case exponent > maxExponent:
		return sign + strings.Repeat("9", maxExponent), true // too large for every bound
	case exponent >= len(fraction):
		return sign + all + strings.Repeat("0", exponent-len(fraction)), true
	case exponent >= 0 || point <= 0:
		return "", false
	default:
		cut := units + fraction
		if strings.Trim(cut[point:], "0") != "" {
			return "", false
		}
		return sign + strings.TrimLeft(cut[:point], "0"), true
	}
}

func (s *Schema) outside(x float64) bool {
	return (s.Minimum != nil && x < *s.Minimum) || (s.Maximum != nil && x > *s.Maximum)
}

// bounds words the bounds of a number.
func (s *Schema) bounds() string {
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		return fmt.Sprintf("use %s to %s", plain(*s.Minimum), plain(*s.Maximum))
	case s.Minimum != nil:
		return fmt.Sprintf("use %s or more", plain(*s.Minimum))
	case s.Maximum != nil:
		return fmt.Sprintf("use %s or less", plain(*s.Maximum))
	}
	return "use a smaller one"
}

// plain writes a number without an exponent.
func plain(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// ParseTime parses an RFC 3339 time. It refuses years outside 1 to 9999 in UTC, which could not be written again.
func ParseTime(s string) (time.Time, error) {
	var t time.Time
	if err := t.UnmarshalText([]byte(s)); err != nil {
		return t, errors.New("must be a time of RFC 3339, such as 2026-01-31T09:30:00Z")
	}
	if t = t.UTC(); t.Year() < 1 || t.Year() > 9999 {
		return t, errors.New("must be a time in the years 1 to 9999")
	}
	return t, nil
}
