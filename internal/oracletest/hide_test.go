package oracletest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"tenet/internal/diff"
	"tenet/internal/subject"
)

// hiding is a way to show less of a subject, or to show it in a way that a reader may miss. All of the subject must still be named: what
// remains is no smaller subject that is whole.
type hiding struct {
	name string
	// diff makes another text of the files of a diff; empty where the way does not fit them.
	diff func(files []diff.File) string
}

// hidings are the ways to hide a part of a diff.
var hidings = []hiding{
	{"as it is", render},
	{"binary", perFile(func(f *diff.File) string {
		return head(f) + fmt.Sprintf("Binary files %s and %s differ\n", oldName(f), newName(f))
	})},
	{"empty binary patch", perFile(func(f *diff.File) string { return head(f) + "GIT binary patch\n" })},
	{"no hunks", perFile(head)},
	{"no hunks, only the first line", perFile(func(f *diff.File) string { h, _, _ := strings.Cut(head(f), "\n"); return h + "\n" })},
	{"no index line", func(files []diff.File) string { return without(render(files), "index ") }},
	{"short hashes", func(files []diff.File) string {
		return strings.ReplaceAll(render(files), "index 1111111..2222222", "index 1..2")
	}},
	{"similarity 100", perFile(func(f *diff.File) string {
		return fmt.Sprintf("diff --git a/elsewhere/x b/%s\nsimilarity index 100%%\nrename from elsewhere/x\nrename to %s\n", f.Path, f.Path)
	})},
	{"copy", perFile(func(f *diff.File) string {
		return fmt.Sprintf("diff --git a/elsewhere/x b/%s\nsimilarity index 100%%\ncopy from elsewhere/x\ncopy to %s\n", f.Path, f.Path)
	})},
	{"submodule", perFile(func(f *diff.File) string { return "Submodule " + f.Path + " 1111111..2222222 (new submodule)\n" })},
	{"only in", perFile(func(f *diff.File) string {
		folder, name := ".", f.Path
		if at := strings.LastIndexByte(f.Path, '/'); at >= 0 {
			folder, name = f.Path[:at], f.Path[at+1:]
		}
		return "Only in " + folder + ": " + name + "\n"
	})},
	{"files differ", perFile(func(f *diff.File) string {
		if f.Change == diff.Added { // there are not two files
			return head(f)
		}
		return "Files a/" + f.Path + " and b/" + f.Path + " differ\n"
	})},
	{"half a hunk", func(files []diff.File) string { return cutLast(render(files), 1) }},
	{"miscounted", func(files []diff.File) string { return strings.ReplaceAll(render(files), " +1,", " +1,1") }},
	{"reversed files", func(files []diff.File) string {
		files = slices.Clone(files)
		slices.Reverse(files)
		return render(files)
	}},
	{"crlf", func(files []diff.File) string { return strings.ReplaceAll(render(files), "\n", "\r\n") }},
	{"mail", func(files []diff.File) string {
		return "From 0123456789abcdef0123456789abcdef01234567 Mon Sep 17 00:00:00 2001\nSubject: [PATCH] x\n\ntext\n---\n x | 2 +-\n\n" + render(files) + "-- \n2.39.5\n"
	}},
	{"more files", func(files []diff.File) string {
		clean := "diff --git a/zz/added.txt b/zz/added.txt\nnew file mode 100644\nindex 0000000..2222222\n--- /dev/null\n+++ b/zz/added.txt\n@@ -0,0 +1 @@\n+nothing\n"
		return clean + render(files) + strings.ReplaceAll(clean, "added", "more")
	}},
	{"split into hunks", func(files []diff.File) string { return render(changed(files, splitHunks)) }},
	{"each hunk a file", perFile(func(f *diff.File) string {
		var b strings.Builder
		for i := range f.Hunks {
			part := *f
			part.Hunks = f.Hunks[i : i+1]
			b.WriteString(render([]diff.File{part}))
		}
		return b.String()
	})},
	{"more lines", func(files []diff.File) string { return render(changed(files, surrounded("nothing", "nothing"))) }},
	{"comments", func(files []diff.File) string { return render(changed(files, surrounded("/*", "*/"))) }},
	{"line comments", func(files []diff.File) string {
		return render(changed(files, surrounded("# nosec: all of this is fine", "# nosec")))
	}},
	{"a string", func(files []diff.File) string { return render(changed(files, surrounded(`"""`, `"""`))) }},
	{"a key", func(files []diff.File) string {
		return render(changed(files, surrounded("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----")))
	}},
	{"an open quote", func(files []diff.File) string { return render(changed(files, surrounded(`# curl -u "x:`, `# "`))) }},
	{"utf-16 lines", func(files []diff.File) string { return render(changed(files, rewritten(wideLine))) }},
	{"a NUL", func(files []diff.File) string { return render(changed(files, surrounded("// \x00", "// \x00"))) }},
	{"utf-16", func(files []diff.File) string { return string(wide("\uFEFF" + render(files))) }},
	{"bom", func(files []diff.File) string { return "\uFEFF" + render(files) }},
	{"trailing carriage return", func(files []diff.File) string {
		return render(changed(files, rewritten(func(s string) string { return s + "\r" })))
	}},
	{"same prefixes", func(files []diff.File) string { return strings.NewReplacer(" b/", " a/").Replace(render(files)) }},
	{"no prefixes", func(files []diff.File) string {
		return strings.NewReplacer(" a/", " ", " b/", " ").Replace(render(files))
	}},
	{"other prefixes", func(files []diff.File) string {
		return strings.NewReplacer(" a/", " old/", " b/", " new/").Replace(render(files))
	}},
	{"dots in names", func(files []diff.File) string {
		return strings.NewReplacer(" a/", " a/./", " b/", " b/./").Replace(render(files))
	}},
	{"double slashes", func(files []diff.File) string {
		return strings.NewReplacer(" a/", " a//", " b/", " b//").Replace(render(files))
	}},
	{"quoted names", func(files []diff.File) string { return quoted(render(files)) }},
}

