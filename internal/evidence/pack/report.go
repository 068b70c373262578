package pack

import (
	"html/template"
	"io"
	"slices"
	"time"
)

// maxReported bounds the rules in a report.
const maxReported = 1000

// writeReport writes the figures of a pack for people.
func writeReport(to io.Writer, m *Manifest) error {
	return reportPage.Execute(to, map[string]any{
		"M": m, "F": m.Figures, "Rules": m.Figures.Rules[:min(len(m.Figures.Rules), maxReported)], "More": max(0, len(m.Figures.Rules)-maxReported),
		"Kinds": pairs(m.Figures.Kinds), "Verdicts": pairs(m.Figures.Verdicts), "Evaluations": m.Figures.Kinds["evaluation"],
	})
}

// pair is a name with its number.
type pair struct {
	Name  string
	Count int
}

func pairs(of map[string]int) []pair {
	out := make([]pair, 0, len(of))
	for name, n := range of {
		out = append(out, pair{name, n})
	}
	slices.SortFunc(out, func(a, b pair) int {
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return out
}

var reportPage = template.Must(template.New("report").Funcs(template.FuncMap{
	"time": func(t any) string {
		switch t := t.(type) {
		case time.Time:
			return t.UTC().Format(time.DateTime) + " UTC"
		case *time.Time:
			if t != nil {
				return t.UTC().Format(time.DateTime) + " UTC"
			}
		}
		return "none"
	},
}).Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Evidence of {{.M.ProjectID}}</title>
<style>
:root{color-scheme:light dark;font:15px/1.5 system-ui,sans-serif}
body{max-width:64rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid color-mix(in srgb,currentColor 18%,transparent);vertical-align:top;overflow-wrap:anywhere}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
code{font-size:.9em;overflow-wrap:anywhere}
p.note{opacity:.75}
div.wide{overflow-x:auto}
</style>
</head>
<body>
<h1>Evidence of the project {{.M.ProjectID}}</h1>
<p class="note">{{.M.Query}}</p>
<table>
<tr><th scope="row">Entries</th><td>{{.F.Entries}}{{if .F.Entries}}, numbers {{.F.First}} to {{.F.Last}}, {{time .F.From}} to {{time .F.To}}{{end}}</td></tr>
<tr><th scope="row">Evaluations</th><td>{{.Evaluations}}{{range .Verdicts}} · {{.Count}} {{.Name}}{{end}}</td></tr>
<tr><th scope="row">Recorded without secrets</th><td>{{.F.Redacted}}</td></tr>{{if .F.Sealed}}
<tr><th scope="row">With encrypted personal data</th><td>{{.F.Sealed}}</td></tr>
<tr><th scope="row">Keys of people deleted</th><td>{{index .F.Kinds "privacy"}}</td></tr>{{end}}
<tr><th scope="row">Bodies removed under the retention setting</th><td>{{.F.Removed}}</td></tr>
<tr><th scope="row">Bodies that administrators export</th><td>{{.F.Withheld}}</td></tr>
<tr><th scope="row">Log</th><td><code>{{.M.Log}}</code>, checkpoint of {{.M.Checkpoint}} entries, {{time .M.At}}</td></tr>
</table>
<h2>Entries by kind</h2>
<table>{{range .Kinds}}<tr><th scope="row">{{.Name}}</th><td class="n">{{.Count}}</td></tr>{{else}}<tr><td>none</td></tr>{{end}}</table>
<h2>Rules that decided</h2>
<div class="wide"><table>
<thead><tr><th>Rule</th><th>Severity</th><th class="n">Denied</th><th class="n">To confirm</th><th class="n">Waived</th><th class="n">Allowed</th></tr></thead>
<tbody>{{range .Rules}}<tr><td>{{if .Slug}}<strong>{{.Slug}}</strong> {{end}}{{.Statement}}<br><code>{{.ID}}</code></td><td>{{.Severity}}</td><td class="n">{{.Denied}}</td><td class="n">{{.Confirm}}</td><td class="n">{{.Waived}}</td><td class="n">{{.Allowed}}</td></tr>
{{else}}<tr><td colspan="6">none</td></tr>{{end}}</tbody>
</table></div>
{{if .More}}<p class="note">{{.More}} more rules are in manifest.json.</p>{{end}}
<h2>Check it</h2>
<p>This page proves nothing. The files beside it do: <code>tenet audit check PACK.zip --policy KEYS</code> checks each entry, record and rule, and this page, offline. Get the keys of the
policy from the people who hold them.</p>
</body>
</html>
`))
