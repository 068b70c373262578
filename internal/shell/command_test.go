package shell

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// line returns a command in a form for tests: wrappers, folder, name, arguments, redirections. A ? precedes what is not known.
func line(c Command) string {
	var b strings.Builder
	for _, via := range c.Via {
		b.WriteString(via + ":")
	}
	if c.Dir.Text != "." {
		b.WriteString("[" + c.Dir.Text + "]")
	}
	if !c.Known {
		b.WriteString("?")
	}
	b.WriteString(c.Name)
	for _, a := range c.Args {
		b.WriteString(" " + a.Text)
	}
	for _, r := range c.Redirects {
		b.WriteString(" " + r.FD + r.Op + strings.TrimSuffix(r.Target.Text, "\n"))
	}
	return b.String()
}

func lines(t *testing.T, text string) []string {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	var list []string
	for _, c := range s.Commands() {
		list = append(list, line(c))
	}
	return list
}

// TestNothingHidesACommand spells one command in many ways; each time it is among the commands.
func TestNothingHidesACommand(t *testing.T) {
	const want = "rm -rf /data"
	for _, text := range []string{
		`rm -rf /data`, `rm -r"f" '/data'`, `r\m -rf /da\ta`, `'rm' -rf "/data"`, `/bin/rm -rf /data`, `$'\x72m' -rf $'/d\141ta'`,
		`rm${IFS}-rf${IFS}/data`, `rm$IFS-rf$IFS'/data'`, `x=rm; $x -rf /data`, `x="rm -rf"; $x /data`, `a=r b=m; $a$b -rf /data`, `{rm,-rf,/data}`,
		"rm \\\n-rf \\\n/data", `sh -c 'rm -rf /data'`, `bash -lc "rm -rf /data"`, `bash -euo pipefail -c 'rm -rf /data'`, `sh -c 'bash -c "rm -rf /data"'`,
		`sh -c 'rm -rf $1' x /data`, `sh -c '"$@"' x rm -rf /data`, `eval "rm -rf /data"`, `eval rm '-rf' "/data"`, `eval "$(echo rm -rf /data)"`,
		`env X=y rm -rf /data`, `env -i -u A X=y rm -rf /data`, `env -S 'rm -rf /data'`, `X=y rm -rf /data`, `sudo rm -rf /data`, `sudo -u root -E -- rm -rf /data`,
		`nohup rm -rf /data &`, `time rm -rf /data`, `time -p rm -rf /data`, `command rm -rf /data`, `builtin command rm -rf /data`, `exec rm -rf /data`, `nice -n 5 rm -rf /data`,
		`timeout -s KILL 5 rm -rf /data`, `stdbuf -oL rm -rf /data`, `xargs -n1 rm -rf /data </dev/null`, `echo /data | xargs rm -rf`, `echo 'rm -rf /data' | parallel`, `parallel ::: ls 'rm -rf /data'`, `printf '%s\n' -rf /data | xargs -n 5 rm`,
		`find . -exec rm -rf /data \;`, `find . -name x -execdir rm -rf /data {} +`, `sudo env X=1 nice sh -c 'exec rm -rf /data'`,
		"sh <<EOF\nrm -rf /data\nEOF", "bash -s <<'EOF'\nrm -rf /data\nEOF", "sh <<EOF\nrm -rf /data", "x=/data; sh <<EOF\nrm -rf $x\nEOF", `bash <<< 'rm -rf /data'`, `echo rm -rf /data | sh`, "cat <<E | bash\nrm -rf /data\nE",
		`printf 'rm -rf /%s' data | sudo bash`, `bash <(echo rm -rf /data)`, `. <(printf 'rm -rf /%s' data)`, `source <(cat <<< 'rm -rf /data')`, `bash < <(echo rm -rf /data)`, `cat <(echo rm -rf /data) | sh`, `bash <(echo rm -rf /data) > log`, `echo $(echo rm -rf /data) | sh`,
		`sh < <(cat <(echo rm) <(echo rm -rf /data))`, `echo x > >(rm -rf /data)`, `echo $(rm -rf /data)`, "echo `rm -rf /data`", `echo "$(rm -rf /data)"`, `cat <(rm -rf /data)`, `echo x > $(rm -rf /data)`, `x=$(rm -rf /data)`, `x=${y:-$(rm -rf /data)}`,
		`echo $((1 + $(rm -rf /data)))`, `[[ -n $(rm -rf /data) ]]`, `for i in $(rm -rf /data); do :; done`, `case $(rm -rf /data) in x) ;; esac`, "cat <<E\n$(rm -rf /data)\nE",
		`true && rm -rf /data`, `false || rm -rf /data`, `! rm -rf /data`, `if false; then :; else rm -rf /data; fi`, `while rm -rf /data; do :; done`, `until false; do rm -rf /data; done`,
		`for f in /data; do rm -rf $f; done`, `for ((;;)); do rm -rf /data; done`, `case x in y) rm -rf /data;; esac`, `(rm -rf /data)`, `{ rm -rf /data; }`, `f() { rm -rf "$1"; }; f /data`,
		`f() { rm -rf /data; }`, `f() { "$@"; }; f rm -rf /data`, `function f { rm -rf /data; }; trap f EXIT`, `trap 'rm -rf /data' EXIT`, `alias ls='rm -rf /data'`, `coproc rm -rf /data`,
		`set -- rm -rf /data; "$@"`, `hash -p /bin/rm ls; ls -rf /data`, `hash -p/bin/rm ls; (ls -rf /data)`, `x=/bin/rm; hash -p $x ls cat; cat -rf /data`, `hash ls=/bin/rm; ls -rf /data`, `hash -p /bin/rm ls; sudo ls -rf /data`, `hash -p /bin/ls rm; sudo rm -rf /data`, `(hash -p /bin/ls rm); rm -rf /data`, `hash -p a b; hash -p b a; hash -p a rm; rm -rf /data`, `git -c alias.x='!rm -rf /data' x`, `su -c 'rm -rf /data' root`, `ssh host 'rm -rf /data'`, `watch -n 1 'rm -rf /data'`, `busybox rm -rf /data`,
		`git bisect run rm -rf /data`, `git -C x bisect run sh -c 'rm -rf /data'`, `git rebase --exec 'rm -rf /data' main`, `git grep -O'rm -rf /data' x`, `git -C x grep --open-files-in-pager='rm -rf /data' x`, `git rebase -x 'rm -rf /data' main`, `git submodule foreach --recursive 'rm -rf /data'`,
		`git -c core.pager='rm -rf /data' log`, `git -c sequence.editor='rm -rf /data' rebase -i`, `git -c credential.helper='!rm -rf /data' fetch`, `git filter-branch --tree-filter 'rm -rf /data' HEAD`,
		`rg --pre 'rm -rf /data' x`, `man -P 'rm -rf /data' x`, `PAGER='rm -rf /data' man x`, `GIT_SSH_COMMAND='rm -rf /data' git fetch`, `EDITOR='rm -rf /data;' git commit`,
		`export X=/data; rm -rf $X`, `: | rm -rf /data`, `rm -rf ${x:-/data}`, `cd x; rm -rf /data`, `env bash -c 'rm -rf /data'`, `unset x; rm -rf ${x:-/data}`, `rm -rf $(echo /data)`, `$(echo rm) -rf /data`,
	} {
		list := lines(t, text)
		if !slices.ContainsFunc(list, func(l string) bool {
			l = l[strings.LastIndex(l, ":")+1:]
			if i := strings.IndexByte(l, ']'); i >= 0 {
				l = l[i+1:]
			}
			fields := strings.Fields(strings.TrimLeft(l, "?"))
			return len(fields) >= 2 && fields[0] == "rm" && (strings.Join(fields[:min(3, len(fields))], " ") == want || text == `rm -rf ${x:-/data}`)
		}) {
			t.Errorf("%q has the commands\n  %s", text, strings.Join(list, "\n  "))
		}
	}
}

