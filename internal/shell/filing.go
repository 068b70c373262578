package shell

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// filer runs programs that handle files.
type filer struct{ *tracer }

// options splits arguments of a program into options and operands; false if an option is not among the letters or names.
func (t filer) options(name string, args []string, allowed ...string) (given, operands []string, ok bool) {
	for i, a := range args {
		switch {
		case a == "--":
			return given, append(operands, args[i+1:]...), true
		case a == "-" || !strings.HasPrefix(a, "-"):
			operands = append(operands, a)
		case slices.Contains(allowed, a):
			given = append(given, a)
		default:
			t.unsure("the option %s of %s is not followed", a, name)
			return nil, nil, false
		}
		if len(operands) > 0 && i+1 < len(args) && strings.HasPrefix(args[i+1], "-") && args[i+1] != "-" {
			t.gnu(name) // other systems end the options at the first operand
		}
	}
	return given, operands, true
}

// done sets the status after a change of the entry with a real name.
func (t filer) done(real string) {
	if !t.tree.inside(real) && t.last == succeeded {
		t.last = unsureStatus // a sandbox may forbid it
	}
}

// fails notes that a program ends in an error, whose effect is not worked out.
func (t filer) fails(name, operand string, err error) {
	t.last = unsureStatus
	why := "fails"
	if err != nil && !errors.Is(err, errUnsure) {
		why = err.Error()
	}
	t.unsure("%s %s: %s", name, operand, why)
}

func (t filer) cat(args []string) {
	_, operands, ok := t.options("cat", args, "-u")
	if !ok {
		t.output("", false)
		return
	}
	if len(operands) == 0 {
		operands = []string{"-"}
	}
	t.last = succeeded
	out := t.fds[1]
	for _, name := range operands {
		if name == "-" {
			if in := t.fds[0]; in != nil && in.kind == opened && out != nil && in.node == out.node {
				t.unsure("cat reads the file that it writes")
			}
			text, sure := t.input()
			t.output(text, sure)
			continue
		}
		if name == "/dev/null" {
			continue
		}
		real, n, err := t.tree.resolve(t.absolute(name), true)
		switch {
		case strings.HasPrefix(name, "/dev/") || strings.HasPrefix(name, "/proc/") || errors.Is(err, errUnsure):
			t.output("", false)
			t.last = unsureStatus
			continue
		case err != nil || n == nil || n.kind != Regular:
			t.last = failed
			continue
		}
		if out != nil && out.node == n {
			t.unsure("cat reads the file that it writes")
		}
		if out != nil && (out.kind == outside || out.kind == null) {
			t.done(real)
			continue // nothing depends on the content, which may be large
		}
		if t.tree.load(real, n) != nil {
			t.output("", false)
			continue
		}
		last := t.last
		t.output(n.text, !n.guess)
		t.last = last
	}
}

func (t filer) tee(args []string) {
	given, operands, ok := t.options("tee", args, "-a")
	text, sure := t.input()
	t.last = succeeded
	if ok {
		for _, name := range operands {
			if name == "/dev/null" {
				continue
			}
			if name == "-" || strings.HasPrefix(name, "/dev/") {
				t.unsure("tee %s is not followed", name)
				continue
			}
			real, n, err := t.tree.file(t.absolute(name))
			if err != nil {
				t.fails("tee", name, err)
				continue
			}
			if slices.ContainsFunc([]*stream{t.fds[0], t.fds[1]}, func(s *stream) bool { return s != nil && s.node == n }) {
				t.unsure("tee writes a file that is open")
			}
			if slices.Contains(given, "-a") {
				t.fileOutput(&stream{kind: opened, name: real, node: n, write: true, appends: true}, text, sure)
			} else {
				t.tree.put(real, n, "")
				n.guess = false
				t.fileOutput(&stream{kind: opened, name: real, node: n, write: true}, text, sure)
			}
			t.done(real)
		}
		if len(operands) > 1 {
			t.duplicateNames("tee", operands)
		}
	}
	t.output(text, sure)
}

// duplicateNames notes operands that name the same file.
func (t filer) duplicateNames(name string, operands []string) {
	seen := map[string]bool{}
	for _, o := range operands {
		real, _, err := t.tree.resolve(t.absolute(o), true)
		if err == nil && seen[real] {
			t.unsure("%s names a file twice", name)
		}
		seen[real] = true
	}
}

