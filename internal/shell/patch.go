package shell

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// hunk replaces lines of a file by others. Lines have their newlines.
type hunk struct {
	at            int // the line of old, from 1; 0 if it is not known
	old, new      []string
	before, after int // lines of context at its beginning and its end
}

// patched is the part of a patch for one file.
type patched struct {
	name   string
	add    bool
	remove bool
	hunks  []hunk
}

// editor runs programs that edit files.
type editor struct{ filer }

// gitApply follows git apply for patches that fit the files exactly.
func (t editor) gitApply(dir string, args []string) {
	text, sure := "", true
	var files []string
	for _, a := range args {
		switch {
		case a == "-p1" || a == "-":
		case strings.HasPrefix(a, "-"):
			t.unsure("the option %s of git apply is not followed", a)
		default:
			files = append(files, a)
		}
	}
	if len(files) == 0 {
		text, sure = t.input()
	}
	for _, name := range files {
		if !strings.HasPrefix(name, "/") {
			name = strings.TrimSuffix(dir, "/") + "/" + name
		}
		real, n, err := t.tree.resolve(name, true)
		if err != nil || n == nil || n.kind != Regular || t.tree.load(real, n) != nil {
			t.fails("git apply", name, err)
			return
		}
		text, sure = text+n.text, sure && !n.guess
	}
	if !sure {
		t.unsure("the patch of git apply is not known")
	}
	if _, n, err := t.tree.resolve(dir+"/.git", true); err != nil || n == nil {
		t.unsure("git apply is followed at the root of a repository only")
	}
	list, ok := parsePatch(text)
	if !ok || len(files) > 1 {
		t.unsure("the patch of git apply is not followed")
	}
	t.last = succeeded
	t.applied("git apply", dir, list)
}

// applied changes files as a patch says.
func (t editor) applied(program, dir string, list []patched) {
	seen := map[string]bool{}
	for _, p := range list {
		if seen[p.name] || p.name == "" || strings.HasPrefix(p.name, "/") || slices.Contains(strings.Split(p.name, "/"), "..") {
			t.fails(program, p.name, nil)
		}
		seen[p.name] = true
		full := strings.TrimSuffix(dir, "/") + "/" + strings.TrimLeft(p.name, "/")
		if p.add {
			t.parents(full)
		}
		_, n, err := t.tree.resolve(full, false)
		if err != nil || (n == nil) != p.add || n != nil && n.kind != Regular {
			t.fails(program, p.name, err)
			if err != nil || n == nil || n.kind != Regular {
				continue
			}
		}
		if p.remove {
			t.unsure("%s may remove folders that become empty", program)
			if real, _, err := t.tree.resolve(full, false); err == nil && t.tree.remove(real) == nil {
				continue
			}
			t.fails(program, p.name, nil)
			continue
		}
		real, n, err := t.tree.file(full)
		if err != nil {
			t.fails(program, p.name, err)
			continue
		}
		if strings.Contains(n.text, "\r") {
			t.unsure("%s has other ends of lines", p.name)
		}
		result, ok := p.result(n.text)
		if !ok {
			t.fails(program, p.name, nil)
		}
		t.tree.put(real, n, result)
		n.guess = n.guess || !ok
		t.done(real)
	}
}

// parents makes the folders of a file.
func (t editor) parents(name string) {
	for i := 1; i < len(name); i++ {
		if name[i] != '/' {
			continue
		}
		if real, n, err := t.tree.resolve(name[:i], true); err == nil && n == nil && t.tree.parent(real) == nil {
			t.tree.change(real)
			t.tree.nodes[real] = &node{kind: Folder, loaded: true}
		}
	}
}

// result returns the text of the file after the patch; false if a hunk does not fit at exactly one place.
func (p *patched) result(text string) (string, bool) {
	lines := splitLines(text)
	var out []string
	next, fits := 0, true
	for _, h := range p.hunks {
		at := h.at - 1
		if h.at == 0 {
			at = find(lines, h.old, next)
			if at >= 0 && !p.add && (find(lines, h.old, at+1) >= 0 || len(h.old) == 0) {
				fits = false
			}
		}
		if p.add {
			at = 0
		}
		end := at + len(h.old)
		if at < next || end > len(lines) || !slices.Equal(lines[at:end], h.old) {
			fits = false
			out = append(out, h.new...) // wherever it belongs
			continue
		}
		if h.at > 0 && !p.add && (h.before < h.after && at > 0 || h.after < h.before && end < len(lines) || h.before+h.after == 0 && len(lines) > len(h.old)) {
			fits = false
		}
		out = append(append(out, lines[next:at]...), h.new...)
		next = end
	}
	return strings.Join(append(out, lines[next:]...), ""), fits
}

// find returns where lines have a block, from a line on; -1 if they have not.
func find(lines, block []string, from int) int {
	for i := from; i+len(block) <= len(lines); i++ {
		if slices.Equal(lines[i:i+len(block)], block) {
			return i
		}
	}
	return -1
}

func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

var (
	hunkHead  = regexp.MustCompile(`^@@ -([0-9]{1,7})(?:,([0-9]{1,7}))? \+([0-9]{1,7})(?:,([0-9]{1,7}))? @@`)
	patchHead = regexp.MustCompile(`^(diff --git a/[^ \t"]+ b/[^ \t"]+|index [0-9a-f]+\.\.[0-9a-f]+( [0-7]+)?|new file mode 100644|deleted file mode 100(644|755))$`)
	plainName = regexp.MustCompile(`^[ab]/[^\t"\\]+$`)
)