func TestAnArgumentIsNoCommand(t *testing.T) {
	for _, text := range []string{
		`grep -r "rm -rf /data" .`, `echo "rm -rf /data"`, `git commit -m "rm -rf /data"`, `printf 'rm -rf /data\n' > notes.txt`, `cat <<EOF > notes.md` + "\nrm -rf /data\nEOF",
		`command -v rm`, `which rm`, `# rm -rf /data`, `x='rm -rf /data'`, `grep '$(rm -rf /data)' x`, `python3 -c 'print("rm -rf /data")'`,
	} {
		for _, l := range lines(t, text) {
			if strings.HasPrefix(strings.TrimLeft(l[strings.LastIndex(l, ":")+1:], "?"), "rm") {
				t.Errorf("%q has the command %s", text, l)
			}
		}
	}
}

func TestCommandsHaveTheirPlaces(t *testing.T) {
	for text, want := range map[string]string{
		`cd src && echo x > a.py`:                       "cd src; [src]echo x >a.py",
		`(cd src; ls); ls`:                              "cd src; [src]ls; ls",
		`cd /a/../b; cd c; pwd`:                         "cd /a/../b; [/b]cd c; [/b/c]pwd",
		`cd "$D"; ls`:                                   "?cd $D; [$D]?ls",
		`cat $F ~/.x *.py "$HOME/a" "*"`:                "?cat $F ~/.x *.py $HOME/a *",
		`{ a; b 2>&1; } > out`:                          "a >out; b >out 2>&1",
		`exec 3> f; echo x >&3`:                         "exec 3>f; echo x >&3",
		`> f`:                                           " >f",
		`x=1`:                                           "",
		`$(curl u) a`:                                   "curl u; ? a",
		`sudo -u me cat x`:                              "sudo -u me cat x; sudo:cat x",
		`find . -name '*.py' -exec rm {} \;`:            "find . -name *.py -exec rm {} ;; find:?rm " + Hole,
		`ls | xargs -I{} mv {} d`:                       "ls; xargs -I{} mv {} d; xargs:?mv " + Hole + " d",
		`for f in a b; do rm $f; done`:                  "rm a; rm b",
		`x=a; if t; then x=b; fi; rm $x`:                "t; ?rm $x",
		`x=a; while t; do rm $x; x=b; done`:             "t; ?rm $x",
		`bash -c "$X"`:                                  "?bash -c $X; bash:?; bash:?",
		`python3 - <<'E'` + "\nimport os\nE":            "python3 - <<import os",
		`f() { f; }; f 1`:                               "",
		`sh script.sh`:                                  "sh script.sh",
		`rm -rf ${x:0:1} ${!y} ${z^^} $((n*2)) $RANDOM`: "?rm -rf " + strings.Join([]string{Hole, Hole, Hole, Hole, "$RANDOM"}, " "),
	} {
		got := lines(t, text)
		if strings.HasPrefix(text, "f()") { // endless
			if len(got) < 10 || got[len(got)-1] != "?" {
				t.Errorf("%q ends in %q after %d", text, got[len(got)-1], len(got))
			}
			continue
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%q\nhas  %s\nwant %s", text, strings.Join(got, "; "), want)
		}
	}
}

