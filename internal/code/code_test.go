package code

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shown writes the facts of a source as lines.
func shown(f *Facts) []string {
	var out []string
	add := func(line int, format string, args ...any) {
		out = append(out, fmt.Sprintf("%03d ", line)+fmt.Sprintf(format, args...))
	}
	for _, c := range f.Calls {
		targets := ""
		if len(c.Targets) > 1 {
			targets = " = " + strings.Join(c.Targets[1:], " = ")
		}
		constant := ""
		if c.Constant {
			constant = " constant"
		}
		add(c.Line, "call %s(%s)%s%s", c.Name, strings.Join(c.Args, " | "), constant, targets)
	}
	for _, i := range f.Imports {
		add(i.Line, "import %s as %s", i.Path, i.Alias)
	}
	for _, a := range f.Assignments {
		add(a.Line, "set %s = %s", a.Name, a.Value)
	}
	for _, s := range f.Strings {
		add(s.Line, "text %q", s.Value)
	}
	for _, d := range f.Decorators {
		add(d.Line, "@%s(%s)", d.Name, strings.Join(d.Args, " | "))
	}
	if f.Package != "" {
		add(0, "package %s", f.Package)
	}
	if f.Doubt != "" {
		add(0, "doubt %s", f.Doubt)
	}
	if f.ImportDoubt != "" {
		add(0, "import doubt %s", f.ImportDoubt)
	}
	slices.Sort(out)
	return out
}