// target returns the absolute names that a program such as cp makes of sources in a destination.
func (t filer) target(name string, operands []string) (sources, targets []string, ok bool) {
	if len(operands) < 2 {
		t.fails(name, "", nil)
		return nil, nil, false
	}
	sources, into := operands[:len(operands)-1], operands[len(operands)-1]
	_, n, err := t.tree.resolve(t.absolute(into), true)
	if err != nil {
		t.fails(name, into, err)
		return nil, nil, false
	}
	folder := n != nil && n.kind == Folder
	if len(sources) > 1 && !folder {
		t.fails(name, into, nil)
		return nil, nil, false
	}
	for _, s := range sources {
		to := t.absolute(into)
		if folder {
			base := path.Base(s)
			if base == ".." || base == "." || base == "/" {
				t.fails(name, s, nil)
				return nil, nil, false
			}
			to = strings.TrimSuffix(to, "/") + "/" + base
		} else if strings.HasSuffix(to, "/") {
			t.fails(name, into, nil)
			return nil, nil, false
		}
		targets = append(targets, to)
	}
	if len(targets) > 1 {
		t.duplicateNames(name, targets)
	}
	return sources, targets, true
}

func (t filer) cp(args []string) {
	_, operands, ok := t.options("cp", args, "-f")
	if !ok {
		return
	}
	sources, targets, ok := t.target("cp", operands)
	if !ok {
		return
	}
	t.last = succeeded
	for i, s := range sources {
		from, n, err := t.tree.resolve(t.absolute(s), true)
		if err != nil || n == nil || n.kind != Regular || strings.HasSuffix(s, "/") || t.tree.load(from, n) != nil {
			t.fails("cp", s, err)
			return
		}
		if link, err := t.linked(targets[i]); err != nil || link {
			t.fails("cp", targets[i], err)
			return
		}
		to, made, err := t.tree.file(targets[i])
		if err != nil || made == n {
			t.fails("cp", targets[i], err)
			return
		}
		fresh := t.tree.before[to] == nil && !made.mode && made.text == ""
		t.tree.put(to, made, n.text)
		made.guess = n.guess
		if fresh {
			made.readOnly = n.readOnly
		}
		t.done(to)
		t.done(from)
	}
}

// linked reports whether a name is a link that leads to nothing.
func (t filer) linked(name string) (bool, error) {
	_, n, err := t.tree.resolve(name, false)
	if err != nil || n == nil || n.kind != Link {
		return false, err
	}
	_, end, err := t.tree.resolve(name, true)
	return end == nil, err
}

func (t filer) mv(args []string) {
	_, operands, ok := t.options("mv", args, "-f")
	if !ok {
		return
	}
	sources, targets, ok := t.target("mv", operands)
	if !ok {
		return
	}
	t.last = succeeded
	for i, s := range sources {
		from, n, err := t.tree.resolve(t.absolute(s), false)
		if err != nil || n == nil || strings.HasSuffix(s, "/") || from == "/" || !t.tree.inside(from) || t.tree.parent(from) != nil {
			t.fails("mv", s, err)
			return
		}
		to, old, err := t.tree.resolve(targets[i], false)
		if err == nil {
			err = t.tree.parent(to)
		}
		if err != nil || to == from || !t.tree.inside(to) || strings.HasPrefix(to+"/", from+"/") || strings.HasPrefix(from+"/", to+"/") ||
			old != nil && (old.kind == Folder || old.readOnly || n.kind == Folder || old == n || old.shared) || n.kind == Other || n.kind == Folder && n.readOnly {
			t.fails("mv", targets[i], err)
			return
		}
		if old != nil && t.same(from, to) {
			t.fails("mv", targets[i], nil)
			return
		}
		if t.within(t.dir, from) {
			t.unsure("the present folder is moved")
		}
		if err := t.tree.move(from, to); err != nil {
			t.fails("mv", s, err)
			return
		}
	}
}

// same reports whether two names lead to one file.
func (t filer) same(a, b string) bool {
	left, _, err := t.tree.resolve(a, true)
	right, _, otherErr := t.tree.resolve(b, true)
	return err != nil || otherErr != nil || left == right
}

// within reports whether a folder is an entry or below it.
func (t filer) within(dir, real string) bool {
	at, _, err := t.tree.resolve(dir, true)
	return err != nil || strings.HasPrefix(at+"/", real+"/")
}