// parsePatch reads a unified diff of whole files without renames and modes; false if it has anything else.
func parsePatch(text string) (list []patched, ok bool) {
	lines := splitLines(text)
	ok = strings.HasSuffix(text, "\n") && !strings.Contains(text, "\r")
	named := ""
	for i := 0; i < len(lines); {
		line := strings.TrimSuffix(lines[i], "\n")
		old, isOld := strings.CutPrefix(line, "--- ")
		if !isOld || i+1 >= len(lines) {
			ok = ok && patchHead.MatchString(line)
			if rest, found := strings.CutPrefix(line, "diff --git a/"); found {
				var right string
				named, right, _ = strings.Cut(rest, " b/")
				ok = ok && named == right
			}
			i++
			continue
		}
		now, isNew := strings.CutPrefix(strings.TrimSuffix(lines[i+1], "\n"), "+++ ")
		i += 2
		p := patched{add: old == "/dev/null", remove: now == "/dev/null"}
		for _, name := range []string{now, old} {
			if name == "/dev/null" {
				continue
			}
			ok = ok && plainName.MatchString(name)
			_, short, _ := strings.Cut(name, "/")
			ok = ok && (p.name == "" || p.name == short) && (named == "" || named == short)
			if p.name == "" {
				p.name = short
			}
		}
		named = ""
		ok = ok && isNew && p.name != ""
		for i < len(lines) {
			m := hunkHead.FindStringSubmatch(lines[i])
			if m == nil {
				break
			}
			h, next, fine := parseHunk(lines, i+1, m)
			ok = ok && fine
			p.hunks = append(p.hunks, h)
			i = next
		}
		ok = ok && len(p.hunks) > 0 && (!p.add || len(p.hunks) == 1 && len(p.hunks[0].old) == 0)
		list = append(list, p)
	}
	return list, ok && len(list) > 0
}

// parseHunk reads the lines of a hunk with its heading, and returns the line after it.
func parseHunk(lines []string, i int, head []string) (h hunk, next int, ok bool) {
	count := func(text string) int {
		if text == "" {
			return 1
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return -1
		}
		return n
	}
	old, now := count(head[2]), count(head[4])
	h.at = count(head[1])
	if old == 0 {
		h.at++ // the line after which it adds
	}
	context := true
	for ; i < len(lines) && (len(h.old) < old || len(h.new) < now); i++ {
		switch text := lines[i][1:]; lines[i][0] {
		case ' ':
			h.old, h.new = append(h.old, text), append(h.new, text)
			if h.after++; context {
				h.before++
			}
			continue
		case '-':
			h.old = append(h.old, text)
		case '+':
			h.new = append(h.new, text)
		case '\\':
			i = h.unended(lines, i)
			continue
		default:
			return h, i + 1, false
		}
		context, h.after = false, 0
	}
	if i < len(lines) && lines[i][0] == '\\' {
		h.unended(lines, i)
		i++
	}
	return h, i, len(h.old) == old && len(h.new) == now && h.at >= 0
}

// unended takes the newline from the line before "\ No newline at end of file".
func (h *hunk) unended(lines []string, i int) int {
	trim := func(list []string) {
		if n := len(list); n > 0 {
			list[n-1] = strings.TrimSuffix(list[n-1], "\n")
		}
	}
	switch lines[i-1][0] {
	case ' ':
		trim(h.old)
		trim(h.new)
	case '-':
		trim(h.old)
	case '+':
		trim(h.new)
	}
	return i
}

// applyPatch follows apply_patch with a patch as its argument or its input.
func (t editor) applyPatch(args []string) {
	text, sure := "", true
	if len(args) == 1 {
		text = args[0]
	} else {
		text, sure = t.input()
	}
	list, ok := parseFilePatch(text)
	if !ok || !sure || len(args) > 1 {
		t.unsure("the patch of apply_patch is not followed")
	}
	t.last = unsureStatus
	t.applied("apply_patch", t.dir, list)
	t.last = unsureStatus
}

// parseFilePatch reads a patch in the form of apply_patch.
func parseFilePatch(text string) (list []patched, ok bool) {
	const begin, end, add, update, remove = "*** Begin Patch\n", "*** End Patch", "*** Add File: ", "*** Update File: ", "*** Delete File: "
	body, begins := strings.CutPrefix(strings.TrimLeft(text, "\n"), begin)
	ok = begins
	ended := false
	var p *patched
	for _, line := range splitLines(body) {
		plain := strings.TrimSuffix(line, "\n")
		header := func(prefix string) bool {
			name, found := strings.CutPrefix(plain, prefix)
			if found {
				list = append(list, patched{name: name, add: prefix == add, remove: prefix == remove})
				p = &list[len(list)-1]
			}
			return found
		}
		switch {
		case ended:
			ok = ok && plain == ""
		case plain == end:
			ended = true
		case header(add):
			p.hunks = []hunk{{}}
		case header(update), header(remove):
		case p == nil || p.remove || plain == "":
			ok = false
		case strings.HasPrefix(plain, "@@"):
			ok = ok && plain == "@@" && !p.add
			p.hunks = append(p.hunks, hunk{})
		default:
			if len(p.hunks) == 0 {
				p.hunks = append(p.hunks, hunk{})
			}
			h := &p.hunks[len(p.hunks)-1]
			switch line[0] {
			case '+':
				h.new = append(h.new, plain[1:]+"\n")
			case '-':
				h.old = append(h.old, plain[1:]+"\n")
				ok = ok && !p.add
			case ' ':
				h.old, h.new = append(h.old, plain[1:]+"\n"), append(h.new, plain[1:]+"\n")
				ok = ok && !p.add
			default:
				ok = false
			}
		}
	}
	return list, ok && ended && len(list) > 0
}
