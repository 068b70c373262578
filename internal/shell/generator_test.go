package shell

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// generator draws programs whose names stay below the folder in which they begin.
type generator struct {
	t     *rapid.T
	depth int
	wild  bool
	heres []string // bodies of here-documents that follow the line
	loops int
}

// pick draws one of a list. Those after a "|" are drawn in wild programs only, which often do more than Effect knows.
func (g *generator) pick(list ...string) string {
	if i := slices.Index(list, "|"); i >= 0 {
		if list = slices.Delete(list, i, i+1); !g.wild {
			list = list[:i]
		}
	}
	return rapid.SampledFrom(list).Draw(g.t, "pick")
}

func (g *generator) n(most int) int { return rapid.IntRange(0, most).Draw(g.t, "n") }

// name is a name of a file, as written in a program.
func (g *generator) name() string {
	return g.pick("a", "b", "d/a", "d/c", "'e f'", "./a", "d/../b", "l", "dl/a", "gone", "new", "d/new", "n/m/o", `"$v"`, "é", "a\\\n", "\"new\"", "n/../new", "|", "$v", "n", "d", "nope/x", "dl", "b*", "z/", "{a,new}", "x$v", "'~'", "new2")
}

// word is a text, as written in a program.
func (g *generator) word() string {
	kind := g.n(18)
	if !g.wild && slices.Contains([]int{5, 8, 11}, kind) {
		kind = 18
	}
	switch kind {
	case 0:
		return `"$v and ${w:-dflt}"`
	case 1:
		return `$'t\tab\x41\'\101'`
	case 2:
		return `$v`
	case 3:
		return `"$(` + g.stmt() + `)"`
	case 4:
		return `$((1 + 2 * ` + g.pick("3", "n", "(4-1)", "|", "010") + `))`
	case 5:
		return `'a\tb\\'`
	case 6:
		return `\$v\"`
	case 7:
		return `"a\"b\$\\\c` + "`echo q`" + `"`
	case 8:
		return g.pick("-n", "-e", "-", "--", "-ne", "-E", "-nx")
	case 9:
		return g.pick("{a,b}", "x{1..3}", "a=b", "x#y", "a\\ b", "''", `""`, "%s", "%d%%", "|", "{a", "=a", "~", "#x", "!", "[x]", "^")
	case 10:
		return `${#v}`
	case 11:
		return g.pick(`${v%x}`, `${v#x}`, `${w-unset}`, `${v:+alt}`, `"${v:-"q"}"`, `"$@"`, `$*`, `"$#"`, `$1`, `${1:-none}`)
	case 12:
		return g.pick(`'é ü'`, `"$v"x'y'`, `x"$v"`, "'\n'", `"a
b"`)
	default:
		return g.pick("x", "y", "one", "eval\\(x\\)", "'a b'", `"two words"`, "1", "3")
	}
}

func (g *generator) words() string {
	var list []string
	for range 1 + g.n(2) {
		list = append(list, g.word())
	}
	return strings.Join(list, " ")
}

func (g *generator) redirect() string {
	kind := g.n(13)
	if !g.wild && kind > 5 && kind != 7 && kind < 11 {
		kind = 0
	}
	switch kind {
	case 0, 1, 2, 3:
		return " > " + g.name()
	case 4, 5:
		return " >> " + g.name()
	case 6:
		return " < " + g.name()
	case 7:
		return " 2>/dev/null"
	case 8:
		return g.pick(" >&2", " 2>&1", " >&3", " 3>&1", " >&-", " <&3", " 2>&1 >/dev/null")
	case 9:
		return g.pick(" &> ", " >& ", " >| ", " 3> ", " <> ") + g.name()
	case 10:
		return " <<< " + g.word()
	}
	return g.here()
}

// here is a here-document, whose body follows the line.
func (g *generator) here() string {
	if g.depth > 1 && !g.wild {
		return " < a"
	}
	quote := g.pick("E", "'E'", "\\E", "-E", "-'E'")
	operator := " <<"
	if strings.HasPrefix(quote, "-") {
		operator, quote = " <<-", quote[1:]
	}
	body := ""
	for range g.n(3) {
		body += g.pick("plain\n", "\t$v \\$v\n", "\"q\" 'r' \\\\ \\x\n", "$(echo s) `echo t`\n", "cont\\\ninued\n", "${w:-d}\n", "$((1+1))\n", "echo deep > new\n", "\n", "é\n")
	}
	g.heres = append(g.heres, body+"E")
	return operator + quote
}

