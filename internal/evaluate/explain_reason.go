package evaluate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// maxNamed bounds the names that a reason lists.
const maxNamed = 4

// explain describes a rule and the reasons of its part.
func (x *explanation) explain(l *listed) wire.ExplainedRule {
	r := l.Rule
	out := wire.ExplainedRule{
		RuleID: r.ID, RuleSlug: r.Slug, Statement: r.Statement, Severity: r.Severity, Modality: r.Modality, Status: r.Status, Part: l.part,
	}
	w := &reasons{explanation: x, listed: l, open: x.query.Open(r)}
	w.status()
	w.severity()
	w.scope()
	w.node()
	w.appliesTo()
	w.check()
	if l.part == wire.PartOverridden {
		out.ByRuleID, out.ByRuleSlug = l.by, w.overridden()
	}
	for _, other := range l.weak {
		w.add("override", wire.MetYes, "%s says that it overrides this rule, but is weaker (%s), so both are asked", other.by.Label(), strings.Join(other.ways, ", "))
	}
	rank := map[wire.ReasonMet]int{wire.MetNo: 0, wire.MetOpen: 1, wire.MetYes: 2}
	slices.SortStableFunc(w.list, func(a, b wire.RuleReason) int { return rank[a.Met] - rank[b.Met] })
	out.Reasons = w.list
	return out
}

// reasons collects the reasons of one rule.
type reasons struct {
	*explanation
	*listed

	open corpus.Conditions
	list []wire.RuleReason
}

func (w *reasons) add(about string, met wire.ReasonMet, format string, args ...any) {
	w.list = append(w.list, wire.RuleReason{About: about, Met: met, Text: fmt.Sprintf(format, args...)})
}

// met says whether the rule meets a condition.
func (w *reasons) met(c corpus.Conditions) wire.ReasonMet {
	switch {
	case w.unmet.Has(c):
		return wire.MetNo
	case w.open.Has(c):
		return wire.MetOpen
	}
	return wire.MetYes
}

func (w *reasons) status() {
	r := w.Rule
	if met := w.met(corpus.InStatus); met == wire.MetNo {
		w.add("status", met, "it is %s; only APPROVED and EFFECTIVE rules are asked", r.Status)
	} else if !r.Judged() {
		w.add("status", met, "it is %s and %s, which is shown as context and never judged", r.Status, r.Modality)
	} else {
		w.add("status", met, "it is %s", r.Status)
	}
	if p := r.EffectivePeriod; p.From != nil || p.Until != nil {
		switch now := w.query.Now; {
		case p.From != nil && now.Before(*p.From):
			w.add("period", wire.MetNo, "it begins to hold on %s", moment(*p.From))
		case p.Until != nil && !now.Before(*p.Until):
			w.add("period", wire.MetNo, "it ended on %s", moment(*p.Until))
		case p.Until != nil:
			w.add("period", wire.MetYes, "it holds until %s", moment(*p.Until))
		default:
			w.add("period", wire.MetYes, "it holds since %s", moment(*p.From))
		}
	}
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }

func (w *reasons) severity() {
	if w.q.SeverityMin == "" {
		return
	}
	if met := w.met(corpus.InSeverity); met == wire.MetNo {
		w.add("severity", met, "it is %s, below %s", w.Rule.Severity, w.q.SeverityMin)
	} else {
		w.add("severity", met, "it is %s", w.Rule.Severity)
	}
}

func (w *reasons) scope() {
	scope, from := w.Rule.Scope, ""
	if within := w.query.Within; within != nil && len(scope) == 0 {
		if e, ok := within.Entry(w.Rule.ID); ok && len(e.DefaultScope) > 0 {
			scope, from = e.DefaultScope, ", the default scope of its node"
		}
	}
	all := len(scope) == 0 || slices.Contains(scope, "*")
	switch met := w.met(corpus.InScope); {
	case met == wire.MetNo:
		w.add("scope", met, "it holds in %s%s, and the scope is %s", few(scope), from, w.q.Scope)
	case all:
	case met == wire.MetOpen:
		w.add("scope", met, "it holds in %s%s; no scope is given", few(scope), from)
	default:
		i := slices.IndexFunc(scope, func(s string) bool { return rule.ScopeApplies([]string{s}, w.q.Scope) })
		w.add("scope", met, "%s is in %s%s", w.q.Scope, scope[max(i, 0)], from)
	}
}

func (w *reasons) node() {
	within := w.query.Within
	if within == nil || w.by != "" && w.atNode != "" {
		return
	}
	tree := w.view.Federation()
	at := tree.Path(within.NodeID)
	e, attached := within.Entry(w.Rule.ID)
	switch {
	case w.unmet.Has(corpus.AtNode) && w.unmet.Has(corpus.InStatus|corpus.InPeriod):
		w.add("node", wire.MetNo, "it is not in force, so it holds at no node")
	case w.unmet.Has(corpus.AtNode):
		w.add("node", wire.MetNo, "it is not attached to %s or above", at)
	case attached && e.Inherited:
		w.add("node", wire.MetYes, "%s inherits it from %s", at, tree.Path(e.NodeID))
	case attached:
		w.add("node", wire.MetYes, "it is attached to %s", at)
	default:
		w.add("node", wire.MetYes, "no node has it and it is enforced, so it holds at every node")
	}
}

