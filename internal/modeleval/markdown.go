package modeleval

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"tenet/internal/text"
)

// maxWrong is how many wrong cases a Markdown report lists.
const maxWrong = 50

// WriteMarkdown writes the report for people: its figures and, if long, the cases that went wrong. c may be nil.
func (r *Report) WriteMarkdown(w io.Writer, c *Comparison, long bool) error {
	var b strings.Builder
	model := r.Model
	if model == "" {
		model = "no model"
	}
	fmt.Fprintf(&b, "# %s\n\n%d cases, judged %s each, prompts %s.\n\n", plain(model), r.Cases, times(r.Repeat), plain(r.Prompt))
	sets := r.Sets
	if len(sets) != 1 {
		sets = append(slices.Clone(sets), Set{"all", r.Figures})
	}
	rows := [][]string{{"set", "judged", "right", "of decided", "abstained", "undecided", "false ALLOW", "false DENY", "flipped"}}
	cost := [][]string{{"set", "calls", "tokens sent", "received", "p50 s", "p95 s"}}
	for i := range sets {
		f := &sets[i].Figures
		rows = append(rows, []string{
			plain(sets[i].Name), fmt.Sprint(f.Judgements), percent(f.Accuracy), percent(f.AccuracyDecided), percent(share(f.Abstained, f.Judgements)),
			percent(share(f.Undecided, f.Judgements)), fmt.Sprint(f.FalseAllows), fmt.Sprint(f.FalseDenies), fmt.Sprint(f.Flipped),
		})
		cost = append(cost, []string{
			plain(sets[i].Name), fmt.Sprint(f.Cost.Calls), fmt.Sprint(f.Cost.InputTokens), fmt.Sprint(f.Cost.OutputTokens),
			fmt.Sprintf("%.2f", f.P50MS/1000), fmt.Sprintf("%.2f", f.P95MS/1000),
		})
	}
	table(&b, rows)
	rows = [][]string{{"verdict", "expected", "given", "right", "precision", "recall", "F1"}}
	for _, s := range r.Scores {
		rows = append(rows, []string{
			string(s.Verdict), fmt.Sprint(s.Expected), fmt.Sprint(s.Given), fmt.Sprint(s.Right), percent(s.Precision), percent(s.Recall), percent(s.F1),
		})
	}
	table(&b, rows)
	table(&b, cost)
	if r.USD != nil {
		fmt.Fprintf(&b, "The tokens cost %.4f USD, %.6f a judgement.\n\n", *r.USD, *r.USD/float64(max(1, r.Judgements)))
	}
	if r.Triage != nil {
		r.Triage.write(&b)
	}
	if c != nil {
		c.write(&b)
	}
	if long {
		r.writeWrong(&b)
	}
	_, err := io.WriteString(w, strings.TrimSuffix(b.String(), "\n"))
	return err
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func percent(x *float64) string {
	if x == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", *x*100)
}

// table writes rows, the first of which is the head, with columns that line up.
func table(b *strings.Builder, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for n, row := range rows {
		for i, cell := range row {
			b.WriteString("| " + cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)) + " ")
		}
		b.WriteString("|\n")
		if n == 0 {
			for _, width := range widths {
				b.WriteString("|" + strings.Repeat("-", width+2))
			}
			b.WriteString("|\n")
		}
	}
	b.WriteString("\n")
}

func (c *Comparison) write(b *strings.Builder) {
	rows := [][]string{{"compared on " + fmt.Sprint(c.Shared) + " cases", "before", "after", "lost", "gained", "p"}}
	add := func(name string, line Change) {
		rows = append(rows, []string{
			name, fmt.Sprint(line.Before), fmt.Sprint(line.After), fmt.Sprint(line.Lost), fmt.Sprint(line.Gained), fmt.Sprintf("%.3f", line.P),
		})
	}
	add("right", c.Correct)
	add("no false ALLOW", c.Safe)
	if c.Triaged > 0 {
		add("not ruled out by triage", c.Triage)
	}
	table(b, rows)
	if c.Dropped() {
		fmt.Fprintf(b, "This is a significant drop (exact McNemar test, one-sided, p < %v).\n\n", Alpha)
	} else {
		fmt.Fprintf(b, "This is no significant drop (exact McNemar test, one-sided, p < %v).\n\n", Alpha)
	}
}

func (r *Report) writeWrong(b *strings.Builder) {
	rows, wrong := [][]string{{"case", "expected", "got", "because"}}, 0
	for i := range r.Results {
		c := &r.Results[i]
		var got []string
		wrongly := false
		for _, v := range c.Verdicts {
			got = append(got, string(v))
			wrongly = wrongly || v != c.Expected
		}
		if !wrongly {
			continue
		}
		if wrong++; wrong <= maxWrong {
			rows = append(rows, []string{plain(c.ID), string(c.Expected), strings.Join(got, ", "), plain(text.Clip(c.Reason, 160, "..."))})
		}
	}
	if wrong == 0 {
		return
	}
	fmt.Fprintf(b, "## Not as expected: %d of %d cases\n\n", wrong, len(r.Results))
	table(b, rows)
	if wrong > maxWrong {
		fmt.Fprintf(b, "The other %d are in the JSON report.\n\n", wrong-maxWrong)
	}
}

// plain makes text of others fit for a cell of a table: one line without marks, and nothing that a terminal obeys.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0:
			return -1
		case r == '|':
			return '/'
		case r == '<':
			return '‹'
		case r == '`':
			return '\''
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}
