package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"tenet/internal/rule"
	"tenet/internal/text"
)

// fingerprint is the key of our partial fingerprints. Its last part is raised whenever they are computed otherwise.
const fingerprint = "tenetRuleAndSnippet/v1"

// wholeSubject is the artifact of results that concern no one place. Code scanners refuse results without any.
const wholeSubject = "subject"

// sarifResults is how many results GitHub's code scanning takes in a run: it refuses one with more. Tests lower it.
var sarifResults = 25_000

// Bounds on texts, which keep a full run within GitHub's limit of 10 MB compressed.
const (
	sarifDescription = 1024 // characters of the description of a rule
	sarifText        = 4000 // characters
)

// writeSARIF writes one run. Every rule that was judged is described; a DENY is a result at the level of the rule's
// severity, a NEEDS_CONFIRMATION one at level warning, since viewers hide results of kind review. A verdict with several
// places is a result for each, because each can be mended alone. Rules in shadow are suppressed results. What was not
// examined is a notification of the invocation.
func writeSARIF(b *bytes.Buffer, e *rule.Evaluation, o Options) error {
	version := semantic(o.Version)
	numbers, _, _ := strings.Cut(version, "-")
	driver := sarif.NewToolComponent().WithName("tenet").WithFullName("Tenet " + version).WithVersion(numbers).WithSemanticVersion(version).
		WithRules([]*sarif.ReportingDescriptor{})
	if o.Server != "" {
		driver.WithInformationURI(o.Server + "/docs")
	}
	run := sarif.NewRun().WithTool(sarif.NewTool().WithDriver(driver)).WithColumnKind("unicodeCodePoints")
	run.AddInvocation(sarifInvocation(e))
	run.Properties = sarif.NewPropertyBag().Add("evaluation_id", e.EvaluationID).Add("project_id", e.ProjectID).
		Add("overall_verdict", e.OverallVerdict).Add("mode", e.Mode).Add("corpus_version", e.CorpusVersion).
		Add("coverage", e.Coverage)
	index := map[string]int{}
	seen := map[string]int{}
	left := 0
	for i := range e.RuleVerdicts {
		v := &e.RuleVerdicts[i]
		if _, ok := index[v.RuleID]; !ok {
			index[v.RuleID] = len(driver.Rules)
			driver.AddRule(sarifRule(v, e.ProjectID, o))
		}
		if v.Verdict == rule.Allow {
			continue
		}
		for _, l := range places(v) {
			what := identify(v, l)
			seen[what]++
			if len(run.Results) == sarifResults {
				left++
				continue
			}
			result := sarifResult(v, l).WithRuleIndex(index[v.RuleID])
			if o.Known[v] {
				result.WithBaselineState("unchanged")
			}
			result.PartialFingerprints = map[string]string{fingerprint: fmt.Sprintf("%s:%d", what, seen[what])}
			run.AddResult(result)
		}
	}
	if left > 0 {
		run.Invocations[0].AddToolExecutionNotification(sarif.NewNotification().WithLevel(sarif.LevelWarning).
			WithMessage(sarif.NewTextMessage("Left out, because code scanners have a limit: " + text.Plural(left, "result") + ".")))
	}
	report := sarif.NewReport()
	report.AddRun(run)
	return writeJSON(b, pruned(report))
}

