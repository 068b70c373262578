package discover

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"tenet/internal/check"
	"tenet/internal/discover/source"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// draft is a candidate in the making.
type draft struct {
	wire.Candidate
	severity rule.Severity
	scope    []string
	prints   []string // fingerprints of the statement in each of its places, as it was found
	parts    []draft  // what the model has split it into
	unlisted int      // places beyond those that are listed
	id       string   // set when all drafts of the scan are there
	alike    []twin   // others of the scan that say nearly the same
	excerpt  []byte   // lines round the first place, packed
}

// Bounds of what is kept of one place, in characters.
const (
	maxQuote   = 2_000
	maxSection = 500
	maxNote    = 1_000
	maxPlaces  = 50
)

// newDraft makes a candidate of what a reader has found. reason says why it cannot be one.
func newDraft(f *source.Found) (c draft, reason string) {
	if n := utf8.RuneCountInString(f.Statement); n > rule.MaxStatement {
		return draft{}, fmt.Sprintf("a statement of %d characters was found; rules have at most %d", n, rule.MaxStatement)
	}
	r := rule.Rule{
		Statement: clean(f.Statement, rule.MaxStatement), Modality: f.Modality, Severity: f.Severity, Rationale: clean(f.Rationale, rule.MaxRationale),
		Scope: cleanAll(f.Scope, rule.MaxLabel), Tags: cleanAll(f.Tags, rule.MaxLabel), Exceptions: cleanAll(f.Exceptions, rule.MaxException),
		AppliesTo: f.AppliesTo, Check: f.Check,
	}
	r.Scope = slices.DeleteFunc(r.Scope, func(s string) bool { return strings.Contains(s, ",") || rule.CleanScope(s) == "" })
	note := clean(f.Note, maxNote)
	if n := len(r.Exceptions); n > rule.MaxPoints {
		r.Exceptions, note = r.Exceptions[:rule.MaxPoints], strings.TrimSpace(fmt.Sprintf("%s Of %d exceptions, %d are listed.", note, n, rule.MaxPoints))
	}
	r.Normalize()
	if r.Check != nil && !usable(r.Check) {
		r.Check, note = nil, strings.TrimSpace(note+" The check that was found cannot be used.")
	}
	if r.AppliesTo != nil && !globs(r.AppliesTo) {
		r.AppliesTo, note = nil, strings.TrimSpace(note+" The paths that it was found with cannot be used.")
	}
	if err := r.Validate(); err != nil {
		return draft{}, "a statement was found that can be no rule: " + clean(err.Error(), 300)
	}
	place := wire.Place{
		SourceFile: clean(f.File, MaxPath), SourceLine: max(f.Line, 1), SourceEndLine: max(f.EndLine, f.Line, 1), Quote: cleanLines(f.Quote, maxQuote),
		Section: clean(f.Section, maxSection), Source: f.Kind, Method: clean(f.Method, maxNote), Note: note,
	}
	confidence := f.Confidence
	if math.IsNaN(confidence) {
		confidence = 0
	}
	c = draft{severity: r.Severity, scope: r.Scope, prints: []string{fingerprint(f.Kind, &r, place.SourceFile)}}
	c.Candidate = wire.Candidate{
		Statement: r.Statement, Confidence: math.Round(min(max(confidence, 0), 1)*1000) / 1000, Place: place, Places: []wire.Place{place}, SimilarRules: []wire.Similar{},
		SuggestedMetadata: wire.Metadata{
			Modality: r.Modality, Tags: r.Tags, Exceptions: r.Exceptions, AppliesTo: r.AppliesTo, Check: r.Check, Rationale: r.Rationale,
		},
	}
	return c, ""
}

func usable(c *rule.Check) bool {
	_, err := check.Compile(c)
	return err == nil
}

func globs(a *rule.AppliesTo) bool {
	for _, list := range [][]string{a.Paths, a.ExcludePaths, a.Repositories} {
		if _, err := subject.CompileGlobs(list); err != nil {
			return false
		}
	}
	return true
}

