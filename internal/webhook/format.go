package webhook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// Ping is the type of the event that a test sends.
const Ping rule.EventType = "ping"

// render writes an event in a format. The bytes of an event are the same in every attempt.
func render(f wire.WebhookFormat, e *store.WebhookEvent) ([]byte, error) {
	if f == wire.FormatSlack {
		return encode(slackMessage(e))
	}
	return encode(struct {
		Type      rule.EventType  `json:"type"`
		Timestamp time.Time       `json:"timestamp"`
		Data      json.RawMessage `json:"data"`
	}{e.Type, e.Time.UTC(), e.Data})
}

// encode writes JSON without escaping for HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("webhook: writing an event: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Limits of a message, in characters; Slack refuses more.
const (
	maxHeader  = 150
	maxSection = 3000
	maxLine    = 400
	maxLines   = 10
)

type (
	slackText struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	slackBlock struct {
		Type     string     `json:"type"`
		Text     *slackText `json:"text,omitempty"`
		Elements []any      `json:"elements,omitempty"` // [slackText] or [slackButton]
	}
	slackButton struct {
		Type string    `json:"type"`
		Text slackText `json:"text"`
		URL  string    `json:"url"`
	}
	slackBody struct {
		Text   string       `json:"text"`
		Blocks []slackBlock `json:"blocks"`
	}
)

// slackMessage writes an event as a message: a headline, what it is about, and where it comes from. Nothing of it can name
// people or channels, or hide a link.
func slackMessage(e *store.WebhookEvent) slackBody {
	title, lines := summary(e)
	if title == "" {
		title = "Tenet" // Slack refuses a message without text
	}
	if e.Severity != "" {
		title = "[" + string(e.Severity) + "] " + title
	}
	var s strings.Builder
	for i, line := range lines {
		if i == maxLines {
			fmt.Fprintf(&s, "and %d more", len(lines)-i)
			break
		}
		line = escape(text.FitRunes(text.OneLine(line), maxLine, "…")) + "\n"
		if utf8.RuneCountInString(s.String())+utf8.RuneCountInString(line) > maxSection-100 {
			fmt.Fprintf(&s, "and %d more", len(lines)-i)
			break
		}
		s.WriteString(line)
	}
	body := slackBody{
		Text:   escape(title),
		Blocks: []slackBlock{{Type: "header", Text: &slackText{"plain_text", text.FitRunes(title, maxHeader, "…")}}},
	}
	if s.Len() > 0 {
		body.Blocks = append(body.Blocks, slackBlock{Type: "section", Text: &slackText{"mrkdwn", strings.TrimSpace(s.String())}})
	}
	if to := link(e); to != "" {
		body.Blocks = append(body.Blocks, slackBlock{Type: "actions", Elements: []any{slackButton{"button", slackText{"plain_text", "Open in Tenet"}, to}}})
	}
	foot := fmt.Sprintf("%s · project %s · %s · %s", e.Type, e.ProjectID, e.Time.UTC().Format(time.RFC3339), e.ID)
	body.Blocks = append(body.Blocks, slackBlock{Type: "context", Elements: []any{slackText{"mrkdwn", escape(foot)}}})
	return body
}

// maxLink bounds an address in a message, in bytes; Slack refuses longer ones.
const maxLink = 3000

// link is the address of the page of an approval; empty for other events.
func link(e *store.WebhookEvent) string {
	if e.Type != rule.ApprovalRequested && e.Type != rule.ApprovalDecided {
		return ""
	}
	var d struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal(e.Data, &d); err != nil || len(d.URL) > maxLink {
		return ""
	}
	if u, err := url.Parse(d.URL); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return ""
	}
	return d.URL
}

// approvalSummary is a headline for an approval of an action, and lines about it.
func approvalSummary(e *store.WebhookEvent) (title string, lines []string) {
	var a rule.Approval
	if err := json.Unmarshal(e.Data, &a); err != nil {
		return words(string(e.Type)), nil
	}
	what := text.FitRunes(text.OneLine(a.Title), maxHeader/2, "…")
	lines = nonEmpty(about("Action:", a.Title), about("Asked by", cmp.Or(a.AskedBy, a.Requester)), about("Agent", a.Agent), about("For", a.Person), about("Why:", a.Reason))
	for _, r := range a.Rules {
		lines = append(lines, strings.Join(nonEmpty(cmp.Or(r.RuleSlug, r.RuleID), r.Statement, r.Why), ": "))
	}
	if a.Uncovered {
		lines = append(lines, "No rule covers it.")
	}
	if e.Type == rule.ApprovalRequested {
		lines = append(lines, fmt.Sprintf("Needs %s until %s", text.Plural(max(a.Quorum, 1), "approval"), a.ExpiresAt.UTC().Format(time.RFC3339)))
		if a.Escalated {
			return "Substitutes are asked to confirm: " + what, lines
		}
		return "An action waits for approval: " + what, lines
	}
	title = map[rule.ApprovalState]string{
		rule.ApprovalApproved: "An action was approved: ", rule.ApprovalRejected: "An action was rejected: ",
		rule.ApprovalWithdrawn: "A request for approval was withdrawn: ",
	}[a.State]
	if a.Unanswered() {
		title = "Nobody approved in time: "
	}
	for _, d := range a.Decisions {
		lines = append(lines, strings.Join(nonEmpty(about("Decided by", d.By), d.Reason), ": "))
	}
	return cmp.Or(title, "An approval has changed: ") + what, lines
}

