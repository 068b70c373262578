// Package review writes findings as comments beside the lines of a pull or merge request, on GitHub and GitLab. A comment has a marker with the
// fingerprint of its finding: the next run updates it, and resolves it once the finding is gone, instead of writing another.
//
// Statements, messages and paths are hostile; none of them leaves its place in a comment.
package review

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"tenet/internal/report"
)

// Finding is something that belongs beside a line.
type Finding struct {
	Key  string `json:"key"` // stays the same while lines above it come and go
	Path string `json:"path"`
	Line int    `json:"line"`
	Body string `json:"body"` // Markdown, with the marker
	rank int    // the lower, the worse
}

// Comment is a comment of ours that is there already.
type Comment struct {
	Key      string
	Body     string
	Resolved bool
	ID       string // of the comment
	Thread   string // that it begins
}

// ErrNoPlace says that the forge shows no such line, so that no comment can be beside it.
var ErrNoPlace = errors.New("the line is not in the diff")

// ErrForeign says that a comment belongs to somebody else.
var ErrForeign = errors.New("the comment belongs to somebody else")

// Forge is one pull or merge request.
type Forge interface {
	// Comments lists the comments with a marker.
	Comments(ctx context.Context) ([]Comment, error)
	// Create writes a comment beside a line. It returns ErrNoPlace if the request does not show the line.
	Create(ctx context.Context, f *Finding) error
	// Update replaces the text of a comment; ErrForeign if that is not ours.
	Update(ctx context.Context, c *Comment, body string) error
	// Resolve marks a comment as settled, or with false as open again.
	Resolve(ctx context.Context, c *Comment, resolved bool) error
}

// Outcome counts what a run has done.
type Outcome struct {
	Created   int `json:"created"`
	Updated   int `json:"updated"`
	Unchanged int `json:"unchanged"`
	Resolved  int `json:"resolved"`
	NoPlace   int `json:"no_place"` // findings beside lines that the request does not show
	LeftOut   int `json:"left_out"` // findings beyond the bound
}

// Sync makes the comments of a request those of some findings, of which it writes the worst so many.
func Sync(ctx context.Context, forge Forge, findings []Finding, most int) (Outcome, error) {
	var out Outcome
	there, err := forge.Comments(ctx)
	if err != nil {
		return out, err
	}
	byKey := map[string][]*Comment{}
	for i := range there {
		byKey[there[i].Key] = append(byKey[there[i].Key], &there[i])
	}
	findings = slices.Clone(findings)
	slices.SortStableFunc(findings, func(a, b Finding) int { return a.rank - b.rank })
	wanted := map[string]bool{}
	written := 0
	for i := range findings {
		f := &findings[i]
		if wanted[f.Key] {
			continue
		}
		wanted[f.Key] = true
		if written == most {
			out.LeftOut++
			continue
		}
		switch err := write(ctx, forge, f, byKey[f.Key], &out); {
		case errors.Is(err, ErrNoPlace):
			out.NoPlace++
		case err != nil:
			return out, err
		default:
			written++
		}
	}
	for i := range there {
		c := &there[i]
		if wanted[c.Key] || c.Resolved {
			continue
		}
		switch err := forge.Resolve(ctx, c, true); {
		case errors.Is(err, ErrForeign):
		case err != nil:
			return out, err
		default:
			out.Resolved++
		}
	}
	return out, nil
}

// write updates the comment of a finding, or makes one.
func write(ctx context.Context, forge Forge, f *Finding, there []*Comment, out *Outcome) error {
	for _, c := range there {
		same := strings.TrimSpace(strings.ReplaceAll(c.Body, "\r", "")) == strings.TrimSpace(f.Body)
		if !same {
			if err := forge.Update(ctx, c, f.Body); errors.Is(err, ErrForeign) {
				continue // somebody has copied the marker
			} else if err != nil {
				return err
			}
		}
		if c.Resolved {
			if err := forge.Resolve(ctx, c, false); err != nil && !errors.Is(err, ErrForeign) {
				return err
			}
		}
		if same && !c.Resolved {
			out.Unchanged++
		} else {
			out.Updated++
		}
		return nil
	}
	err := forge.Create(ctx, f)
	if err == nil {
		out.Created++
	}
	return err
}

