package diff

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tenet/internal/proptest"
)

// edit is one step from an old text to a new one.
type edit struct {
	op   Op
	text string
}

// edits finds the steps from old to new by longest common subsequence.
func edits(old, newer []string) []edit {
	length := make([][]int, len(old)+1)
	for i := range length {
		length[i] = make([]int, len(newer)+1)
	}
	for i, o := range slices.Backward(old) {
		for j := len(newer) - 1; j >= 0; j-- {
			if o == newer[j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	var out []edit
	i, j := 0, 0
	for i < len(old) || j < len(newer) {
		switch {
		case i < len(old) && j < len(newer) && old[i] == newer[j]:
			out = append(out, edit{OpContext, old[i]})
			i, j = i+1, j+1
		case i < len(old) && (j == len(newer) || length[i+1][j] >= length[i][j+1]):
			out = append(out, edit{OpDelete, old[i]})
			i++
		default:
			out = append(out, edit{OpAdd, newer[j]})
			j++
		}
	}
	return out
}

// unified writes the hunks of a unified diff with so many lines of context.
func unified(steps []edit, context int, newline string) string {
	near := func(k int) bool {
		for d := max(k-context, 0); d <= min(k+context, len(steps)-1); d++ {
			if steps[d].op != OpContext {
				return true
			}
		}
		return false
	}
	var out strings.Builder
	oldNo, newNo := 1, 1
	for k := 0; k < len(steps); {
		if !near(k) {
			oldNo, newNo, k = oldNo+1, newNo+1, k+1
			continue
		}
		var body strings.Builder
		oldCount, newCount := 0, 0
		for ; k < len(steps) && near(k); k++ {
			if steps[k].op != OpAdd {
				oldCount++
			}
			if steps[k].op != OpDelete {
				newCount++
			}
			fmt.Fprintf(&body, "%c%s%s", steps[k].op, steps[k].text, newline)
		}
		side := func(start, count int) string {
			switch count {
			case 0:
				return fmt.Sprintf("%d,0", start-1)
			case 1:
				return fmt.Sprint(start)
			}
			return fmt.Sprintf("%d,%d", start, count)
		}
		fmt.Fprintf(&out, "@@ -%s +%s @@ section%s%s", side(oldNo, oldCount), side(newNo, newCount), newline, body.String())
		oldNo, newNo = oldNo+oldCount, newNo+newCount
	}
	return out.String()
}

// lineGen draws lines that repeat often and that look like parts of a diff.
var lineGen = rapid.SampledFrom([]string{
	"", " ", "a", "b", "c", "\tindented", "- item", "+ item", "-- a/x", "++ b/x", "--- a/x", "+++ b/x", "@@ -1 +1 @@",
	"diff --git a/x b/x", `\ No newline at end of file`, "Binary files a/x and b/x differ", "-- ", "commit 0123456789abcdef", "ünï",
	"carriage\rreturn", "Index: x", "GIT binary patch",
})

// TestDiffRebuildsNewFile: whatever the two versions of a file are, the subject of their diff gives the new version when it is
// laid over the old one, and every line number indexes exactly that line.
func TestDiffRebuildsNewFile(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		context := rapid.IntRange(0, 4).Draw(t, "context")
		newline := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "newline")
		var diff strings.Builder
		var olds, news [][]string
		for i := range rapid.IntRange(1, 4).Draw(t, "files") {
			old := rapid.SliceOfN(lineGen, 0, 30).Draw(t, "old")
			newer := slices.Clone(old)
			for range rapid.IntRange(0, 6).Draw(t, "changes") {
				at := rapid.IntRange(0, len(newer)).Draw(t, "at")
				to := min(len(newer), at+rapid.IntRange(0, 3).Draw(t, "deleted"))
				newer = slices.Replace(newer, at, to, rapid.SliceOfN(lineGen, 0, 3).Draw(t, "added")...)
			}
			if slices.Equal(old, newer) {
				newer = append(newer, "something")
			}
			fmt.Fprintf(&diff, "diff --git a/f%d b/f%d%s--- a/f%d%s+++ b/f%d%s", i, i, newline, i, newline, i, newline)
			diff.WriteString(unified(edits(old, newer), context, newline))
			olds, news = append(olds, old), append(news, newer)
		}
		files, err := Parse(diff.String())
		if err != nil {
			t.Fatalf("%v\n%s", err, diff.String())
		}
		if len(files) != len(news) {
			t.Fatalf("%d files, want %d", len(files), len(news))
		}
		for i := range files {
			checkLines(t, &files[i], olds[i], news[i])
		}
	})
}

