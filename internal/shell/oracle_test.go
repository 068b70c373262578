package shell

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tenet/internal/proptest"
)

// TestShellsAgreeWithEffect runs random programs of the parsed subset in real shells, in a folder of their own. Where Effect says
// that it knows, the shells leave exactly its files.
func TestShellsAgreeWithEffect(t *testing.T) {
	o := newOracle(t)
	proptest.Check(t, o.agree)
	if known, all := o.known, o.all; all < 100 || known*6 < all {
		t.Errorf("only %d of %d programs have a known effect, so that the test says little", known, all)
	}
	t.Logf("%d of %d programs have a known effect", o.known, o.all)
}

// FuzzShellsAgreeWithEffect draws the same programs from the bytes of a fuzzer.
func FuzzShellsAgreeWithEffect(f *testing.F) {
	o := newOracle(f)
	for i := range 16 {
		f.Add([]byte(strings.Repeat(string(rune('a'+i)), 64+i*16)))
	}
	f.Fuzz(rapid.MakeFuzz(o.agree))
}

// oracle runs programs in real shells.
type oracle struct {
	shells     map[string]Dialect
	dir        string
	known, all int
	turn       int
}

func newOracle(t testing.TB) *oracle {
	o := &oracle{shells: map[string]Dialect{}, dir: t.TempDir()}
	seen := map[string]bool{}
	for _, name := range []string{"sh", "bash", "dash", "zsh"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil || seen[real] && name == "dash" {
			continue
		}
		seen[real] = true
		o.shells[path] = Bash
		if name == "sh" || name == "dash" {
			o.shells[path] = Sh
		}
	}
	if len(o.shells) < 2 {
		t.Fatalf("found the shells %v only; sh and bash are the oracle", o.shells)
	}
	return o
}

// start is the folder in which programs begin.
var start = map[string]string{
	"a": "one\ntwo\nthree\n", "b": "x=1", "d/a": "in d\n", "d/c": "", "e f": "spaces\n", "l": "-> a", "dl": "-> d", "n/m/o": "deep\n", "gone": "-> d/none", "é": "é\n", "d/": "",
}

func (o *oracle) agree(t *rapid.T) {
	g := &generator{t: t}
	text := g.program()
	var names []string
	for name := range o.shells {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, shell := range names {
		d := o.shells[shell]
		s, err := ParseAs(text, d)
		o.all++
		if err != nil {
			continue
		}
		o.turn++
		dir := filepath.Join(o.dir, fmt.Sprint("t", o.turn%4))
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		lay(t, dir)
		e := s.Effect(Disk{}, dir)
		if len(e.Unknown) > 0 {
			continue
		}
		o.known++
		want := maps.Clone(snapshot(t, dir))
		for _, f := range e.Files {
			rel, err := filepath.Rel(dir, f.Path)
			if err != nil || !filepath.IsLocal(rel) {
				t.Fatalf("%s\nchanges %s", text, f.Path)
			}
			switch {
			case f.After == nil:
				delete(want, rel)
			case f.Kind == Folder:
				want[rel] = "/"
			case f.Kind == Link:
				want[rel] = "-> " + *f.After
			default:
				want[rel] = *f.After
			}
		}
		out := run(t, shell, dir, text)
		if got := snapshot(t, dir); !maps.Equal(got, want) {
			t.Fatalf("%s with %s\n%s\nprints %s", text, shell, difference(want, got), out)
		}
	}
}

// lay makes the starting files.
func lay(t *rapid.T, dir string) {
	for _, name := range slices.Sorted(maps.Keys(start)) {
		path, err := filepath.Join(dir, name), error(nil)
		if mkErr := os.MkdirAll(filepath.Dir(path), 0o755); mkErr != nil {
			t.Fatal(mkErr)
		}
		if target, link := strings.CutPrefix(start[name], "-> "); link {
			err = os.Symlink(target, path)
		} else if !strings.HasSuffix(name, "/") {
			err = os.WriteFile(path, []byte(start[name]), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// snapshot returns all entries below a folder: contents, links as "-> target", folders as "/".
func snapshot(t *rapid.T, dir string) map[string]string {
	m := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		switch {
		case e.IsDir():
			m[rel] = "/"
		case e.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			m[rel] = "-> " + target
			return err
		default:
			b, err := os.ReadFile(path)
			m[rel] = string(b)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func run(t *rapid.T, shell, dir, text string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, shell, "-c", text)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + dir, "LC_ALL=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir)}
	b, _ := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("%s does not end", text)
	}
	return string(b)
}

func difference(want, got map[string]string) string {
	var list []string
	names := maps.Clone(want)
	maps.Copy(names, got)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		w, inWant := want[name]
		g, inGot := got[name]
		if w != g || inWant != inGot {
			list = append(list, fmt.Sprintf("%s: Effect %q (%v), shell %q (%v)", name, w, inWant, g, inGot))
		}
	}
	return strings.Join(list, "\n")
}