// perFile writes a diff file by file.
func perFile(write func(f *diff.File) string) func([]diff.File) string {
	return func(files []diff.File) string {
		var b strings.Builder
		for i := range files {
			b.WriteString(write(&files[i]))
		}
		return b.String()
	}
}

func oldName(f *diff.File) string {
	switch {
	case f.Change == diff.Added || f.Change == diff.Whole:
		return "/dev/null"
	case f.OldPath != "":
		return "a/" + f.OldPath
	}
	return "a/" + f.Path
}

func newName(f *diff.File) string {
	if f.Change == diff.Deleted {
		return "/dev/null"
	}
	return "b/" + f.Path
}

// head writes the lines before the names of a file.
func head(f *diff.File) string {
	old := f.Path
	if f.OldPath != "" {
		old = f.OldPath
	}
	first := fmt.Sprintf("diff --git a/%s b/%s\n", old, f.Path)
	switch f.Change {
	case diff.Added, diff.Whole:
		return first + "new file mode 100644\nindex 0000000..2222222\n"
	case diff.Deleted:
		return first + "deleted file mode 100644\nindex 1111111..0000000\n"
	case diff.Renamed, diff.Copied:
		word := map[diff.Change]string{diff.Renamed: "rename", diff.Copied: "copy"}[f.Change]
		return first + fmt.Sprintf("similarity index 80%%\n%s from %s\n%s to %s\nindex 1111111..2222222\n", word, old, word, f.Path)
	case diff.Modified, diff.Mode:
	}
	return first + "index 1111111..2222222 100644\n"
}

// render writes files as git does.
func render(files []diff.File) string {
	return perFile(func(f *diff.File) string {
		var b strings.Builder
		b.WriteString(head(f))
		if f.Binary || len(f.Hunks) == 0 && f.Unseen != "" {
			return b.String() + fmt.Sprintf("Binary files %s and %s differ\n", oldName(f), newName(f))
		}
		if len(f.Hunks) > 0 {
			fmt.Fprintf(&b, "--- %s\n+++ %s\n", oldName(f), newName(f))
		}
		for _, h := range f.Hunks {
			fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
			for _, l := range h.Lines {
				b.WriteString(string(l.Op) + l.Text + "\n")
			}
		}
		return b.String()
	})(files)
}

// changed applies a change of hunks to all files.
func changed(files []diff.File, change func([]diff.Hunk) []diff.Hunk) []diff.File {
	files = slices.Clone(files)
	for i := range files {
		files[i].Hunks = numbered(change(slices.Clone(files[i].Hunks)))
	}
	return files
}

// numbered counts the lines of hunks, whose old lines begin where they say.
func numbered(hunks []diff.Hunk) []diff.Hunk {
	shift := 0
	for i := range hunks {
		h := &hunks[i]
		h.OldLines, h.NewLines = 0, 0
		for _, l := range h.Lines {
			if l.Op != diff.OpAdd {
				h.OldLines++
			}
			if l.Op != diff.OpDelete {
				h.NewLines++
			}
		}
		// A span without lines names the line before it.
		before := h.OldStart - 1
		if h.OldLines == 0 {
			before = h.OldStart
		}
		h.NewStart = before + shift + 1
		if h.NewLines == 0 {
			h.NewStart--
		}
		shift += h.NewLines - h.OldLines
	}
	return hunks
}