func (t filer) rm(args []string) {
	given, operands, ok := t.options("rm", args, "-f", "-r", "-R", "-rf", "-fr", "-Rf", "-fR")
	if !ok {
		return
	}
	force, deep := strings.Contains(strings.Join(given, ""), "f"), strings.ContainsAny(strings.Join(given, ""), "rR")
	t.last = succeeded
	for _, name := range operands {
		base := path.Base(name)
		real, n, err := t.tree.resolve(t.absolute(name), false)
		if (errors.Is(err, fs.ErrNotExist) || err == nil && n == nil) && force {
			continue
		}
		if err != nil || n == nil || base == "." || base == ".." || real == "/" || n.kind == Folder && !deep || strings.HasSuffix(name, "/") && n.kind != Folder || t.within(t.dir, real) {
			t.fails("rm", name, err)
			return
		}
		if n.readOnly && !force {
			t.fails("rm", name, nil)
			return
		}
		if err := t.tree.remove(real); err != nil {
			t.fails("rm", name, err)
			return
		}
		t.done(real)
	}
}

func (t filer) mkdir(args []string) {
	given, operands, ok := t.options("mkdir", args, "-p")
	if !ok {
		return
	}
	t.last = succeeded
	for _, name := range operands {
		full := t.absolute(strings.TrimRight(name, "/"))
		parts := []string{full}
		if len(given) > 0 {
			if slices.Contains(strings.Split(name, "/"), "..") {
				t.fails("mkdir", name, nil)
				return
			}
			parts = nil
			for i, c := range full {
				if c == '/' && i > 0 {
					parts = append(parts, full[:i])
				}
			}
			parts = append(parts, full)
		}
		for _, p := range parts {
			real, n, err := t.tree.resolve(p, true)
			if err == nil && n == nil {
				if err = t.tree.parent(real); err == nil {
					t.tree.change(real)
					t.tree.nodes[real] = &node{kind: Folder, loaded: true}
					t.done(real)
					continue
				}
			}
			if err != nil || n.kind != Folder || len(given) == 0 {
				t.fails("mkdir", name, err)
				return
			}
		}
	}
}

func (t filer) touch(args []string) {
	_, operands, ok := t.options("touch", args)
	if !ok {
		return
	}
	t.last = succeeded
	for _, name := range operands {
		_, n, err := t.tree.resolve(t.absolute(name), true)
		if err == nil && n != nil && n.kind == Folder {
			continue
		}
		real, _, err := t.tree.file(t.absolute(name))
		if err != nil || name == "-" {
			t.fails("touch", name, err)
			return
		}
		t.done(real)
	}
}

func (t filer) ln(args []string) {
	given, operands, ok := t.options("ln", args, "-s", "-sf", "-fs", "-f")
	if !ok {
		return
	}
	flags := strings.Join(given, "")
	if !strings.Contains(flags, "s") || len(operands) != 2 || operands[0] == "" {
		t.fails("ln", strings.Join(args, " "), nil)
		return
	}
	_, targets, ok := t.target("ln", operands)
	if !ok {
		return
	}
	real, old, err := t.tree.resolve(targets[0], false)
	if err == nil {
		err = t.tree.parent(real)
	}
	if err != nil || old != nil && (old.kind == Folder || !strings.Contains(flags, "f")) {
		t.fails("ln", operands[1], err)
		return
	}
	if old != nil {
		same, _, err := t.tree.resolve(t.absolute(operands[0]), false)
		if err != nil || same == real || t.same(t.absolute(operands[0]), real) || t.tree.load(real, old) != nil {
			t.fails("ln", operands[1], err)
			return
		}
	}
	t.last = succeeded
	t.tree.change(real)
	t.tree.nodes[real] = &node{kind: Link, text: operands[0], loaded: true}
	t.done(real)
}

// modes matches permissions that leave a file readable and writable for its owner.
var modes = regexp.MustCompile(`^([ugoa]*\+[rwx]+|0?[67][0-7][0-7])$`)

func (t filer) chmod(args []string) {
	_, operands, ok := t.options("chmod", args)
	if !ok {
		return
	}
	if len(operands) < 2 || !modes.MatchString(operands[0]) {
		t.fails("chmod", strings.Join(args, " "), nil)
		return
	}
	for _, name := range operands[1:] {
		real, n, err := t.tree.resolve(t.absolute(name), true)
		if err != nil || n == nil || n.kind != Regular || n.readOnly || t.tree.load(real, n) != nil {
			t.fails("chmod", name, err)
			return
		}
		t.tree.change(real)
		n.mode = true
	}
	t.last = unsureStatus // only the owner may
}