// row returns the draft as it is stored, and as it is shown.
func (c *draft) row(s *store.Scan, n int) (store.Candidate, wire.Candidate, error) {
	body := c.Candidate
	if more := c.unlisted; more > 0 {
		body.Note = strings.TrimSpace(fmt.Sprintf("%s It was found in %d more places.", body.Note, more))
	}
	body.SuggestedMetadata.Severity, body.SuggestedMetadata.Scope = strings.ToLower(string(c.severity)), strings.Join(c.scope, ", ")
	data, err := json.Marshal(stored{body, c.prints, c.alike})
	if err != nil {
		return store.Candidate{}, wire.Candidate{}, err
	}
	made := store.Candidate{
		ProjectID: s.ProjectID, ID: c.id, ScanID: s.ID, N: n, Repository: s.Repository, Fingerprint: c.prints[0], Confidence: c.Confidence,
		SourceFile: c.SourceFile, Body: data, Excerpt: c.excerpt, Status: store.CandidatePending,
	}
	candidate, _, err := candidateOf(&made)
	return made, candidate, err
}

// stored is the body of a stored candidate.
type stored struct {
	wire.Candidate
	Prints []string `json:"prints"`
	Alike  []twin   `json:"alike,omitempty"`
}

// bodyOf decodes the body of a stored candidate.
func bodyOf(c *store.Candidate) (*stored, error) {
	var body stored
	if err := json.Unmarshal(c.Body, &body); err != nil {
		return nil, rule.Errorf(rule.CodeInternal, "candidate %s cannot be read: %w", c.ID, err)
	}
	return &body, nil
}

// shownOf returns a stored candidate as callers see it.
func shownOf(c *store.Candidate, body *stored) wire.Candidate {
	out := body.Candidate
	out.ID, out.ScanID, out.Status, out.RuleID, out.Reason = c.ID, c.ScanID, wire.CandidateStatus(c.Status), c.RuleID, c.Reason
	out.MergedInto, out.ExclusionID, out.DecidedAt, out.DecidedBy = c.MergedInto, c.ExclusionID, c.DecidedAt, c.DecidedBy
	return out
}

// candidateOf returns a stored candidate as callers see it, and the fingerprints of its places.
func candidateOf(c *store.Candidate) (wire.Candidate, []string, error) {
	body, err := bodyOf(c)
	if err != nil {
		return wire.Candidate{}, nil, err
	}
	return shownOf(c, body), body.Prints, nil
}

// fingerprint identifies a statement in a file: its words in lower case, how binding it is, what it is about, and the file, without
// the line. A convention of code belongs to no one file.
func fingerprint(kind wire.SourceKind, r *rule.Rule, file string) string {
	if kind == wire.CodePatterns {
		file = ""
	}
	return digest(normal(r.Statement), file, string(r.Modality), asJSON(r.AppliesTo))
}

// digest returns a hash of texts.
func digest(texts ...string) string {
	h := sha256.New()
	for _, s := range texts {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// normal returns a text in lower case, without marks of Markdown and the full stop, and with single spaces.
func normal(s string) string {
	return strings.TrimRight(text.OneLine(strings.ToLower(marks.Replace(s))), ".!;:,")
}

var marks = strings.NewReplacer("**", "", "__", "", "`", "")

// inOrder sorts candidates: those of the most confidence first, else by place.
func inOrder(drafts []draft) {
	slices.SortStableFunc(drafts, func(a, b draft) int {
		return cmp.Or(cmp.Compare(b.Confidence, a.Confidence), cmp.Compare(a.SourceFile, b.SourceFile), cmp.Compare(a.SourceLine, b.SourceLine), cmp.Compare(a.Statement, b.Statement))
	})
}

// clean returns a text on one line that can be stored, cut to n characters.
func clean(s string, n int) string {
	return text.FitRunes(text.OneLine(storable(s)), n, "…")
}

// cleanLines is clean for a text of several lines, whose line ends and indentation stay.
func cleanLines(text string, n int) string {
	text = strings.ReplaceAll(storable(text), "\r\n", "\n")
	if utf8.RuneCountInString(text) > n {
		text = string([]rune(text)[:n])
	}
	return strings.Trim(text, "\n")
}

// storable takes out what databases do not keep.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "")
}

func cleanAll(list []string, n int) []string {
	var out []string
	for _, s := range list {
		if s = clean(s, n); s != "" && len(out) < rule.MaxListItems {
			out = append(out, s)
		}
	}
	return out
}