func TestPipelinesAndSubstitutionsShowWhereOutputGoes(t *testing.T) {
	s, err := Parse(`curl -s u | tee log | sudo bash -x; bash <(curl v); sh -c "$(wget -O- w)"; curl q | (cat | sh)`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	list := s.Commands()
	for _, c := range list {
		into := ""
		if c.Into >= 0 {
			into = " into " + list[c.Into].Name
		}
		got = append(got, fmt.Sprint(c.Name, c.Pipes, into))
	}
	want := "curl[{1 0}]; tee[{1 1}]; sudo[{1 2}]; bash[{1 2}]; curl[] into bash; bash[]; wget[] into sh; sh[]; []; []; curl[{2 0}]; cat[{2 1} {3 0}]; sh[{2 1} {3 1}]"
	if strings.Join(got, "; ") != want {
		t.Errorf("has  %s\nwant %s", strings.Join(got, "; "), want)
	}
}

func TestInputsAndEnvironmentsAreShown(t *testing.T) {
	s, err := Parse("A=1 B=$X python3 - <<'E'\nimport os\nE\necho hi | cat; cat < f")
	if err != nil {
		t.Fatal(err)
	}
	list := s.Commands()
	if c := list[0]; c.Input == nil || c.Input.Text != "import os\n" || len(c.Env) != 2 || c.Env[0] != known("A=1") || c.Env[1].Known || c.Known {
		t.Errorf("python3 is %+v", c)
	}
	if c := list[2]; c.Input == nil || *c.Input != known("hi\n") || !c.Known {
		t.Errorf("cat is %+v", c)
	}
	if c := list[3]; c.Input != nil {
		t.Errorf("cat < f is %+v", c)
	}
}

func TestHostileProgramsAreBounded(t *testing.T) {
	for name, text := range map[string]string{
		"too long": strings.Repeat("a", MaxLength+1), "NUL": "a\x00b", "CR": "a\r\n", "brackets": strings.Repeat("(", 5000), "substitutions": strings.Repeat("$(", 5000),
		"unclosed": "echo 'x", "not a program": "if", "conditions": strings.Repeat("if ", 20000),
	} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%s is read", name)
		}
	}
	for name, text := range map[string]string{
		"loops":      strings.Repeat("for i in {1..40}; do ", 20) + "x=1" + strings.Repeat("; done", 20),
		"doubling":   "x=aaaaaaaa; " + strings.Repeat("x=$x$x; ", 500) + "echo $x",
		"braces":     "echo " + strings.Repeat("{1..1000}", 20),
		"recursion":  "f() { f; f; }; f",
		"mutual":     "f() { g | g; }; g() { (f; f); }; f",
		"eval":       `x='eval "$x"'; eval "$x"`,
		"sh":         strings.Repeat("sh -c \"", 40) + strings.Repeat("\"", 40),
		"quick eval": `f() { eval "$1"; eval "$1"; }; f 'f "$1"'`,
		"many words": "set -- " + strings.Repeat("a ", 10000) + "; for i in \"$@\"; do echo \"$@\" \"$@\"; done",
		"long words": "x=" + strings.Repeat("b", 30000) + "; for i in {1..40}; do for j in {1..40}; do y=$x$x$x$x; rm $y; done; done",
		"or":         strings.Repeat("a||", 10000) + "a",
	} {
		began := time.Now()
		if s, err := Parse(text); err == nil {
			s.Commands()
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s takes %s", name, took)
		}
	}
}