func checkLines(t *rapid.T, f *File, old, newer []string) {
	var rebuilt []string
	next := 1 // the first old line that is not yet in rebuilt or deleted
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			if l.Op != OpDelete && newer[l.New-1] != l.Text {
				t.Fatalf("new line %d is %q, the subject says %q", l.New, newer[l.New-1], l.Text)
			}
			if l.Op == OpAdd {
				if len(rebuilt) < l.New-1 { // lines between hunks
					gap := l.New - 1 - len(rebuilt)
					rebuilt, next = append(rebuilt, old[next-1:next-1+gap]...), next+gap
				}
				rebuilt = append(rebuilt, l.Text)
				continue
			}
			if old[l.Old-1] != l.Text {
				t.Fatalf("old line %d is %q, the subject says %q", l.Old, old[l.Old-1], l.Text)
			}
			rebuilt, next = append(rebuilt, old[next-1:l.Old-1]...), l.Old+1
			if l.Op == OpContext {
				rebuilt = append(rebuilt, l.Text)
			}
		}
	}
	if rebuilt = append(rebuilt, old[next-1:]...); !slices.Equal(rebuilt, newer) {
		t.Fatalf("the subject gives %q, want %q", rebuilt, newer)
	}
}

// TestCombinedDiffRebuildsResult: in a combined diff of a result and its parents, every line of the result that is not in all
// parents is an added one, with its number.
func TestCombinedDiffRebuildsResult(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		parents := rapid.IntRange(2, 4).Draw(t, "parents")
		var body strings.Builder
		var result []Line
		counts, removed := make([]int, parents), 0
		for range rapid.IntRange(1, 20).Draw(t, "lines") {
			content := lineGen.Draw(t, "line")
			in := rapid.SliceOfN(rapid.Bool(), parents, parents).Draw(t, "in")
			deleted := slices.Contains(in, true) && rapid.Bool().Draw(t, "deleted")
			for i, has := range in {
				switch {
				case has:
					counts[i]++
					body.WriteByte(" -"[map[bool]int{false: 0, true: 1}[deleted]])
				case deleted:
					body.WriteByte(' ')
				default:
					body.WriteByte('+')
				}
			}
			body.WriteString(content + "\n")
			if deleted {
				removed++
				continue
			}
			l := Line{Op: OpAdd, New: 7 + len(result), Text: content}
			if !slices.Contains(in, false) {
				l.Op = OpContext
			}
			result = append(result, l)
		}
		diff := "diff --cc x\n--- a/x\n+++ b/x\n" + strings.Repeat("@", parents+1)
		for _, n := range counts {
			diff += fmt.Sprintf(" -5,%d", n)
		}
		diff += fmt.Sprintf(" +7,%d %s\n%s", len(result), strings.Repeat("@", parents+1), body.String())
		files, err := Parse(diff)
		if err != nil {
			t.Fatalf("%v\n%s", err, diff)
		}
		var got []Line
		for _, l := range files[0].NewLines {
			l.Old = 0
			got = append(got, l)
		}
		if !slices.Equal(got, result) || len(files[0].Hunks[0].Lines) != len(result)+removed {
			t.Fatalf("lines are %v, want %v\n%s", got, result, diff)
		}
	})
}