func (g *generator) stmt() string {
	if g.depth > 3 {
		return "echo leaf" + g.redirect0()
	}
	g.depth++
	defer func() { g.depth-- }()
	switch g.n(40) {
	case 0, 1, 2, 3, 4:
		return "echo " + g.words() + g.redirect()
	case 5, 6:
		return "printf " + g.pick(`'%s\n'`, `'a\tb\n'`, `"%s,%s;"`, `'%b'`, `'\101\n'`, "|", `%d`, `'%5s'`, `'%c\n'`, `'x\e\n'`, "--", `'%s\c'`, `'\x41'`, `'\q'`) + " " + g.words() + g.redirect()
	case 7, 8:
		return "cat " + g.pick(g.name(), g.name()+" "+g.name(), "|", "-", "") + g.redirect()
	case 9:
		return "cat" + g.here() + g.redirect0()
	case 10:
		return "tee " + g.pick("", "-a ") + g.name() + g.pick(g.here(), " < a", " <<< hi") + " > /dev/null"
	case 11:
		return "cp " + g.pick("", "-f ", "|", "-r ") + g.name() + " " + g.name()
	case 12:
		return "mv " + g.pick("", "-f ") + g.name() + " " + g.name()
	case 13:
		return "rm " + g.pick("-f ", "-rf ", "|", "-r ", "") + g.name()
	case 14:
		return "mkdir " + g.pick("-p ", "|", "") + g.pick("nope", "new", "nope/x/y", "d", "z/", "d/q", "'s p'")
	case 15:
		return "touch " + g.name()
	case 16:
		return "ln " + g.pick("-sf ", "|", "-s ", "") + g.pick("a", "d", "nope", "n/m/o") + " " + g.name()
	case 17:
		return "chmod " + g.pick("+x ", "644 ", "u+w ", "a+r ", "|", "000 ") + g.name()
	case 18, 19:
		return "sed -i " + g.sed() + " " + g.name()
	case 20:
		return "sed " + g.sed() + " " + g.name() + g.redirect()
	case 21:
		return "cd " + g.pick("d", "dl", "n/m", "d/..", ".", "nope", "n", "./d", "d/", "|", "a", "dl/..") + g.pick("", " && "+g.stmt(), " || "+g.stmt())
	case 22, 23:
		return g.pick("v", "w", "n") + g.pick("=", "=", "+=") + g.pick("x", "'a b'", `"$v"`, "$v", "a", "", "$(cat a)", "3", "new", "new", "|", "'*'", "~", `"$(`+g.stmt()+`)"`)
	case 24:
		return "exec " + g.pick("3> ", "3>> ", "|", "3< ", "3>&1 #", "4<> ") + g.name()
	case 25:
		return "echo " + g.word() + " >&3"
	case 26:
		return "if " + g.test() + "; then " + g.stmt() + "; " + g.pick("", "else "+g.stmt()+"; ") + "fi" + g.redirect0()
	case 27:
		return "for v in " + g.words() + "; do " + g.stmt() + "; done" + g.redirect0()
	case 28:
		return "case " + g.word() + " in " + g.pick("x", "'a b'", "one|two", `"$v"`, "|", "[x]") + ") " + g.stmt() + ";; *) " + g.stmt() + ";; esac"
	case 29:
		return "(" + g.stmt() + "; " + g.stmt() + ")" + g.redirect0()
	case 30:
		return "{ " + g.stmt() + "; " + g.stmt() + "; }" + g.redirect0()
	case 31, 32:
		return g.stmt() + " | " + g.pick("cat", "tee new", "sed s/o/0/", "cat > "+g.name(), "|", g.stmt(), "grep o", "sh") + g.pick("", " | cat")
	case 33:
		return g.stmt() + g.pick(" && ", " || ") + g.stmt()
	case 34:
		return "! " + g.stmt()
	case 35:
		return g.pick("sh", "bash") + " -c " + quoteWord(g.stmt()) + g.pick("", " x y", ` "$v" "$v"`)
	case 36:
		return "eval " + g.pick(quoteWord(g.stmt()), "echo '$v' '>' new", `"$v"`)
	case 37:
		return g.pick("set -- "+g.words(), "shift", "set -e", "unset v", "export v", "export w=q", "unset w", "|", "exit", "set -u", "set +e", "exit 1")
	case 38:
		return "f() { " + g.stmt() + "; }; f " + g.words()
	case 39:
		g.loops++
		return fmt.Sprintf("i%d=; while [ \"$i%d\" != xx ]; do i%d=x$i%d; %s; done", g.loops, g.loops, g.loops, g.loops, g.stmt())
	}
	return g.pick("ls", "ls > /dev/null", "grep -c o a", "true", "false", ":", "wc -l < a", "pwd", "head -1 a", "sort a", "test -s a", "[[ $v == x ]]", "cat a > /dev/null")
}

// redirect0 is a redirection, or none.
func (g *generator) redirect0() string {
	if g.n(2) > 0 {
		return ""
	}
	return g.redirect()
}

func (g *generator) test() string {
	return g.pick("[ -f a ]", "test -d d", "[ -e gone ]", "[ -L l ]", "! [ -s d/c ]", `[ "$v" = x ]`, "[ 3 -lt 10 ]", "[ -n \"$w\" ]", "[[ -f a && $v != y ]]", "true", "false", "[ -z '' ]", "test a = a", "|", "[ $v ]", "grep -q one a", "[[ a == a* ]]", g.stmt())
}

func (g *generator) sed() string {
	return "'" + g.pick("", "1", "2,3", "$", "9") + "s" + g.pick("/o/0/", "/o/&&/g", "|t\\(.\\)|\\1t|", "/^/> /", "/$/ ./", "/o*/-/g", "/[a-z]/X/2", "/./\\n/", "/e\\+/E/", "/\\./,/g", "/[^ne]/_/g", "/n.*$//", "/é/e/", "/ *$//", "/e*/x/g", "/\\(o\\)*/q/", "/a//g", "#/#b#", "|", "/x/y/w q", "/o\\|e/u/") + g.pick("", "", ";s/h/H/", "; s/T/t/g;") + "'"
}

func quoteWord(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// program is one to six statements on lines of their own, each with its here-documents.
func (g *generator) program() string {
	var b strings.Builder
	g.wild = g.n(3) == 0
	if !g.wild {
		b.WriteString("v=x n=2 w=q\nexec 3> log\n")
	}
	for range 1 + g.n(5) {
		g.heres = nil
		line := g.stmt()
		b.WriteString(line + "\n")
		for _, h := range g.heres {
			b.WriteString(h + "\n")
		}
	}
	return b.String()
}