func TestRead(t *testing.T) {
	for _, test := range []struct{ name, path, src, want string }{
		{"go", "a.go", `package shop
import (
	"os/exec"
	y "gopkg.in/yaml.v3"
)
var Key string = "abc"
// eval(x)
func run(in string) error {
	cmd := exec.Command("sh", "-c", in)
	cmd.Env, n = nil, f[int](2)
	return (y.Unmarshal)([]byte("a: 1"), &cmd)
}
`, `000 package shop
003 import os/exec as exec
004 import gopkg.in/yaml.v3 as y
003 text "os/exec"
004 text "gopkg.in/yaml.v3"
006 set Key = "abc"
006 text "abc"
009 call exec.Command("sh" | "-c" | in) = os/exec.Command
009 set cmd = exec.Command("sh", "-c", in)
009 text "sh"
009 text "-c"
010 call f(2) constant
010 set cmd.Env = nil
010 set n = f[int](2)
011 call []byte("a: 1") constant
011 call y.Unmarshal([]byte("a: 1") | &cmd) = gopkg.in/yaml.v3.Unmarshal
011 text "a: 1"`},
		{"python", "a.py", `import os, numpy as np
import xml.etree
from subprocess import (
    run as go,
    Popen,
)
from . import thing
@app.route("/x", methods=["GET"])
def view(eval, x=open("y")):
    """Never eval(this)."""
    go(f"rm {os.system(x)!r:>{width(3)}}", shell=True)  # exec(x)
    e = eval
    e(x); (0, eval)(x)
    a.b["c"]: int = 1
    return builtins.eval("1")
`, `001 import os as os
001 import numpy as np
002 import xml.etree as 
004 import subprocess.run as go
005 import subprocess.Popen as Popen
007 import .thing as thing
008 @app.route("/x" | methods=["GET"])
008 call app.route("/x" | methods=["GET"]) constant
008 text "/x"
008 text "GET"
009 call open("y") constant
009 text "y"
010 text "Never eval(this)."
011 call go(f"rm {os.system(x)!r {width(3)}}" | shell=True) = subprocess.run
011 call os.system(x)
011 call width(3) constant
011 text "rm "
011 text ""
012 set e = eval
013 call e(x) = eval
013 call eval(x)
014 set a.b.c = 1
014 text "c"
015 call builtins.eval("1") constant = eval
015 text "1"`},
		{"javascript", "a.js", "import fs, { readFile as rf } from 'node:fs'\nimport * as cp from \"child_process\"\nconst { exec: e, spawn } = require('child_process')\nexport * from './x'\n" +
			"class A extends B {\n  eval(x) { return x }\n  async run(y) { await window.eval?.(`a${eval(y)}b`); eval`x`; globalThis['eval'](y) }\n}\n" +
			"const re = /['\"]/g, half = a / b / c\nlet el; el.innerHTML = '<b>' + y\nimport('./m.js')\ne.call(null, y)\n",
			`001 import node:fs as fs
001 import node:fs.readFile as rf
001 text "node:fs"
002 import child_process as cp
002 text "child_process"
003 call require('child_process') constant
003 import child_process as 
003 import child_process.exec as e
003 import child_process.spawn as spawn
003 set e = require('child_process')
003 set spawn = require('child_process')
003 text "child_process"
004 import ./x as 
004 text "./x"
007 call eval(` + "`x`" + `) constant
007 call eval(y)
007 call globalThis.eval(y) = eval
007 call window.eval(` + "`a${eval(y)}b`" + `) = eval
007 text "a"
007 text "b"
007 text "eval"
007 text "x"
009 set half = a / b / c
009 set re = /['"]/g
010 set el.innerHTML = '<b>' + y
010 text "<b>"
011 call import('./m.js') constant
011 import ./m.js as 
011 text "./m.js"
012 call e.call(null | y) = child_process.exec.call = e = child_process.exec`},
		{"typescript", "a.ts", "import type { T } from './t'\nimport x = require('y')\n@Injectable({ providedIn: 'root' })\nexport class S {\n  private run(a: Map<string, T>): T[] { return a.get<T>('k')! }\n" +
			"  readonly key: string = `s`\n}\nconst m: Map<string, number> = new Map<string, number>()\n",
			`001 import ./t.T as T
001 text "./t"
002 call require('y') constant
002 import y as x
002 set x = require('y')
002 text "y"
003 @Injectable({ providedIn: 'root' })
003 call Injectable({ providedIn: 'root' }) constant
003 text "root"
005 call a.get('k') constant
005 text "k"
006 set key = ` + "`s`" + `
006 text "s"
008 call Map() constant
008 set m = new Map<string, number>()`},
		{"java", "A.java", `package com.acme.pay;
import java.util.List;
import static java.lang.Runtime.getRuntime;
import sun.misc.*;
@RestController(value = "x")
public class A extends B {
  A(int x) { super(x); }
  @Override public List<String> exec(String s) throws E {
    String t = """
      exec("no")
      """;
    getRuntime().exec(s); // exec(s)
    return new Foo<String>(s) { void run() { } }.list();
  }
  abstract int size(int n);
  char c = '"'; int \u0065val = 1;
}
`, `000 package com.acme.pay
002 import java.util.List as List
003 import java.lang.Runtime.getRuntime as getRuntime
004 import sun.misc.* as 
005 @RestController(value = "x")
005 call RestController(value = "x") constant
005 set value = "x"
005 text "x"
007 call super(x)
008 @Override()
009 set t = """       exec("no")       """
009 text "\n      exec(\"no\")\n      "
012 call getRuntime() constant = java.lang.Runtime.getRuntime = Runtime.getRuntime
012 call getRuntime().exec(s) = java.lang.Runtime.getRuntime().exec = Runtime.getRuntime().exec
013 call Foo(s)
013 call ().list() constant
016 set c = '"'
016 set eval = 1`},
		{"rust", "a.rs", `use std::{fs, process::{Command as C, self}, io::*};
#[derive(Debug, Clone)]
#[cfg(feature = "x")]
struct P<'a>(&'a str);
fn run<T: Into<String>>(x: T) -> P<'static> {
    let s: String = r#"unsafe "quote" C::new(1)"#.to_string();
    /* a /* nested */ C::new("no") */
    C::new("sh").arg(x).parse::<u32>();
    println!("{}", 'c');
    std::process::exit(1)
}
`, `001 import std::fs as fs
001 import std::io::* as 
001 import std::process as process
001 import std::process::Command as C
002 @derive(Debug | Clone)
002 call derive(Debug | Clone)
003 @cfg(feature = "x")
003 call cfg(feature = "x") constant
003 text "x"
006 call "".to_string() constant
006 set s = r#"unsafe "quote" C::new(1)"#.to_string()
006 text "unsafe \"quote\" C::new(1)"
008 call C::new("sh") constant = std::process::Command::new
008 call C::new().arg(x) = std::process::Command::new().arg
008 call C::new().arg().parse() constant = std::process::Command::new().arg().parse
008 text "sh"
009 call println!("{}" | 'c') constant
009 text "{}"
010 call std::process::exit(1) constant`},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := strings.Split(test.want, "\n")
			slices.Sort(want)
			if diff := cmp.Diff(want, shown(Read(test.path, LanguageOf(test.path, ""), test.src))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestNothingHides checks that each source either shows the call of eval that it makes, or says that it may hide something.
func TestNothingHides(t *testing.T) {
	for path, sources := range map[string][]string{
		"a.py": {
			"eval (x)", "eval(\n x)", "(eval)(x)", "e = eval\ne(x)", "from builtins import eval as e\ne(x)", "import builtins as b\nb.eval(x)", "\U0001d41eval(x)",
			"f'{eval(x)}'", "f'{a[\"'\"]}{eval(x)}'", "f'''{\neval(x)}'''", "f'{x:{eval(y)}}'", "f'{x:\"}' ; eval(y) #\"}'", "rf'\\{eval(x)}'", "f'{{{eval(x)}}}'",
			"x = 'a\n eval(x) #'", "'''\n''' ; eval(x) #'''", "# coding: utf-7\n+AGUAdgBhAGw-(x)", "x = 1 # \reval(x)", "if a: \\\n eval(x)",
			"'\\\n' ; eval(x)", "b'' ; eval(x)", "eval\x00(x)", "f'\\N{DASH}{eval(x)}'", "eval\u200b(x)", "t'{eval(x)}'", "eval.__call__(x)", "Rb'\\'' ; eval(x)",
			"f'{x!r:{\"}\"}}' ; eval(y)", "@(eval)(x)\ndef f(): pass", "(lambda: eval(x))()", "print('a' 'b', eval(x))", "from builtins import *\neval(x)",
		},
		"a.js": {
			"eval(x)", "(0,eval)(x)", "eval?.(x)", "eval`x`", "window['eval'](x)", "ev\\u0061l(x)", "a = 1 / eval(x) / 2", "if (y) /\"/.test(y); eval(z) //\"", "i++ /eval(x)/ 2", "`${eval(x)}`",
			"`${`${eval(x)}`}`", "`${'}'}${eval(x)}`", "// \u2028eval(x)", "<!-- `\neval(x)\n<!-- `", "a.return / eval(x) / 2", "var of = 1; of / eval(x) / 2", "x = '\\\n' ; eval(y)", "/[/'\"]/; eval(x)",
			"<p>' {eval(x)} '</p>", "<a>http://x {eval(y)}</a>", "<p>don't {eval(x)}</p>", "<p>/* {eval(x)} */</p>", "e = eval; e(x)", "eval/**/(x)", "eval\n(x)", "x = `\\`` ; eval(y)", "x = {} / eval(y) / 1",
			"eval.call(null, x)", "new (eval)(x)", "a\n/eval(x)/ b", "x = a ? eval(y) : b", "switch (a) { case eval(x): { } }", "() => eval(x)", "a => { eval(x) }", "#!x\neval(x)", "import(eval(x))", "eval\u00a0(x)",
			"{ eval(x)\n{ } }", "x! / eval(y) / 2", "/" + strings.Repeat("a", 3000) + "'/ ; eval(x) //'", "x = y) / '/ ; eval(z) //'",
		},
		"a.ts":  {"eval<T>(x)", "x! /eval(y)/ 2", "a as Foo<b> /eval(x)/ 2", "class A { m(): T { return eval(x) } }", "let f: typeof eval = eval; f(x)", "enum A { B = eval(x) }"},
		"a.tsx": {"<p title=\"a\">' {eval(x)} '</p>", "x = <T,>(y: T) => eval(y)", "<div>{/* ok */ eval(x)}</div>", "<p>` {eval(x)} `</p>"},
		"A.java": {
			"class A { void f() { eval(x); } }", "class A { int y = eval(x); }", "class A { void f() { \\u0065val(x); } }", "class A { // \\u000a int y = eval(x);\n}", "class A { /* \\u002a/ int y = eval(x); /* */ }",
			"class A { void f() { return eval(x); } }", "class A { void f() { if (a) b(); else eval(x); } }", "class A { boolean b = f(a < b, c > eval(x)); }", "class A { String s = \"\"\"\n \\\"\"\" \"\"\"; int y = eval(x); }",
			"class A { char c = '\\''; int y = eval(x); char d = '\\''; }", "class A { void f() { this.<T>eval(x); } }", "class A { Object o = new eval(x) { }; }", "class A { int y = \"\\\\\".length() + eval(x); }", "class A { String s = \"a\n int y = eval(x); \"; }",
			"class A { Runnable r = () -> eval(x); }",
		},
		"a.rs": {
			"fn f() { eval(x) }", "fn f() { let a = 'a'; let b: &'static str = \"'\"; eval(x) }", "fn f() { r#\"a \" b\"#; eval(x) }", "fn f() { /* /* */ \" */ eval(x) }", "fn f() { eval::<T>(x) }", "fn f() { '\"'; eval(x); '\"' }",
			"fn f() { b'\"'; eval(x); b'\"' }", "fn f() { r#eval(x) }", "use eval as e; fn f() { e(x) }", "fn f() { \"\\\"\"; eval(x) }", "fn f() { 'a: loop { eval(x) } }", "fn f() { br##\"\"#\"##; eval(x) }", "fn f() { r\"\\\"; eval(x) }",
			"macro_rules! m { () => { eval(x) } }",
		},
		"a.go": {
			"package a\nfunc f() { eval(x) }", "package a\nfunc f() { (eval)(x) }", "package a\nvar e = eval\nfunc f() { e(x) }", "package a\nfunc f() { eval(x) ", "package a\nvar s = `\n` + eval(x)", "package a\nvar r = '\"' + eval(x) + '\"'",
			"package a\nfunc f() { eval[int](x) }", "package a\nfunc f() { go eval(x); defer eval(y) }", "package a\nfunc f() { (*eval)(x) }",
		},
	} {
		for _, src := range sources {
			f := Read(path, LanguageOf(path, ""), src)
			if f.Doubt == "" && !slices.ContainsFunc(f.Calls, func(c Call) bool { return slices.Contains(c.Targets, "eval") }) {
				t.Errorf("%s %q shows no eval: %q", path, src, shown(f))
			}
			fragment := ReadFragment(path, LanguageOf(path, ""), src, false).Most
			if fragment.Doubt == "" && !slices.ContainsFunc(fragment.Calls, func(c Call) bool { return slices.Contains(c.Targets, "eval") }) {
				t.Errorf("%s as a part %q shows no eval: %q", path, src, shown(fragment))
			}
		}
	}
}

// TestPlainSourcesAreCertain checks that ordinary code leaves no doubt.
func TestPlainSourcesAreCertain(t *testing.T) {
	for path, src := range map[string]string{
		"a.py":     "def f(a, *, b: dict[str, int] = {}) -> str:\n    '''It's fine.'''\n    return f'{a:>10} {b[\"x\"]}' + \"it's\" # don't\n",
		"a.js":     "// it's fine\nconst a = s.replace(/\\/\\*'/g, \"'\"), b = x / 2 / 3\nfor (const c of `a${b}c`) { if (c) { d() } }\nreturn /x/.test(a)\n",
		"a.ts":     "export const f = async <T,>(x: T): Promise<T[]> => [x]\ntype A = { b: string } | 'c'\n",
		"b.tsx":    "export const A = () => <p className=\"a\" onClick={() => go('x')}>Hello {name}, welcome</p>\n",
		"A.java":   "/** It's fine. */ class A { char q = '\"'; List<Map<String, int[]>> m = new ArrayList<>(); }",
		"a.rs":     "fn f<'a>(x: &'a str) -> char { let c = '\\''; match x { \"it's\" => 'x', _ => c } }",
		"a.go":     "package a\n\n// It's fine.\nvar a = 'x'\n",
		"empty.py": "",
	} {
		if f := Read(path, LanguageOf(path, ""), src); f.Doubt != "" {
			t.Errorf("%s: %s", path, f.Doubt)
		}
	}
}

func TestAPartMayBeginInAComment(t *testing.T) {
	f := ReadFragment("a.py", Python, "about eval(x)\n\"\"\"\nrun(y)\n", false)
	if !slices.ContainsFunc(f.Most.Calls, func(c Call) bool { return c.Name == "run" }) {
		t.Errorf("run is a call if the part begins in a text: %q", shown(f.Most))
	}
	if !slices.ContainsFunc(f.Normal.Calls, func(c Call) bool { return c.Name == "eval" }) || len(f.Least.Calls) > 0 {
		t.Errorf("normal %q, least %q", shown(f.Normal), shown(f.Least))
	}
	if f := ReadFragment("a.py", Python, "eval(x)\n", true); len(f.Least.Calls) != 1 {
		t.Errorf("the beginning of a file begins in nothing: %q", shown(f.Least))
	}
	for path, part := range map[string]string{
		"a.py": "    path,\n    system,\n    sep)\n", "a.js": "  readFile,\n  exec,\n", "a.rs": "    fs,\n    process::Command,\n};\n",
	} {
		if f := ReadFragment(path, LanguageOf(path, ""), part, false); f.Normal.ImportDoubt == "" {
			t.Errorf("%s: %q may be in an import: %q", path, part, shown(f.Normal))
		}
	}
	if f := ReadFragment("a.go", Go, "\t\"os\"\n\tx \"os/exec\"\n)\n", false); len(f.Normal.Imports) != 2 {
		t.Errorf("imports of a part of Go: %q", shown(f.Normal))
	}
}

// TestHostileSourcesTakeLinearTime reads long sources that would take a naive reader quadratic time: it visits each token a bounded number of times.
func TestHostileSourcesTakeLinearTime(t *testing.T) {
	for _, unit := range []string{"f(", "a=", "a.", "a<b>", "/a", "`${", "f'{", "(a,", "@a(", "import a,", "use a::{", "f()", "r#\"", "from . import (", "a,\n", "#["} {
		src := strings.Repeat(unit, MaxSource/8/len(unit))
		for _, path := range []string{"a.py", "b.tsx", "a.rs"} {
			s := scan(LanguageOf(path, ""), path, src, inCode)
			r := &reader{scanner: s, f: &Facts{}}
			r.read()
			if bound := minVisits + visits*len(s.toks) + maxImportTokens*maxArgs; minVisits+visits*len(s.toks)-r.left > bound {
				t.Errorf("%s of %q visits more than %d tokens", path, unit, bound)
			}
			if r.left < 0 && r.f.Doubt == "" {
				t.Errorf("%s of %q: what was not read leaves no doubt", path, unit)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, src := range []string{"f'{a:{b}}'", "x = `${a}`/b/", "r#\"\"#", "@a(b)\nimport x", "use a::{b};", "'a'", "<a>{b}</a>", "\\u0041", "package a\nfunc"} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		lines := strings.Count(src, "\n") + 1
		for _, path := range []string{"a.py", "a.js", "b.tsx", "A.java", "a.rs", "a.go"} {
			for _, facts := range []*Facts{Read(path, LanguageOf(path, ""), src), ReadFragment(path, LanguageOf(path, ""), src, false).Most} {
				for _, c := range facts.Calls {
					if c.Line < 1 || c.End < c.Line || c.Line > lines {
						t.Errorf("%s: %+v of %d lines", path, c, lines)
					}
				}
			}
		}
	})
}