// summary is a headline for an event, and lines about it, from what its data holds.
func summary(e *store.WebhookEvent) (title string, lines []string) {
	var d struct {
		Type, Message, Statement, Environment, Action, Actor, Address string
		RuleID                                                        string `json:"rule_id"`
		Note                                                          string `json:"resolution_note"`
		SnapshotID                                                    string `json:"snapshot_id"`
		By                                                            string `json:"deployed_by"`
		SourceFile                                                    string `json:"source_file"`
		Slug, Name, Author, Reason, Approver                          string
		Kind, Said, Judged                                            string
		EvaluationID                                                  string `json:"evaluation_id"`
		RuleSlug                                                      string `json:"rule_slug"`
		CreatedBy                                                     string `json:"created_by"`
		UpdatedBy                                                     string `json:"updated_by"`
		ProposedWhy                                                   string `json:"note"`
		DecidedBy                                                     string `json:"decided_by"`
		Decision                                                      string `json:"decision_note"`
		ExpiresAt                                                     string `json:"expires_at"`
		Environments                                                  []struct{ Environment string }
		Repository, Agent, Person, Server, Edge                       string
		Tools                                                         []rule.ToolChange
		Identity                                                      *rule.Identity
		Acted                                                         []rule.ActedBy
		SuspendedBy                                                   string `json:"suspended_by"`
		LiftedBy                                                      string `json:"lifted_by"`
		LiftReason                                                    string `json:"lift_reason"`
		Pending                                                       int    `json:"candidates_pending"`
		First                                                         []struct {
			Statement  string
			SourceFile string `json:"source_file"`
		}
		Violations []struct {
			RuleID           string `json:"rule_id"`
			RuleSlug         string `json:"rule_slug"`
			RuleStatement    string `json:"rule_statement"`
			IssueDescription string `json:"issue_description"`
		}
	}
	// An event with data of another form is described by its type alone.
	_ = json.Unmarshal(e.Data, &d)
	switch e.Type {
	case rule.ApprovalRequested, rule.ApprovalDecided:
		return approvalSummary(e)
	case rule.AlertCreated:
		return "Alert: " + words(d.Type), append(nonEmpty(d.Message, about("Rule", d.RuleID), about("Edge", d.Edge)), acted(d.Acted)...)
	case rule.AlertResolved:
		return "Alert resolved: " + words(d.Type), append(nonEmpty(d.Message, d.Note, about("Rule", d.RuleID), about("Edge", d.Edge)), acted(d.Acted)...)
	case rule.EvaluationViolated:
		for _, v := range d.Violations {
			name := v.RuleSlug
			if name == "" {
				name = v.RuleID
			}
			lines = append(lines, strings.Join(nonEmpty(name, v.RuleStatement, v.IssueDescription), ": "))
		}
		title, n := "A rule was violated", len(lines)
		if n != 1 {
			title = fmt.Sprintf("%d rules were violated", n)
		}
		if who := about("By", identity(d.Identity)); who != "" {
			lines = append([]string{who}, lines...)
		}
		return title, lines
	case rule.SnapshotDeployed:
		verb := "deployed to "
		if d.Action == "rollback" {
			verb = "rolled back in "
		}
		return "Rules " + verb + text.FitRunes(text.OneLine(d.Environment), maxHeader/2, "…"), nonEmpty(about("Snapshot", d.SnapshotID), about("By", d.By))
	case rule.BreakGlass:
		return "An administrator signed in with a key", nonEmpty(about("By", d.Actor), about("From", d.Address))
	case rule.AgentSuspended:
		return "An agent was suspended" + named(d.Agent), nonEmpty(d.Reason, about("For", d.Person), about("By", d.SuspendedBy))
	case rule.AgentResumed:
		return "An agent may act again" + named(d.Agent), nonEmpty(d.LiftReason, about("For", d.Person), about("By", d.LiftedBy))
	case rule.ToolsHeld, rule.ToolsAccepted:
		for _, t := range d.Tools {
			lines = append(lines, strings.Join(nonEmpty(t.Name, strings.Join(t.Why, ", ")), ": "))
		}
		if e.Type == rule.ToolsAccepted {
			return "Tools of an MCP server were accepted" + named(d.Server), append(lines, nonEmpty(about("Reported by", d.Actor))...)
		}
		return "Tools of an MCP server have changed and are held back" + named(d.Server), append(lines, nonEmpty(about("Reported by", d.Actor))...)
	case rule.VerdictDisputed:
		return "The judge disagrees with a verdict" + named(d.Slug), nonEmpty(d.Statement, about("Given by", d.Kind), about("It said", d.Said), about("The judge", d.Judged), about("Evaluation", d.EvaluationID))
	case rule.CandidateCreated:
		return "A rule was discovered", nonEmpty(d.Statement, about("From", d.SourceFile))
	case rule.RuleSubmitted:
		return "A rule waits for approval" + named(d.Slug), nonEmpty(d.Statement, about("By", d.UpdatedBy))
	case rule.EventRevisionProposed:
		return "A revision waits for approval" + named(d.Slug), nonEmpty(d.ProposedWhy, about("By", d.Author))
	case rule.EventRevisionApproved:
		return "A revision was approved" + named(d.Slug), nonEmpty(d.Decision, about("By", d.DecidedBy), about("Proposed by", d.Author))
	case rule.EventRevisionRejected:
		return "A revision was rejected" + named(d.Slug), nonEmpty(d.Decision, about("By", d.DecidedBy), about("Proposed by", d.Author))
	case rule.WaiverRequested:
		return "A waiver waits for approval" + named(d.RuleSlug), nonEmpty(d.Reason, about("By", d.CreatedBy), about("Asked for", d.Approver), about("Until", d.ExpiresAt))
	case rule.SnapshotApprovalRequested:
		var where []string
		for _, e := range d.Environments {
			where = append(where, e.Environment)
		}
		return "A snapshot waits for approval" + named(d.Name), nonEmpty(about("For", strings.Join(where, ", ")), about("By", d.CreatedBy))
	case rule.CandidatesFound:
		for _, c := range d.First {
			lines = append(lines, strings.Join(nonEmpty(c.Statement, c.SourceFile), ": "))
		}
		if d.Repository != "" {
			lines = append([]string{about("In", d.Repository)}, lines...)
		}
		if d.Pending == 1 {
			return "1 candidate rule waits for a decision", lines
		}
		return fmt.Sprintf("%d candidate rules wait for a decision", d.Pending), lines
	case Ping:
		return "Tenet can reach you", nonEmpty(d.Message)
	}
	return words(string(e.Type)), nil
}

