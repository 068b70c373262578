package api

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
)

func (s *scan) text(sh *shape, raw []byte) error {
	if sh.kind != text && sh.kind != anything {
		return s.problem("must be %s, not a string", sh.kind.noun())
	}
	if !sh.binary && holdsNUL(raw) {
		return s.problem("holds a NUL character")
	}
	if sh.shortest == 0 && sh.longest < 0 && sh.enum == nil && !sh.dateTime {
		return nil
	}
	unquoted, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return err
	}
	value := string(unquoted)
	n := utf8.RuneCountInString(value)
	switch {
	case n < sh.shortest || (sh.longest >= 0 && n > sh.longest):
		return s.problem("has %d characters; %s", n, sh.allowed())
	case sh.enum != nil && !slices.ContainsFunc(sh.enum, func(e string) bool { return strings.EqualFold(e, value) }):
		return s.problem("is %q; use one of %s", cut(value, maxValue), strings.Join(sh.enum, ", "))
	case sh.dateTime:
		if _, err := parseTime(value); err != nil {
			return s.problem("%s", err.Error())
		}
	}
	return nil
}

// holdsNUL reports whether a quoted JSON string holds the character NUL, which JSON can only write as an escape.
func holdsNUL(raw []byte) bool {
	for rest := raw; ; {
		at := bytes.Index(rest, []byte(`\u0000`))
		if at < 0 {
			return false
		}
		slashes := 0 // that lead up to this one; an odd number escapes it
		for i := len(raw) - len(rest) + at - 1; i >= 0 && raw[i] == '\\'; i-- {
			slashes++
		}
		if slashes%2 == 0 {
			return true
		}
		rest = rest[at+1:]
	}
}

func (s *scan) number(sh *shape, raw string) error {
	shown := cut(raw, maxValue)
	switch sh.kind { //nolint:exhaustive // the rest is no number
	case integer:
		if n, err := strconv.ParseInt(raw, 10, 64); err == nil {
			return s.within(sh, float64(n), shown)
		} else if errors.Is(err, strconv.ErrRange) {
			return s.problem("is %s; %s", shown, sh.rangeText())
		}
		return s.problem("must be an integer without fraction and exponent, not %s", shown)
	case number, anything:
		x, err := strconv.ParseFloat(raw, 64)
		if err != nil {
			return s.problem("is %s, which does not fit into a 64-bit number", shown)
		}
		return s.within(sh, x, shown)
	}
	return s.problem("must be %s, not a number", sh.kind.noun())
}

func (s *scan) within(sh *shape, x float64, shown string) error {
	if (sh.min != nil && x < *sh.min) || (sh.max != nil && x > *sh.max) {
		return s.problem("is %s; %s", shown, sh.rangeText())
	}
	return nil
}

// rangeText words the bounds of a number.
func (sh *shape) rangeText() string {
	switch {
	case sh.min != nil && sh.max != nil:
		return fmt.Sprintf("use %g to %g", *sh.min, *sh.max)
	case sh.min != nil:
		return fmt.Sprintf("use %g or more", *sh.min)
	case sh.max != nil:
		return fmt.Sprintf("use %g or less", *sh.max)
	}
	return "use a smaller one"
}

// parseTime parses an RFC 3339 time. Years outside 1 to 9999 in UTC are refused: they could not be written again.
func parseTime(s string) (time.Time, error) {
	var t time.Time
	if err := t.UnmarshalText([]byte(s)); err != nil {
		return t, errors.New("must be a time of RFC 3339, such as 2026-01-31T09:30:00Z")
	}
	if t = t.UTC(); t.Year() < 1 || t.Year() > 9999 {
		return t, errors.New("must be a time in the years 1 to 9999")
	}
	return t, nil
}

// allowed words the bounds on a length.
func (sh *shape) allowed() string {
	if sh.longest < 0 {
		return fmt.Sprintf("at least %d are needed", sh.shortest)
	}
	if sh.shortest == 0 {
		return fmt.Sprintf("at most %d are allowed", sh.longest)
	}
	return fmt.Sprintf("use %d to %d", sh.shortest, sh.longest)
}