var marker = regexp.MustCompile(`^<!-- tenet:review:([0-9a-f]{32}:[0-9]{1,9}) -->`)

// keyOf returns the fingerprint in the marker of a comment, or "".
func keyOf(body string) string {
	if m := marker.FindStringSubmatch(strings.TrimSpace(body)); m != nil {
		return m[1]
	}
	return ""
}

// Bounds of a comment, in characters.
const (
	maxMessage   = 1500
	maxStatement = 300
)

// sarif is the part of a SARIF file of tenet check that comments are made of.
type sarif struct {
	Runs []struct {
		Tool struct {
			Driver struct {
				Name  string
				Rules []struct {
					ID               string
					HelpURI          string
					ShortDescription struct{ Text string }
					Properties       struct{ Severity string }
				}
			}
		}
		Results []struct {
			RuleID              string
			RuleIndex           int
			Level               string
			Message             struct{ Text string }
			BaselineState       string
			Suppressions        []struct{ Kind string }
			PartialFingerprints map[string]string
			Properties          struct{ Verdict string }
			Locations           []struct {
				PhysicalLocation struct {
					ArtifactLocation struct{ URI string }
					Region           struct{ StartLine, EndLine int }
				}
			}
		}
	}
}

// fingerprint is the key of the fingerprints in SARIF files of tenet check.
const fingerprint = "tenetRuleAndSnippet/v1"

// Findings reads the findings of a SARIF file of tenet check that belong beside a line: not those that the base has already, that are waived
// or in shadow, or that concern no one place.
func Findings(data []byte) ([]Finding, error) {
	var doc sarif
	if err := json.Unmarshal(data, &doc); err != nil || len(doc.Runs) != 1 || doc.Runs[0].Tool.Driver.Name != "tenet" {
		return nil, errors.New("the file is not SARIF of tenet check; write it with: tenet check --also sarif=FILE")
	}
	run := &doc.Runs[0]
	var out []Finding
	for i := range run.Results {
		r := &run.Results[i]
		key := r.PartialFingerprints[fingerprint]
		if r.BaselineState == "unchanged" || len(r.Suppressions) > 0 || len(r.Locations) == 0 || keyOf("<!-- tenet:review:"+key+" -->") == "" {
			continue
		}
		at := &r.Locations[0].PhysicalLocation
		path, err := url.PathUnescape(at.ArtifactLocation.URI)
		if err != nil || path == "subject" || path == "" || strings.HasPrefix(path, "/") || strings.HasPrefix(path, "file:") {
			continue
		}
		statement, severity, help := "", "", ""
		if r.RuleIndex >= 0 && r.RuleIndex < len(run.Tool.Driver.Rules) {
			d := &run.Tool.Driver.Rules[r.RuleIndex]
			statement, severity, help = d.ShortDescription.Text, d.Properties.Severity, d.HelpURI
		}
		var b strings.Builder
		fmt.Fprintf(&b, "<!-- tenet:review:%s -->\n**%s** %s, %s: %s\n", key, report.Inline(r.RuleID, maxStatement), report.Inline(severity, 20), said(r.Properties.Verdict),
			report.Inline(statement, maxStatement))
		for line := range strings.SplitSeq(r.Message.Text, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				fmt.Fprintf(&b, "\n%s\n", report.Inline(line, maxMessage))
			}
		}
		if u, err := url.Parse(help); err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" {
			fmt.Fprintf(&b, "\n[About the rule](<%s>)\n", strings.NewReplacer("<", "%3C", ">", "%3E", "\\", "%5C").Replace(u.String()))
		}
		out = append(out, Finding{
			Key: key, Path: path, Line: max(1, at.Region.StartLine, at.Region.EndLine), Body: b.String(),
			rank: cmp.Or(slices.Index([]string{"error", "warning", "note"}, r.Level)+1, 9),
		})
	}
	return out, nil
}

func said(verdict string) string {
	if verdict == "DENY" {
		return "violated"
	}
	return "to be confirmed"
}