// pruned returns a report without the -1 that the library writes for absent indexes, offsets and ranks.
func pruned(report *sarif.Report) any {
	text, err := json.Marshal(report)
	if err != nil {
		return report // writeJSON reports the error
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return report
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, inner := range v {
				switch {
				case key == "properties": // ours
				case inner == json.Number("-1"):
					delete(v, key)
				default:
					walk(inner)
				}
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(v)
	return v
}

// semantic returns a version in the form of SemVer; that of a program that was built from source begins with 0.0.0.
func semantic(version string) string {
	version = strings.TrimPrefix(version, "v")
	if semver.MatchString(version) {
		return version
	}
	return strings.TrimSuffix("0.0.0-"+notVersion.ReplaceAllString(version, "-"), "-")
}

var (
	semver     = regexp.MustCompile(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	notVersion = regexp.MustCompile(`[^0-9A-Za-z-]+`)
)

// maxNameWords bounds the words of the name of a rule.
const maxNameWords = 8

// title makes a name of a statement in the form that viewers expect: KeysMustNotBeInCode. It is empty for a statement without letters of ASCII.
func title(statement string) string {
	var b strings.Builder
	words := 0
	for word := range strings.FieldsFuncSeq(strings.ReplaceAll(statement, "'", ""), func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		if words++; words > maxNameWords {
			break
		}
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	name := b.String()
	if name == "" || !unicode.IsLetter(rune(name[0])) {
		return ""
	}
	return name
}

// places lists the locations of a verdict; a single nil, which means the whole subject, if it has none.
func places(v *rule.RuleVerdict) []*rule.Location {
	if len(v.Locations) == 0 {
		return []*rule.Location{nil}
	}
	list := make([]*rule.Location, len(v.Locations))
	for i := range v.Locations {
		list[i] = &v.Locations[i]
	}
	return list
}

func sarifInvocation(e *rule.Evaluation) *sarif.Invocation {
	inv := sarif.NewInvocation().WithExecutionSuccessful(true)
	if !e.Timestamp.IsZero() {
		inv.WithStartTimeUtc(e.Timestamp.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	warn := func(text string) {
		inv.AddToolExecutionNotification(sarif.NewNotification().WithLevel(sarif.LevelWarning).WithMessage(sarif.NewTextMessage(text)))
	}
	for _, notice := range e.Notices {
		warn(notice)
	}
	for _, u := range e.Coverage.Unexamined {
		warn("Not examined: " + u.Part + ": " + u.Reason)
	}
	if n := e.Coverage.RulesCut; n > 0 {
		warn(text.Plural(n, "rule") + " beyond max_rules not judged.")
	}
	return inv
}

func sarifRule(v *rule.RuleVerdict, project string, o Options) *sarif.ReportingDescriptor {
	help := fmt.Sprintf("%s\n\n%s, severity %s, enforcement %s, version %d.", v.RuleStatement, v.Modality, v.Severity, v.Enforcement, v.RuleVersion)
	tags := []string{}
	full := o.Rules[v.RuleID]
	if full != nil {
		if full.Rationale != "" {
			help += "\n\nWhy: " + full.Rationale
		}
		for _, ref := range full.SourceRefs {
			help += "\n\nSource: " + strings.TrimSpace(ref.URI+" "+ref.Section)
		}
		tags = append(tags, full.Tags...)
	}
	short := headline(v.RuleStatement, 120)
	d := sarif.NewRule(name(v)).
		WithShortDescription(sarif.NewMultiformatMessageString().WithText(short)).
		WithFullDescription(sarif.NewMultiformatMessageString().WithText(text.FitRunes(v.RuleStatement, sarifDescription, "..."))).
		WithHelp(sarif.NewMultiformatMessageString().WithText(text.FitRunes(help, sarifText, "...")))
	if t := title(v.RuleStatement); t != "" && t != name(v) {
		d.WithName(t)
	}
	if uri := helpURI(v, full, project, o.Server); uri != "" {
		d.WithHelpURI(uri)
	}
	d.DefaultConfiguration = sarif.NewReportingConfiguration()
	d.DefaultConfiguration.Level = level(v.Severity)
	d.Properties = sarif.NewPropertyBag().Add("rule_id", v.RuleID).Add("rule_version", v.RuleVersion).
		Add("severity", v.Severity).Add("modality", v.Modality).Add("enforcement", v.Enforcement).Add("problem.severity", problemSeverity(v.Severity))
	// Code scanners take every rule with this figure for one about security.
	if full == nil || slices.Contains(tags, "security") {
		d.Properties.Add("security-severity", securitySeverity(v.Severity))
	}
	if len(tags) > 0 {
		d.Properties.Add("tags", tags)
	}
	return d
}

// helpURI returns the address of a rule: its page in the console, or without a server the source that it comes from.
func helpURI(v *rule.RuleVerdict, full *rule.Rule, project, server string) string {
	if server != "" {
		return server + "/p/" + url.PathEscape(project) + "/rules/" + url.PathEscape(v.RuleID)
	}
	if full == nil {
		return ""
	}
	for _, ref := range full.SourceRefs {
		if u, err := url.Parse(ref.URI); err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" {
			return u.String()
		}
	}
	return ""
}

func sarifResult(v *rule.RuleVerdict, l *rule.Location) *sarif.Result {
	s := reason(v, false)
	for _, line := range proof(v) {
		s += "\n" + line
	}
	if s = strings.TrimSpace(s); s == "" {
		s = v.RuleStatement
	}
	if v.FixSuggestion != "" {
		s += "\nFix: " + v.FixSuggestion
	}
	result := sarif.NewRuleResult(name(v)).WithLevel(level(v.Severity)).WithMessage(sarif.NewTextMessage(text.FitRunes(s, sarifText, "...")))
	result.AddLocation(sarifLocation(l))
	if v.Verdict != rule.Deny {
		result.Level = sarif.LevelWarning
	}
	if v.Waiver != nil {
		result.AddSuppression(sarif.NewSuppression().WithKind("external").WithStatus("accepted").WithJustification(text.FitRunes(waiver(v.Waiver), sarifText, "...")))
	}
	if v.Enforcement == rule.Shadow {
		result.AddSuppression(sarif.NewSuppression().WithKind("external").
			WithJustification("The rule is in shadow: its verdict is recorded and does not count."))
	}
	result.Properties = sarif.NewPropertyBag().Add("verdict", v.Verdict).Add("decided_by", v.DecidedBy).Add("confidence", v.Confidence)
	return result
}

func sarifLocation(l *rule.Location) *sarif.Location {
	artifact := sarif.NewArtifactLocation()
	region := sarif.NewRegion()
	if l == nil {
		artifact.WithURI(wholeSubject).WithDescription(sarif.NewTextMessage("The subject as a whole: no one place is concerned."))
		region.WithStartLine(1)
	} else {
		artifact.WithURI(fileURI(l.FilePath))
		region.WithStartLine(max(1, l.StartLine)).WithEndLine(max(1, l.StartLine, l.EndLine))
		if l.Snippet != "" {
			region.WithSnippet(sarif.NewArtifactContent().WithText(text.FitRunes(l.Snippet, sarifText, "...")))
		}
	}
	return sarif.NewLocationWithPhysicalLocation(sarif.NewPhysicalLocation().WithArtifactLocation(artifact).WithRegion(region))
}

// fileURI writes a path as a URI reference relative to the repository, so that no character of it has another meaning.
func fileURI(path string) string {
	segments := strings.Split(strings.ToValidUTF8(path, "\uFFFD"), "/")
	for i, s := range segments {
		segments[i] = strings.ReplaceAll(url.PathEscape(s), ":", "%3A")
	}
	uri := strings.Join(segments, "/")
	switch {
	case uri == "":
		return wholeSubject
	case strings.HasPrefix(uri, "/"):
		return "file:///" + strings.TrimLeft(uri, "/")
	}
	return uri
}

// identify names a finding independently of its line, so that it stays the same finding when lines above it come and go. It takes the slug and not the id, which differs from one corpus to the next.
func identify(v *rule.RuleVerdict, l *rule.Location) string {
	parts := []string{name(v)}
	if l != nil {
		parts = append(parts, l.FilePath)
		for line := range strings.Lines(l.Snippet) {
			if words := strings.Fields(line); len(words) > 0 {
				parts = append(parts, strings.Join(words, " "))
			}
		}
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

func level(s rule.Severity) string {
	switch s {
	case rule.Critical, rule.High:
		return sarif.LevelError
	case rule.Medium:
		return sarif.LevelWarning
	case rule.Low:
		return sarif.LevelNote
	default:
		return sarif.LevelWarning
	}
}

// securitySeverity is the CVSS-like figure by which code scanners sort: above 9 critical, from 7 high, from 4 medium.
func securitySeverity(s rule.Severity) string {
	switch s {
	case rule.Critical:
		return "9.5"
	case rule.High:
		return "8.0"
	case rule.Low:
		return "3.0"
	case rule.Medium:
		return "5.5"
	default:
		return "5.5"
	}
}

// problemSeverity is the property that CodeQL's viewers read for rules that are not about security.
func problemSeverity(s rule.Severity) string {
	if l := level(s); l != sarif.LevelNote {
		return l
	}
	return "recommendation"
}
