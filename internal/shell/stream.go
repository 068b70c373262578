package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// streamKind is the kind of an open file.
type streamKind int

// Kinds of open files. Outside is that of the caller of the program: nothing is known of what comes from it, and what goes there is
// no file.
const (
	outside streamKind = iota
	null               // /dev/null
	opened             // a file of the tree
	capture            // an output that the program reads itself
	given              // a text: of a here-document or a pipe
	closed
)

// stream is an open file of the shell; copies of a descriptor share it.
type stream struct {
	kind     streamKind
	name     string // real
	node     *node
	offset   int
	appends  bool
	read     bool // it is open for reading
	write    bool
	text     string // what has been captured, or the rest of what is given
	guess    bool   // the text is not certain
	consumed bool   // all of the text has been read
}

// output writes to the standard output. Sure means that the text is certain.
func (t *tracer) output(text string, sure bool) {
	s := t.fds[1]
	switch {
	case s == nil || s.kind == closed:
		t.unsure("a command writes to a descriptor that is not open")
	case s.kind == capture:
		s.guess = s.guess || !sure
		t.tree.grow(len(text))
		if len(s.text)+len(text) > maxFileBytes {
			t.unsure("an output has more than %d MiB", maxFileBytes>>20)
			return
		}
		s.text += text
	case s.kind == opened:
		t.fileOutput(s, text, sure)
	case s.kind == given:
		t.unsure("a command writes to a descriptor that is open for reading")
	}
}

func (t *tracer) fileOutput(s *stream, text string, sure bool) {
	if !s.write {
		t.unsure("a command writes to a descriptor that is open for reading")
		return
	}
	if !sure {
		t.unsure("a text that is written to %s is not known", s.name)
		s.node.guess = true
	}
	if text == "" {
		return
	}
	at := s.offset
	if s.appends {
		at = len(s.node.text)
	}
	old := s.node.text
	if at+len(text) > maxFileBytes {
		t.unsure("%s becomes larger than %d MiB", s.name, maxFileBytes>>20)
		return
	}
	if at > len(old) {
		old += strings.Repeat("\x00", at-len(old))
	}
	result := old[:at] + text
	if len(result) < len(old) {
		result += old[len(result):]
	}
	s.offset = at + len(text)
	t.tree.put(s.name, s.node, result)
	if t.tree.nodes[s.name] != s.node {
		t.unsure("%s is moved or removed while it is open", s.name)
	}
}

// input reads the rest of the standard input; false if it is not known.
func (t *tracer) input() (string, bool) {
	s := t.fds[0]
	switch {
	case s == nil || s.kind == closed:
		t.unsure("a command reads a descriptor that is not open")
		return "", false
	case s.kind == null:
		return "", true
	case s.kind == given:
		text := s.text
		s.text, s.consumed = "", true
		return text, !s.guess
	case s.kind == opened && s.read:
		text := s.node.text
		if t.tree.nodes[s.name] != s.node {
			t.unsure("%s is moved or removed while it is open", s.name)
		}
		t.tree.reads[s.name] = true
		text = text[min(s.offset, len(text)):]
		s.offset = len(s.node.text)
		return text, !s.node.guess
	}
	return "", false
}

// redirects makes the redirections of a command in the present descriptors. It reports whether all of them succeed.
func (t *tracer) redirects(e *expander, list []*syntax.Redirect) bool {
	seen := map[int]bool{}
	for _, r := range list {
		fd := 1
		switch r.Op {
		case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			fd = 0
		default:
		}
		if r.N != nil {
			n, err := strconv.Atoi(r.N.Value)
			if err != nil || n > 9 {
				t.unsure("the descriptor %s is not followed", r.N.Value)
				n = 9
			}
			fd = n
		}
		if seen[fd] {
			t.unsure("shells read this in several ways: two redirections of one descriptor")
		}
		seen[fd] = true
		if !t.redirect(e, r, fd) {
			return false
		}
	}
	return true
}

