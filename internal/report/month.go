package report

import (
	"bytes"
	"fmt"
	"html/template"
	"strings"
	"text/tabwriter"
	"time"

	"tenet/internal/wire"
)

// MonthFormats are the formats of the report of a month for people.
var MonthFormats = []string{"text", "markdown", "html"}

// month is the report of a month as a document.
type month struct {
	Title    string
	Lines    []string
	Sections []section
}

// section is a table with a title. Without rows it says None instead.
type section struct {
	Title string
	Heads []string
	Rows  [][]string
	None  string
	// Numbers is the first column of numbers; they and all after it are set to the right.
	Numbers int
}

// Month writes the report of a month in one of [MonthFormats]. All texts in it are foreign.
func Month(format string, r *wire.MonthReport) ([]byte, error) {
	m := monthOf(r)
	var b bytes.Buffer
	switch format {
	case "text":
		return m.text(&b)
	case "markdown":
		m.markdown(&b)
		return b.Bytes(), nil
	case "html":
		err := monthPage.Execute(&b, m)
		return b.Bytes(), err
	}
	return nil, fmt.Errorf("report: the format %q is none of %s", format, strings.Join(MonthFormats, ", "))
}

func monthOf(r *wire.MonthReport) *month {
	m := &month{Title: fmt.Sprintf("%s, %s", clean(r.ProjectName), r.From.UTC().Format("January 2006"))}
	say := func(format string, args ...any) { m.Lines = append(m.Lines, fmt.Sprintf(format, args...)) }
	say("Made %s UTC; days are of UTC.", r.GeneratedAt.UTC().Format(time.DateTime))
	if !r.Complete {
		say("The month has not ended.")
	}
	if r.Uncounted > 0 {
		say("%d entries of the audit chain are not counted yet.", r.Uncounted)
	}
	if r.Unfilled > 0 {
		say("%d older entries are still missing from reasons, teams and changes.", r.Unfilled)
	}
	switch a := r.Audit; {
	case a == nil:
		say("Audit chain: not verified for this report.")
	case a.Verified:
		say("Audit chain: verified, yes. %d entries without a problem, up to entry %d (%s).", a.Entries, a.Head.Seq, a.Head.Hash)
	default:
		say("Audit chain: verified, no. %d problems; tenet audit verify names them.", a.Problems)
	}
	m.Sections = append(m.Sections, verdictsOf(r), deniedOf(r), undecidedOf(r), teamsOf(r),
		waiversOf("Waivers granted this month", &r.WaiversGranted), waiversOf("Waivers lapsed this month", &r.WaiversLapsed),
		waiversOf("Waivers lapsing next month", &r.WaiversLapsing), releasesOf(r), changesOf(r))
	return m
}

var monthHeads = []string{"This month", "Month before", "Change"}

// against is a row of a number beside that of the month before.
func against(label string, now, before int64) []string {
	return []string{clean(label), fmt.Sprint(now), fmt.Sprint(before), fmt.Sprintf("%+d", now-before)}
}

func verdictsOf(r *wire.MonthReport) section {
	e, b := &r.Evaluations, &r.EvaluationsThen
	v, w := &r.Verdicts.DecidedBy, &r.VerdictsThen.DecidedBy
	return section{Title: "Verdicts", Heads: append([]string{""}, monthHeads...), Numbers: 1, Rows: [][]string{
		against("Evaluations", e.Total, b.Total), against("ALLOW", e.Allow, b.Allow), against("DENY", e.Deny, b.Deny),
		against("NEEDS_CONFIRMATION", e.Unsure, b.Unsure), against("Incidents (denied after the action)", r.Incidents, r.IncidentsThen),
		against("Verdicts of rules", r.Verdicts.Total, r.VerdictsThen.Total), against("by a check", v.Check, w.Check),
		against("by a model, now or before", v.Model+v.Cache+v.Triage, w.Model+w.Cache+w.Triage), against("by people", v.Approval, w.Approval), against("by nothing", v.None, w.None),
	}}
}

func deniedOf(r *wire.MonthReport) section {
	s := section{Title: "Denied, by rule", Heads: []string{"Rule", "Statement", "Denied", "Month before", "Verdicts"}, Numbers: 2, None: "No rule has denied anything."}
	for i := range r.Denied {
		d := &r.Denied[i]
		s.Rows = append(s.Rows, []string{label(d.RuleID, d.Slug), headline(d.Statement, 100), fmt.Sprint(d.Denied), fmt.Sprint(d.Before), fmt.Sprint(d.Verdicts)})
	}
	return s
}

func undecidedOf(r *wire.MonthReport) section {
	s := section{Title: "Undecided, and why", Heads: append([]string{"Reason"}, monthHeads...), Numbers: 1, None: "Nothing was undecided."}
	for i := range r.Undecided {
		s.Rows = append(s.Rows, against(r.Undecided[i].Meaning, r.Undecided[i].Count, r.Undecided[i].Before))
	}
	return s
}

func teamsOf(r *wire.MonthReport) section {
	s := section{Title: "Teams", Heads: []string{"Owner of rules", "Verdicts", "Denied", "To confirm"}, Numbers: 1, None: "No rule was judged."}
	for i := range r.Teams {
		t := &r.Teams[i]
		name := "without an owner"
		if t.Team != "" {
			name = headline(t.Team, 60)
		}
		s.Rows = append(s.Rows, []string{name, fmt.Sprint(t.Total), fmt.Sprint(t.Deny), fmt.Sprint(t.Unsure)})
	}
	return s
}