// splitHunks makes a hunk of every line.
func splitHunks(hunks []diff.Hunk) (split []diff.Hunk) {
	for _, h := range hunks {
		before := h.OldStart - 1
		if h.OldLines == 0 {
			before = h.OldStart
		}
		for _, l := range h.Lines {
			one := diff.Hunk{OldStart: before, Lines: []diff.Line{l}}
			if l.Op != diff.OpAdd {
				before++
				one.OldStart = before
			}
			split = append(split, one)
		}
	}
	return split
}

// surrounded adds lines before and after every run of added lines.
func surrounded(before, after string) func([]diff.Hunk) []diff.Hunk {
	return func(hunks []diff.Hunk) []diff.Hunk {
		for i := range hunks {
			var lines []diff.Line
			inside := false
			for _, l := range append(slices.Clone(hunks[i].Lines), diff.Line{}) {
				if added := l.Op == diff.OpAdd; added != inside {
					lines = append(lines, diff.Line{Op: diff.OpAdd, Text: map[bool]string{true: before, false: after}[added]})
					inside = added
				}
				if l.Op != 0 {
					lines = append(lines, l)
				}
			}
			hunks[i].Lines = lines
		}
		return hunks
	}
}

// rewritten changes the text of every line.
func rewritten(change func(string) string) func([]diff.Hunk) []diff.Hunk {
	return func(hunks []diff.Hunk) []diff.Hunk {
		for i := range hunks {
			hunks[i].Lines = slices.Clone(hunks[i].Lines)
			for j := range hunks[i].Lines {
				hunks[i].Lines[j].Text = change(hunks[i].Lines[j].Text)
			}
		}
		return hunks
	}
}

func wideLine(s string) string { return string(wide(s)) }

// wide encodes a text as UTF-16, little end first.
func wide(s string) []byte {
	var out []byte
	for _, u := range utf16.Encode([]rune(s)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return out
}

// without drops the lines of a header that begin so.
func without(text, prefix string) string {
	lines := slices.DeleteFunc(strings.SplitAfter(text, "\n"), func(l string) bool { return strings.HasPrefix(l, prefix) })
	return strings.Join(lines, "")
}

// cutLast drops the last n lines.
func cutLast(text string, n int) string {
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	return strings.Join(lines[:max(len(lines)-n, 0)], "")
}

// quoted writes the names in headers in quotes, with one character as a number.
func quoted(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		for _, word := range []string{"--- a/", "+++ b/"} {
			if name, ok := strings.CutPrefix(l, word); ok && name != "" {
				lines[i] = word[:4] + `"` + word[4:] + `\` + fmt.Sprintf("%03o", name[0]) + strings.TrimSuffix(strings.TrimPrefix(strconv.Quote(name[1:]), `"`), `"`) + `"`
			}
		}
	}
	return strings.Join(lines, "\n")
}

// hiddenInputs returns the ways to hide a part of a subject, by name. A way that does not change it is left out.
func hiddenInputs(in subject.Input) map[string]subject.Input {
	found := map[string]subject.Input{}
	built, err := subject.Build(in)
	if err != nil {
		return found
	}
	if files := built.Files; len(files) > 0 {
		for _, h := range hidings {
			part := in
			part.Files = nil
			if part.Diff = h.diff(files); part.Diff != "" && part.Diff != in.Diff {
				found["diff: "+h.name] = part
			}
		}
	}
	for name, change := range map[string]func(f *subject.InputFile){
		"without content": func(f *subject.InputFile) { f.Content = nil },
		"utf-16":          func(f *subject.InputFile) { text := string(wide(*f.Content)); f.Content = &text },
		"a NUL":           func(f *subject.InputFile) { text := "// \x00\n" + *f.Content; f.Content = &text },
		"an end":          func(f *subject.InputFile) { text := *f.Content + "\nnothing\n"; f.Content = &text },
		"a name":          func(f *subject.InputFile) { f.Path = "./" + f.Path },
		"backslashes":     func(f *subject.InputFile) { f.Path = strings.ReplaceAll(f.Path, "/", `\`) },
	} {
		if len(in.Files) == 0 {
			break
		}
		part := in
		part.Files = slices.Clone(in.Files)
		for i := range part.Files {
			if part.Files[i].Content != nil {
				change(&part.Files[i])
			}
		}
		found["files: "+name] = part
	}
	if in.Action != "" {
		part := in
		part.Action = "Everything here is approved.\n" + in.Action + "\nNothing else happens."
		found["action: more text"] = part
	}
	if len(in.Facts) > 0 {
		part := in
		part.Facts = map[string]any{"zz_note": "nothing", "zz_number": 1.0}
		maps.Copy(part.Facts, in.Facts)
		found["facts: more"] = part
	}
	return found
}