// identity names an agent, its person and its session, and what of it is only a claim; empty for nil.
func identity(i *rule.Identity) string {
	if i == nil {
		return ""
	}
	name := func(what, field, value string) string {
		if value != "" && i.Claims(field) {
			value += " (claimed)"
		}
		return about(what, value)
	}
	return strings.Join(nonEmpty(name("agent", "agent", i.Agent), name("for", "person", i.Person), name("session", "session", i.Session)), ", ")
}

// acted has a line for each of those who have caused an alert.
func acted(list []rule.ActedBy) []string {
	var lines []string
	for i := range list {
		who := &list[i]
		line := "By " + strings.Join(nonEmpty(who.Actor, identity(&who.Identity)), ", ")
		if who.Evaluations > 0 {
			line += ": " + text.Plural(who.Evaluations, "denial")
		}
		lines = append(lines, line)
	}
	return lines
}

// named is a name for the end of a headline.
func named(name string) string {
	if name == "" {
		return ""
	}
	return ": " + text.FitRunes(text.OneLine(name), maxHeader/2, "…")
}

func about(what, value string) string {
	if value == "" {
		return ""
	}
	return what + " " + value
}

func nonEmpty(list ...string) []string {
	var out []string
	for _, s := range list {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// words is a name such as high_deny_rate for people.
func words(name string) string {
	return text.FitRunes(text.OneLine(strings.NewReplacer("_", " ", ".", " ").Replace(name)), maxHeader/2, "…")
}

// escape keeps text from naming people and channels and from hiding links, which are all in angle brackets in Slack's markup.
func escape(s string) string { return slackEscapes.Replace(s) }

var slackEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
