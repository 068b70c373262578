package guard

import (
	"path/filepath"
	"slices"
	"strings"
)

// finds judges find and fd, which may change what they find.
func (s *survey) finds(name string, args []string) {
	acts := func(a string) bool {
		return slices.Contains([]string{"-delete", "-fprint", "-fprint0", "-fprintf", "-fls", "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"}, a)
	}
	at := slices.IndexFunc(args, acts)
	if at < 0 {
		return
	}
	if strings.HasSuffix(args[at], "ec") || strings.Contains(args[at], "ok") || strings.Contains(args[at], "x") || strings.Contains(args[at], "X") {
		if at+1 >= len(args) || reads(filepath.Base(args[at+1]), args[at+2:]) {
			return
		}
	}
	named := false
	var roots []string
	for i, a := range args {
		switch {
		case slices.Contains([]string{"-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-fprint", "-fls"}, a) && i+1 < len(args):
			named = true
			if guardedName(args[i+1]) != "" || wallName.MatchString(args[i+1]) {
				s.add("it may change %s, which is the name of a wall", show(args[i+1]))
			}
		case i == len(roots) && !strings.HasPrefix(a, "-") && a != "(" && a != "!":
			roots = append(roots, a)
		}
	}
	if name != "find" && len(roots) > 0 { // fd takes a pattern first
		named = true
		if guardedName(roots[0]) != "" || wallName.MatchString(roots[0]) {
			s.add("it may change %s, which is the name of a wall", show(roots[0]))
		}
		roots = roots[1:]
	}
	for _, root := range roots {
		if w, ok := s.wallAt(s.absolute(root)); ok && !w.byContent {
			s.add("it may change %s (%s)", show(root), w.what)
		} else if at := s.holds(root); at != "" && !named && !slices.Contains(args, "-newer") {
			s.add("it may change %s, which holds %s", show(root), show(at))
		}
	}
}

// guardedName returns a pattern of find that names a wall by its last segment.
func guardedName(glob string) string {
	last := strings.ToLower(filepath.Base(glob))
	for _, w := range table {
		pattern := strings.TrimSuffix(w.pattern, "/**")
		if w.what == "" || w.byContent {
			continue
		}
		base := pattern[strings.LastIndexByte(pattern, '/')+1:]
		if base == last || !strings.HasPrefix(base, "*") && overlap(base, last) && strings.Trim(last, "*") != "" && !strings.HasPrefix(last, "*.") {
			return glob
		}
	}
	if slices.Contains([]string{"pre-commit", "commit-msg", "pre-push", "reference-transaction", "hooks"}, last) {
		return glob
	}
	return ""
}
