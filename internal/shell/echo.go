package shell

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// echo returns the output of echo; false if shells of the dialect print different texts.
func echo(args []string, d Dialect) (string, bool) {
	newline, escapes := true, false
	sure := true
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" {
		for _, c := range args[0][1:] {
			switch c {
			case 'n':
				newline = false
			default:
				escapes = c == 'e'
			}
		}
		sure = sure && (d == Bash || args[0] == "-n")
		args = args[1:]
		if d == Sh { // the first option only
			break
		}
	}
	if len(args) > 0 && (args[0] == "-" || d == Sh && strings.HasPrefix(args[0], "-")) {
		sure = false
	}
	text := strings.Join(args, " ")
	if strings.Contains(text, `\`) && !escapes {
		sure = false // dash and zsh read escapes without -e
	}
	if escapes {
		var stop, ok bool
		text, stop, ok = escaped(text, true)
		sure = sure && ok
		newline = newline && !stop
	}
	if newline {
		text += "\n"
	}
	return text, sure
}

// escaped returns a text with the escapes of echo -e, and of the format and %b of printf. Stop means that \c ends the output.
func escaped(text string, octalZero bool) (result string, stop, sure bool) {
	simple := map[byte]byte{'a': 7, 'b': 8, 'f': 12, 'n': 10, 'r': 13, 't': 9, 'v': 11, '\\': '\\'}
	var b strings.Builder
	sure = true
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			sure = sure && text[i] != '\\'
			b.WriteByte(text[i])
			continue
		}
		i++
		c := text[i]
		switch {
		case simple[c] != 0:
			b.WriteByte(simple[c])
		case c == 'c' && octalZero:
			return b.String(), true, sure
		case c >= '0' && c <= '7':
			most := 3
			if octalZero {
				if most = 4; c != '0' {
					sure = false
					most = 3
				}
			}
			code, digits := number(text[i:], 8, most)
			i += digits - 1
			sure = sure && code > 0 && code < 0x80
			b.WriteByte(byte(code))
		case c == 'x':
			code, digits := number(text[i+1:], 16, 2)
			i += digits
			sure = sure && digits > 0 && code > 0 && code < 0x80
			b.WriteByte(byte(code))
		case c == 'e' || c == 'E':
			b.WriteByte(27)
		default:
			sure = false
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String(), false, sure
}

// maxTurnsOfFormat bounds how often printf uses its format.
const maxTurnsOfFormat = 1000

// printf returns the output of printf: text, escapes, %%, %s, %b, %d and %c, without widths other than for %s and %d. It reports
// whether shells print another text, and whether the format is understood.
func printf(args []string, d Dialect) (text string, sure, ok bool) {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return "", false, false
	}
	format, args := args[0], args[1:]
	var b strings.Builder
	sure = true
	for range maxTurnsOfFormat {
		taken, stop, turnSure, fine := printOnce(&b, format, args, d)
		if !fine || b.Len() > maxText {
			return b.String(), false, false
		}
		sure = sure && turnSure
		if stop || taken >= len(args) || taken == 0 {
			return b.String(), sure, true
		}
		args = args[taken:]
	}
	return b.String(), false, false
}

// printOnce prints a format once and returns how many arguments it takes.
func printOnce(b *strings.Builder, format string, args []string, d Dialect) (taken int, stop, sure, ok bool) {
	sure = true
	next := func() string {
		taken++
		if taken > len(args) {
			return ""
		}
		return args[taken-1]
	}
	for format != "" {
		literal, rest, found := strings.Cut(format, "%")
		text, _, fine := escaped(literal, false)
		if d == Sh && (strings.Contains(literal, `\x`) || strings.Contains(literal, `\e`) || strings.Contains(literal, `\E`)) {
			fine = false
		}
		sure = sure && fine
		b.WriteString(text)
		if !found {
			break
		}
		if rest == "" {
			return taken, false, false, false
		}
		verb := rest[0]
		format = rest[1:]
		switch verb {
		case '%':
			b.WriteByte('%')
		case 's':
			b.WriteString(next())
		case 'b':
			arg := next()
			text, end, fine := escaped(arg, true)
			sure = sure && fine && (d == Bash || !strings.Contains(arg, `\x`) && !strings.ContainsAny(text, "\x1b"))
			b.WriteString(text)
			if end {
				return taken, true, sure, true
			}
		case 'c':
			arg := next()
			r, n := utf8.DecodeRuneInString(arg)
			sure = sure && arg != "" && r < utf8.RuneSelf
			b.WriteString(arg[:n])
		case 'd':
			arg := next()
			n, err := strconv.Atoi(arg)
			if err != nil || strconv.Itoa(n) != arg {
				return taken, false, false, false
			}
			b.WriteString(arg)
		default:
			return taken, false, false, false
		}
	}
	return taken, false, sure, true
}
