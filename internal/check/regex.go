package check

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"tenet/internal/text"
)

// Limits on regular expressions.
const (
	// maxInst bounds the instructions of a compiled expression, and so its memory and the time per byte of text.
	maxInst = 3_000
	// maxMatch bounds the length of a text times the instructions of its expression, since a match cannot be interrupted. The
	// worst text for the worst expression takes some 10 ns for each.
	maxMatch = 500_000_000
)

// regex is a compiled RE2 expression.
type regex struct {
	*regexp.Regexp
	syntax *syntax.Regexp
	inst   int
}

// compileRegex compiles an expression. The error names the offending part.
func compileRegex(source string) (*regex, error) {
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, regexError(err)
	}
	inst := instructions(parsed)
	if inst > maxInst {
		return nil, fmt.Errorf("the expression is too large: about %d steps, at most %d; use fewer or smaller repetitions", inst, maxInst)
	}
	re, err := regexp.Compile(source)
	if err != nil {
		return nil, regexError(err)
	}
	return &regex{re, parsed, inst}, nil
}

func regexError(err error) error {
	wrong, ok := errors.AsType[*syntax.Error](err)
	if !ok {
		return err
	}
	message := fmt.Sprintf("%s: `%s`", wrong.Code, text.Fit(wrong.Expr, maxShort, "..."))
	// Go takes a look-behind for the name of a group.
	behind := strings.HasPrefix(wrong.Expr, "(?<=") || strings.HasPrefix(wrong.Expr, "(?<!")
	if wrong.Code == syntax.ErrInvalidPerlOp || wrong.Code == syntax.ErrInvalidEscape || behind {
		message += "; RE2 has no look-around and no back references"
	}
	return errors.New(message)
}

// instructions returns an upper bound of the size of the compiled expression, without compiling it: the compiler writes
// repetitions out, so a short expression may be huge. Above maxInst it is not exact.
func instructions(re *syntax.Regexp) int {
	n := 1
	for _, sub := range re.Sub {
		if n += instructions(sub); n > maxInst {
			return n
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		n += len(re.Rune)
	case syntax.OpCharClass:
		n += len(re.Rune) / 16 // ranges of characters, such as those of \pL
	case syntax.OpRepeat:
		n *= max(re.Min, re.Max, 1) + 1
	}
	return n
}

// fits reports whether the expression may be matched against a text of so many bytes at once.
func (r *regex) fits(bytes int) bool { return bytes <= maxMatch/r.inst }
