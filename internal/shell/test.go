package shell

import (
	"errors"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// bracket runs [ ... ].
func (t call) bracket(args []string) {
	if len(args) == 0 || args[len(args)-1] != "]" {
		t.unsure("[ without ] is not followed")
		return
	}
	t.test(args[:len(args)-1])
}

// test runs test with up to four arguments.
func (t call) test(args []string) {
	not := false
	if len(args) > 2 && args[0] == "!" {
		not, args = true, args[1:]
	}
	t.last = unsureStatus
	switch len(args) {
	case 0:
		t.last = failed
	case 1:
		t.last = statusOf(args[0] != "")
	case 2:
		t.last = t.unary(args[0], args[1])
	case 3:
		t.last = t.binary(args[0], args[1], args[2])
	}
	if not && t.last != unsureStatus {
		t.last = statusOf(t.last == failed)
	}
}

func (t call) unary(op, arg string) status {
	switch op {
	case "!":
		return statusOf(arg == "")
	case "-z":
		return statusOf(arg == "")
	case "-n":
		return statusOf(arg != "")
	case "-e", "-f", "-d", "-L", "-h", "-s":
	default:
		return unsureStatus
	}
	if arg == "" {
		return failed
	}
	real, n, err := t.tree.resolve(t.absolute(arg), op != "-L" && op != "-h")
	switch {
	case errors.Is(err, errUnsure):
		return unsureStatus
	case err != nil || n == nil:
		return failed
	}
	switch op {
	case "-f":
		return statusOf(n.kind == Regular)
	case "-d":
		return statusOf(n.kind == Folder)
	case "-L", "-h":
		return statusOf(n.kind == Link)
	case "-s":
		if n.kind != Regular || t.tree.load(real, n) != nil || n.guess {
			return unsureStatus
		}
		return statusOf(n.text != "")
	}
	return succeeded
}

func (t call) binary(left, op, right string) status {
	switch op {
	case "=":
		return statusOf(left == right)
	case "!=":
		return statusOf(left != right)
	}
	l, lerr := strconv.Atoi(left)
	r, rerr := strconv.Atoi(right)
	if lerr != nil || rerr != nil || strconv.Itoa(l) != left || strconv.Itoa(r) != right {
		return unsureStatus
	}
	switch op {
	case "-eq":
		return statusOf(l == r)
	case "-ne":
		return statusOf(l != r)
	case "-lt":
		return statusOf(l < r)
	case "-le":
		return statusOf(l <= r)
	case "-gt":
		return statusOf(l > r)
	case "-ge":
		return statusOf(l >= r)
	}
	return unsureStatus
}

// testClause runs [[ ... ]].
func (t flow) testClause(x syntax.TestExpr) status {
	e := t.expander()
	operand := func(x syntax.TestExpr) (Word, bool) {
		w, ok := x.(*syntax.Word)
		if !ok {
			return Word{}, false
		}
		text := e.text(w, false)
		return text, text.Known
	}
	switch x := x.(type) {
	case *syntax.ParenTest:
		return t.testClause(x.X)
	case *syntax.Word:
		w, ok := operand(x)
		if !ok {
			return unsureStatus
		}
		return statusOf(w.Text != "")
	case *syntax.UnaryTest:
		if x.Op == syntax.TsNot {
			s := t.testClause(x.X)
			if s == unsureStatus {
				return s
			}
			return statusOf(s == failed)
		}
		w, ok := operand(x.X)
		if !ok {
			return unsureStatus
		}
		return call(t).unary(x.Op.String(), w.Text)
	case *syntax.BinaryTest:
		if x.Op == syntax.AndTest || x.Op == syntax.OrTest {
			l, r := t.testClause(x.X), t.testClause(x.Y)
			if l == unsureStatus || r == unsureStatus {
				return unsureStatus
			}
			if x.Op == syntax.AndTest {
				return statusOf(l == succeeded && r == succeeded)
			}
			return statusOf(l == succeeded || r == succeeded)
		}
		l, lok := operand(x.X)
		r, rok := operand(x.Y)
		if !lok || !rok {
			return unsureStatus
		}
		pattern := strings.ContainsAny(r.Text, `*?[\(|`)
		switch x.Op {
		case syntax.TsMatchShort, syntax.TsMatch:
			if !pattern {
				return statusOf(l.Text == r.Text)
			}
		case syntax.TsNoMatch:
			if !pattern {
				return statusOf(l.Text != r.Text)
			}
		default:
		}
	}
	return unsureStatus
}