func waiversOf(title string, list *wire.WaiverList) section {
	s := section{Title: fmt.Sprintf("%s: %d", title, list.Total), Heads: []string{"Rule", "Repository", "Reason", "Made by", "Ends"}, Numbers: 5, None: "None."}
	for i := range list.Items {
		w := &list.Items[i]
		s.Rows = append(s.Rows, []string{
			label(w.RuleID, w.Slug), headline(w.Repository, 60), headline(w.Reason, 100), headline(w.CreatedBy, 60), w.ExpiresAt.UTC().Format(time.DateOnly),
		})
	}
	return s
}

func releasesOf(r *wire.MonthReport) section {
	s := section{Title: "Releases", Heads: []string{"When (UTC)", "Environment", "What", "Snapshot", "By"}, Numbers: 5, None: "Nothing was deployed."}
	for i := range r.Releases {
		e := &r.Releases[i]
		s.Rows = append(s.Rows, []string{e.At.UTC().Format(time.DateTime), string(e.Environment), clean(e.Action), label(e.SnapshotID, e.SnapshotName), headline(e.By, 60)})
	}
	return s
}

func changesOf(r *wire.MonthReport) section {
	s := section{Title: "Changes of rules, and what else people did", Heads: append([]string{"What"}, monthHeads...), Numbers: 1, None: "Nothing was changed."}
	for i := range r.Changes {
		c := &r.Changes[i]
		name := strings.ReplaceAll(c.Kind, "_", " ")
		if c.Action != "" {
			name += ": " + c.Action
		}
		s.Rows = append(s.Rows, against(name, c.Count, c.Before))
	}
	return s
}

// label names a thing by its name, or else by its id.
func label(id, name string) string {
	if name != "" {
		return headline(name, 60)
	}
	return headline(id, 60)
}

func (m *month) text(b *bytes.Buffer) ([]byte, error) {
	fmt.Fprintf(b, "%s\n%s\n", m.Title, strings.Join(m.Lines, "\n"))
	for i := range m.Sections {
		s := &m.Sections[i]
		fmt.Fprintf(b, "\n%s\n", s.Title)
		if len(s.Rows) == 0 {
			fmt.Fprintf(b, "  %s\n", s.None)
			continue
		}
		t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
		fmt.Fprintf(t, "  %s\n", strings.Join(s.Heads, "\t"))
		for _, row := range s.Rows {
			fmt.Fprintf(t, "  %s\n", strings.ReplaceAll(strings.Join(row, "\t"), "\n", " "))
		}
		if err := t.Flush(); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

func (m *month) markdown(b *bytes.Buffer) {
	fmt.Fprintf(b, "# %s\n\n", escapeMarkdown(m.Title))
	for _, line := range m.Lines {
		fmt.Fprintf(b, "%s\n\n", escapeMarkdown(line))
	}
	for i := range m.Sections {
		s := &m.Sections[i]
		fmt.Fprintf(b, "## %s\n\n", escapeMarkdown(s.Title))
		if len(s.Rows) == 0 {
			fmt.Fprintf(b, "%s\n\n", escapeMarkdown(s.None))
			continue
		}
		markdownRow(b, s.Heads)
		b.WriteString("|")
		for c := range s.Heads {
			if c >= s.Numbers {
				b.WriteString("---:|")
			} else {
				b.WriteString("---|")
			}
		}
		b.WriteByte('\n')
		for _, row := range s.Rows {
			markdownRow(b, row)
		}
		b.WriteByte('\n')
	}
}

func markdownRow(b *bytes.Buffer, cells []string) {
	b.WriteString("|")
	for _, c := range cells {
		fmt.Fprintf(b, " %s |", strings.ReplaceAll(escapeMarkdown(c), "\n", " "))
	}
	b.WriteByte('\n')
}

// monthPage is a page that needs nothing else, and prints well.
var monthPage = template.Must(template.New("month").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title>
<style>
:root { color-scheme: light dark; }
body { font: 14px/1.45 system-ui, sans-serif; max-width: 60rem; margin: 1rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0 0 .5rem; }
h2 { font-size: 1.1rem; margin: 1.5rem 0 .25rem; break-after: avoid; }
p { margin: .2rem 0; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .25rem .5rem; border-bottom: 1px solid #8888; vertical-align: top; overflow-wrap: anywhere; }
th { font-size: .86em; }
.n { text-align: right; font-variant-numeric: tabular-nums; }
tr { break-inside: avoid; }
thead { display: table-header-group; }
@page { margin: 15mm; }
@media print { body { margin: 0; max-width: none; padding: 0; } }
</style>
</head>
<body>
<h1>{{.Title}}</h1>
{{range .Lines}}<p>{{.}}</p>
{{end}}{{range .Sections}}{{$s := .}}<section>
<h2>{{.Title}}</h2>
{{if .Rows}}<table>
<thead><tr>{{range $i, $h := .Heads}}<th scope="col"{{if ge $i $s.Numbers}} class="n"{{end}}>{{$h}}</th>{{end}}</tr></thead>
<tbody>
{{range .Rows}}<tr>{{range $i, $c := .}}<td{{if ge $i $s.Numbers}} class="n"{{end}}>{{$c}}</td>{{end}}</tr>
{{end}}</tbody>
</table>{{else}}<p>{{.None}}</p>{{end}}
</section>
{{end}}</body>
</html>
`))