func (w *reasons) appliesTo() {
	a := w.Rule.AppliesTo
	if a.Empty() {
		return
	}
	if len(a.Kinds) > 0 {
		switch met := w.met(corpus.OfKind); met {
		case wire.MetNo:
			w.add("kind", met, "it is about %s, and the subject is %s", few(a.Kinds), few(w.query.Kinds))
		case wire.MetOpen:
			w.add("kind", met, "it is about %s; no kind is given", few(a.Kinds))
		case wire.MetYes:
			w.add("kind", met, "it is about %s", few(a.Kinds))
		}
	}
	if len(a.Tools) > 0 {
		switch met := w.met(corpus.OfTool); {
		case met == wire.MetNo && w.query.Tool == nil:
			w.add("tool", met, "it is about calls of %s, and no tool is called", few(a.Tools))
		case met == wire.MetNo:
			w.add("tool", met, "it is about calls of %s, and the tool is %s", few(a.Tools), strings.TrimPrefix(w.query.Tool.Server+"/"+w.query.Tool.Name, "/"))
		case met == wire.MetOpen:
			w.add("tool", met, "it is about calls of %s; no tool is given", few(a.Tools))
		default:
			w.add("tool", met, "it is about calls of %s", few(a.Tools))
		}
	}
	if len(a.Repositories) > 0 {
		switch met := w.met(corpus.InRepository); {
		case met == wire.MetNo:
			w.add("repository", met, "%s matches none of %s", w.q.Repository, few(a.Repositories))
		case met == wire.MetOpen && w.q.Repository == "":
			w.add("repository", met, "it is about %s; no repository is given", few(a.Repositories))
		case met == wire.MetOpen:
			w.add("repository", met, "%s may be one of %s; the host is not given", w.q.Repository, few(a.Repositories))
		default:
			w.add("repository", met, "%s matches %s", w.q.Repository, few(a.Repositories))
		}
	}
	if len(a.Paths)+len(a.ExcludePaths) > 0 {
		w.paths(a)
	}
}

// paths explains which files the rule concerns.
func (w *reasons) paths(a *rule.AppliesTo) {
	met := w.met(corpus.OnPath)
	switch {
	case met == wire.MetOpen && len(a.Paths) == 0:
		w.add("path", met, "it is about files outside %s; no files are given", few(a.ExcludePaths))
		return
	case met == wire.MetOpen:
		w.add("path", met, "it is about %s; no files are given", few(a.Paths))
		return
	case len(w.query.Paths) == 0 && met == wire.MetNo:
		w.add("path", met, "it is about files at %s, and the subject has none", few(a.Paths))
		return
	case len(w.query.Paths) == 0:
		w.add("path", met, "it leaves out files only, and the subject has none")
		return
	}
	var covered []string
	if covers := w.Covers(); covers != nil {
		for _, path := range w.query.Paths {
			if covers.Path(path) {
				covered = append(covered, path)
			}
		}
	}
	if len(covered) > 0 {
		text := covered[0]
		if glob := globOf(rule.GlobReadings(a.Paths), covered[0], true); glob != "" {
			text += " is among " + glob
		} else {
			text += " is not left out"
		}
		if all := len(w.query.Paths); all > 1 {
			text += fmt.Sprintf(" (%d of %d files concern it)", len(covered), all)
		}
		w.add("path", met, "%s", text)
		return
	}
	if met != wire.MetNo {
		w.add("path", met, "none of the files concerns it, but the rest of the subject does")
		return
	}
	for _, path := range w.query.Paths {
		if out := globOf(a.ExcludePaths, path, false); out != "" && (len(a.Paths) == 0 || globOf(rule.GlobReadings(a.Paths), path, true) != "") {
			w.add("path", met, "%s is left out by %s", path, out)
			return
		}
	}
	w.add("path", met, "%s %s among %s", few(w.query.Paths), map[bool]string{true: "is not", false: "are not"}[len(w.query.Paths) == 1], few(a.Paths))
}

// globOf returns the first of some globs that matches a path, or nothing.
func globOf(globs []string, path string, fold bool) string {
	for _, g := range globs {
		compiled, err := subject.CompileGlobs([]string{g})
		if err == nil && (compiled.Match(path) || fold && compiled.MatchFold(path)) {
			return g
		}
	}
	return ""
}

func (w *reasons) check() {
	c := w.Rule.Check
	switch {
	case w.part == wire.PartNotConcerned:
		w.add("check", wire.MetNo, "%s", w.listed.check)
	case c == nil || w.part != wire.PartApplies:
	case w.listed.open && c.When != "":
		w.add("check", wire.MetOpen, "it is concerned where %s; that is not known", oneLine(c.When))
	case w.listed.open:
		w.add("check", wire.MetOpen, "its check decides; what it reads is not known")
	case c.When != "":
		w.add("check", wire.MetYes, "its condition holds, or cannot be ruled out: %s", oneLine(c.When))
	}
}

// overridden explains which rule is in its place, and returns the slug of that one.
func (w *reasons) overridden() string {
	name, slug := w.by, ""
	e, ok := w.view.Get(w.by)
	if ok {
		name, slug = e.Rule.Label(), e.Rule.Slug
	}
	if w.atNode != "" {
		w.add("override", wire.MetNo, "%s is in its place at %s", name, w.view.Federation().Path(w.atNode))
		return slug
	}
	reason := ""
	if ok {
		for _, rel := range e.Relationships {
			if rel.Kind == rule.Overrides && rel.ToID == w.Rule.ID && rel.Reason != "" {
				reason = ": " + rel.Reason
			}
		}
	}
	w.add("override", wire.MetNo, "%s overrides it%s", name, reason)
	return slug
}

// few lists names, and counts those beyond the first.
func few[T ~string](list []T) string {
	var b strings.Builder
	for i, s := range list {
		if i == maxNamed {
			b.WriteString(" and " + strconv.Itoa(len(list)-maxNamed) + " more")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(s))
	}
	return b.String()
}

// oneLine puts an expression on one line of bounded length.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 200 {
		return string(r[:199]) + "…"
	}
	return text
}
