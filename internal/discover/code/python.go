package code

import (
	"path"
	"strings"

	"tenet/internal/lex"
	"tenet/internal/text"
)

// statement is a logical line of Python: its tokens, and how far it is indented.
type statement struct {
	deep int
	toks []lex.Token
}

// is reports whether the token at i is a name or mark that is written so.
func (s statement) is(i int, word string) bool {
	return i < len(s.toks) && s.toks[i].Text == word && (s.toks[i].Kind == lex.Name || s.toks[i].Kind == lex.Mark)
}

// statements joins tokens to logical lines: brackets hold lines together.
func statements(toks []lex.Token) []statement {
	var out []statement
	start, open := 0, 0
	for i, t := range toks {
		if t.Fresh && open == 0 && i > start {
			out = append(out, statement{toks[start].Indent, toks[start:i]})
			start = i
		}
		if t.Kind == lex.Mark {
			switch t.Text {
			case "(", "[", "{":
				open++
			case ")", "]", "}":
				open = max(0, open-1)
			}
		}
	}
	if start < len(toks) {
		out = append(out, statement{toks[start].Indent, toks[start:]})
	}
	return out
}

// pythonUnit is one Python file while it is counted.
type pythonUnit struct {
	*unit
	list []statement
	// excepts are the indentations of the except clauses that are open.
	excepts []int
	prints  int
	main    bool // it is run as a script
	future  bool
	imports int
	lastStd int // lines of imports at the top
	other   int
}

func (u *unit) python() {
	toks := lex.Python(u.src)
	p := &pythonUnit{unit: u, list: statements(toks)}
	if len(p.list) == 0 {
		return
	}
	if !u.test && path.Base(u.path) != "__init__.py" {
		p.count("python.moduledoc", p.list[0].toks[0].Kind == lex.String, p.list[0].toks[0].Line)
	}
	p.tokens(toks)
	for i, s := range p.list {
		for len(p.excepts) > 0 && s.deep <= p.excepts[len(p.excepts)-1] {
			p.excepts = p.excepts[:len(p.excepts)-1]
		}
		p.statement(i, s)
	}
	p.whole()
}

func (p *pythonUnit) statement(i int, s statement) {
	first := s.toks[0]
	if first.Kind != lex.Name {
		return
	}
	if s.is(0, "async") {
		s.toks = s.toks[1:]
	}
	switch {
	case s.is(0, "def") && len(s.toks) > 2:
		p.function(i, s)
	case s.is(0, "class") && len(s.toks) > 2:
		p.class(i, s)
	case s.is(0, "except"):
		p.except(s)
	case s.is(0, "raise"):
		p.raise(s)
	case s.is(0, "import"), s.is(0, "from"):
		p.imported(s)
	case s.is(0, "print") && s.is(1, "("):
		p.prints = first.Line
	case s.is(0, "if") && s.is(1, "__name__"):
		p.main = true
	case p.test && s.is(0, "assert"):
		p.vote("python.assert", "assert", first.Line)
	case p.test && s.is(0, "self") && len(s.toks) > 2 && strings.HasPrefix(s.toks[2].Text, "assert"):
		p.vote("python.assert", "unittest", first.Line)
	}
}

// documented reports whether a docstring follows a definition.
func (p *pythonUnit) documented(i int) bool {
	return i+1 < len(p.list) && p.list[i+1].deep > p.list[i].deep && p.list[i+1].toks[0].Kind == lex.String
}

func (p *pythonUnit) function(i int, s statement) {
	own := s.toks[1]
	if strings.HasPrefix(own.Text, "__") || strings.HasPrefix(own.Text, "visit_") || own.Text == "setUp" || own.Text == "tearDown" {
		return
	}
	p.count("python.function", snake.MatchString(own.Text), own.Line)
	if p.test {
		return
	}
	if !strings.HasPrefix(own.Text, "_") {
		p.count("python.functiondoc", p.documented(i), own.Line)
	}
	arrow := false
	for j := range s.toks {
		arrow = arrow || s.is(j, "-") && s.is(j+1, ">")
	}
	p.count("python.returns", arrow, own.Line)
}

func (p *pythonUnit) class(i int, s statement) {
	own := s.toks[1]
	p.count("python.class", pascal.MatchString(own.Text), own.Line)
	if !p.test && !strings.HasPrefix(own.Text, "_") {
		p.count("python.classdoc", p.documented(i), own.Line)
	}
}

func (p *pythonUnit) except(s statement) {
	line := s.toks[0].Line
	bare := s.is(1, ":")
	p.count("python.bare", !bare, line)
	p.count("python.broad", !bare && !s.is(1, "Exception") && !s.is(1, "BaseException"), line)
	p.excepts = append(p.excepts, s.deep)
}

// raise counts an exception that is made in an except clause.
func (p *pythonUnit) raise(s statement) {
	made := false
	for i := 1; i < len(s.toks) && !made; i++ {
		made = s.is(i, "(")
	}
	if len(p.excepts) == 0 || !made {
		return
	}
	from, open := false, 0
	for i := range s.toks {
		switch {
		case s.is(i, "("):
			open++
		case s.is(i, ")"):
			open--
		case open == 0 && s.is(i, "from"):
			from = true
		}
	}
	p.count("python.from", from, s.toks[0].Line)
}