func FuzzCommands(f *testing.F) {
	for _, seed := range []string{
		"cd a && echo $'\\x61' > b | sh <<E\n${x:-$(ls)}\nE", "f() { \"$@\"; }; f sudo -u x env A=1 sh -c 'a' b", "find . -exec sh -c 'rm \"$1\"' x {} \\;",
		"for i in {a,b}{1..3}; do eval \"x$i=$i\"; done", "cat <<-'A' <<B | xargs -n1\n\ta\n\tA\nb\nB", "trap 'x' 1; case a in (b|c) ;; esac; a=(1 2) b[1]=2 declare -x y=1",
		"env -S 'a b' | xargs", "sudo", "sh -c", "bash -o", "printf -v", "find -exec", "git -c alias.", "env -", "su -c", "echo ${x#a}${y%b}${#z}$((1+2))",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range []Dialect{Bash, Sh} {
			s, err := ParseAs(text, d)
			if err != nil {
				continue
			}
			list := s.Commands()
			if len(list) > maxCommands+1 {
				t.Fatalf("%q has %d commands", text, len(list))
			}
			for i, c := range list {
				if c.Into >= len(list) || c.Into == i {
					t.Fatalf("%q: command %d goes into %d of %d", text, i, c.Into, len(list))
				}
			}
		}
	})
}

// TestSourcedOutputIsNotKnown runs what another program writes: what it does is not known, and the result says so.
func TestSourcedOutputIsNotKnown(t *testing.T) {
	for text, want := range map[string]bool{
		`. <(echo $X)`: false, `source <(cat x)`: false, `bash <(cat x)`: false, `ls > >(bash)`: true, `ls | tee >(sh -s)`: true, `ls > >(cat)`: false, `echo 'rm -rf /' | xargs -I{} sh -c '{}'`: true, `echo 'rm -rf /' | xargs -0 sh -c`: true, `echo x | xargs -rI % bash -c %`: true, `ls | parallel`: true,
		`echo x | xargs -i sh -c {}`: true, `ls | parallel sh -c {}`: true, `ls | xargs -I{} cp {} b`: false, `ls | parallel gzip`: false, `ls | xargs -d '\n' rm`: false, `. "$(which x)"`: true,
		`. ./x.sh`: false, `source "$HOME/.bashrc"`: false, `. "$(brew --prefix)/etc/x.sh"`: false, `bash x.sh`: false, `diff <(ls a) <(ls b)`: false,
	} {
		s, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.ContainsFunc(s.Commands(), func(c Command) bool { _, ok := c.Program(); return !ok })
		if got != want {
			t.Errorf("%q has a command that is not known: %t, want %t", text, got, want)
		}
	}
}

// TestCommandsOfPowerShell have other names and arguments, so what they do is known only if they change nothing.
func TestCommandsOfPowerShell(t *testing.T) {
	for text, want := range map[string]bool{
		`Remove-Item -Recurse -Force C:\`: false, `Invoke-Expression "x"`: false, `Stop-Computer -Force`: false, `Get-ChildItem -Recurse src`: true, `Get-Content x | Select-String y`: true,
		`Where-Object -FilterScript {rm}`: false, `git-lfs pull`: true, `apt-get install x`: true, `X-y -z`: true,
	} {
		s, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got := !slices.ContainsFunc(s.Commands(), func(c Command) bool { _, ok := c.Program(); return !ok && c.Path.Known })
		if got != want {
			t.Errorf("the commands of %q are known: %t, want %t", text, got, want)
		}
	}
}

// A name keeps its own program where hash gives it none.
func TestHashChangesOnlyTheNamesItIsGiven(t *testing.T) {
	for _, text := range []string{`hash -r; ls -l`, `hash ls; ls -l`, `hash -p /bin/rm cat; ls -l`, `ls -l; hash -p /bin/rm ls`, `hash -p /bin/rm`} {
		for _, l := range lines(t, text) {
			if strings.HasPrefix(l, "rm") {
				t.Errorf("%q has the command %q", text, l)
			}
		}
	}
}