func (t *tracer) redirect(e *expander, r *syntax.Redirect, fd int) bool {
	if r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc {
		text := e.document(r)
		t.fds[fd] = &stream{kind: given, text: text.Text, guess: !text.Known}
		return true
	}
	before := len(t.reasons)
	word := e.text(r.Word, false)
	pattern := strings.ContainsAny(word.Text, "*?[{") || strings.HasPrefix(word.Text, "~")
	if r.Op == syntax.WordHdoc {
		if t.dialect == Sh {
			t.unsure("shells read this in several ways: <<<")
		}
		t.fds[fd] = &stream{kind: given, text: word.Text + "\n", guess: !word.Known}
		return true
	}
	if !word.Known || pattern || strings.ContainsAny(word.Text, " \t\n") && len(r.Word.Parts) > 0 && !quotedWord(r.Word) {
		t.unsure("the target of a redirection is not known: %s", word.Text)
		t.fds[fd] = &stream{kind: capture, guess: true}
		return false
	}
	if strings.HasPrefix(word.Text, "!") || strings.HasPrefix(word.Text, "|") {
		t.unsure("shells read this in several ways: > before %s", word.Text[:1])
	}
	switch r.Op {
	case syntax.DplIn, syntax.DplOut:
		if r.Op == syntax.DplOut && r.N == nil && t.dialect == Bash && !duplicates(word.Text) {
			t.open(word.Text, 1, syntax.RdrOut)
			t.fds[2] = t.fds[1]
			break
		}
		t.duplicate(word.Text, fd)
	case syntax.RdrAll, syntax.AppAll:
		if t.dialect == Sh {
			t.unsure("shells read this in several ways: &>")
		}
		op := syntax.RdrOut
		if r.Op == syntax.AppAll {
			op = syntax.AppOut
		}
		t.open(word.Text, 1, op)
		t.fds[2] = t.fds[1]
	default:
		t.open(word.Text, fd, r.Op)
	}
	return len(t.reasons) == before
}

// quotedWord reports whether no part of a word is an expansion without quotes.
func quotedWord(w *syntax.Word) bool {
	for _, part := range w.Parts {
		switch part.(type) {
		case *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted:
		default:
			return false
		}
	}
	return true
}

func duplicates(text string) bool {
	return text == "-" || len(text) == 1 && text[0] >= '0' && text[0] <= '9'
}

func (t *tracer) duplicate(text string, fd int) {
	switch {
	case text == "-":
		t.fds[fd] = &stream{kind: closed}
	case duplicates(text):
		from := t.fds[int(text[0]-'0')]
		if from == nil || from.kind == closed {
			t.unsure("the descriptor %s is not open", text)
			from = &stream{kind: outside}
		}
		t.fds[fd] = from
	default:
		t.unsure("the descriptor %s is not followed", text)
		t.fds[fd] = &stream{kind: capture, guess: true}
	}
}

// open opens a file.
func (t *tracer) open(name string, fd int, op syntax.RedirOperator) {
	s := &stream{kind: capture, guess: true}
	t.fds[fd] = s
	switch {
	case name == "/dev/null":
		s.kind = null
		return
	case strings.HasPrefix(name, "/dev/") || strings.HasPrefix(name, "/proc/"):
		t.unsure("the file %s is not followed", name)
		return
	}
	if op == syntax.RdrIn {
		real, n, err := t.tree.resolve(t.absolute(name), true)
		if err != nil || n == nil || n.kind != Regular || t.tree.load(real, n) != nil {
			t.unsure("the file %s cannot be read", name)
			return
		}
		*s = stream{kind: opened, name: real, node: n, read: true}
		return
	}
	real, n, err := t.tree.file(t.absolute(name))
	if err != nil {
		t.unsure("the file %s cannot be written", name)
		return
	}
	*s = stream{kind: opened, name: real, node: n, write: true, read: op == syntax.RdrInOut, appends: op == syntax.AppOut}
	switch op {
	case syntax.RdrOut, syntax.RdrClob:
		t.tree.put(real, n, "")
		n.guess = false
	case syntax.AppOut, syntax.RdrInOut:
		t.tree.change(real)
	default:
		t.unsure("a redirection is not followed: %s", op.String())
	}
}

// absolute returns the absolute name of a file.
func (t *tracer) absolute(name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return strings.TrimSuffix(t.dir, "/") + "/" + name
}