func (p *pythonUnit) imported(s statement) {
	line := s.toks[0].Line
	p.imports++
	relative := s.is(0, "from") && s.is(1, ".")
	module := ""
	if len(s.toks) > 1 && s.toks[1].Kind == lex.Name {
		module = s.toks[1].Text
	}
	if s.is(0, "from") {
		star := s.is(len(s.toks)-1, "*")
		p.count("python.star", !star, line)
	}
	p.future = p.future || module == "__future__" && s.is(len(s.toks)-1, "annotations")
	own := p.survey.packages[module] && !pythonStandard[module]
	switch {
	case relative:
		p.vote("python.relative", "relative", line)
	case own:
		p.vote("python.relative", "absolute", line)
	}
	if s.deep > 0 || module == "__future__" {
		return
	}
	if pythonStandard[module] {
		p.lastStd = line
	} else if p.other == 0 {
		p.other = line
	}
}

// tokens counts what needs no statement: quotes, formatting, paths, loggers.
func (p *pythonUnit) tokens(toks []lex.Token) {
	for i, t := range toks {
		next := func(n int, word string) bool {
			return i+n < len(toks) && toks[i+n].Text == word && toks[i+n].Kind != lex.String
		}
		switch t.Kind {
		case lex.String:
			p.str(toks, i, next)
		case lex.Name:
			switch {
			case t.Text == "os" && next(1, ".") && next(2, "path") && next(3, "."):
				p.vote("python.path", "os.path", t.Line)
			case t.Text == "Path" && next(1, "("):
				p.vote("python.path", "pathlib", t.Line)
			case t.Text == "getLogger" && next(1, "("):
				choice := "other"
				if next(2, "__name__") {
					choice = "name"
				}
				p.vote("python.logger", choice, t.Line)
			}
		case lex.Number, lex.Regexp, lex.Mark, lex.Unclosed:
		}
	}
}

func (p *pythonUnit) str(toks []lex.Token, i int, next func(int, string) bool) {
	t := toks[i]
	prefix := strings.TrimRight(t.Quote, "\"'")
	if quotes := t.Quote[len(prefix):]; len(quotes) == 1 && !strings.ContainsAny(t.Text, `"'`) && t.Text != "" {
		p.vote("python.quotes", map[string]string{`"`: "double", "'": "single"}[quotes], t.Line)
	}
	switch {
	case strings.Contains(prefix, "f"):
		p.vote("python.format", "f", t.Line)
	case next(1, ".") && next(2, "format") && next(3, "("):
		p.vote("python.format", "format", t.Line)
	case next(1, "%") && strings.Contains(t.Text, "%"):
		p.vote("python.format", "percent", t.Line)
	}
}

// whole counts what is true of the file as a whole.
func (p *pythonUnit) whole() {
	line := p.list[0].toks[0].Line
	if p.imports > 0 {
		p.count("python.future", p.future, line)
	}
	if p.lastStd > 0 && p.other > 0 {
		p.count("python.order", p.lastStd < p.other, p.other)
	}
	if !p.test && !p.main {
		if p.prints > 0 {
			line = p.prints
		}
		p.count("python.print", p.prints == 0, line)
	}
}

// pythonPackages returns the names of folders and modules of the project.
func pythonPackages(order map[string]int) map[string]bool {
	names := map[string]bool{}
	for file := range order {
		if languageOf(file) != python {
			continue
		}
		for part := range strings.SplitSeq(strings.TrimSuffix(file, ".py"), "/") {
			names[part] = true
		}
	}
	return names
}

var pythonStandard = text.Words(`
abc argparse array ast asyncio atexit base64 bdb binascii bisect builtins bz2 calendar cmath cmd code codecs collections
colorsys compileall concurrent configparser contextlib contextvars copy copyreg csv ctypes curses dataclasses datetime dbm
decimal difflib dis doctest email enum errno faulthandler fcntl filecmp fileinput fnmatch fractions ftplib functools gc getopt
getpass gettext glob graphlib grp gzip hashlib heapq hmac html http imaplib importlib inspect io ipaddress itertools json
keyword linecache locale logging lzma mailbox marshal math mimetypes mmap multiprocessing netrc numbers operator optparse os
pathlib pdb pickle pkgutil platform plistlib poplib posixpath pprint profile pty pwd py_compile queue random re readline reprlib
resource runpy sched secrets select selectors shelve shlex shutil signal site smtplib socket socketserver sqlite3 ssl stat
statistics string struct subprocess symtable sys sysconfig syslog tarfile tempfile termios test textwrap threading time timeit
tkinter token tokenize tomllib trace traceback tracemalloc tty turtle types typing unicodedata unittest urllib uuid venv
warnings wave weakref webbrowser winreg wsgiref xml xmlrpc zipapp zipfile zipimport zlib zoneinfo
`)
