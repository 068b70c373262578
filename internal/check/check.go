// Package check decides rules without a model: by a CEL expression that must hold, or by an RE2 pattern whose match breaks
// the rule. Both are deterministic, take microseconds, and have bounded time and memory for any rule and subject. An error is
// never a pass: the result is then [Undecided] with the reason.
//
// # Where things are
//
//	check.go, input.go      compiling and deciding a check; a subject prepared for many
//	pattern.go, search.go   patterns: regex.go, literal.go and view.go make them fast, reading.go and multiline.go say what they match
//	celenv.go, celcompile.go, celvalue.go  expressions: the language, compiling, the objects
//	celcommand.go, celcode.go, celmacro.go  commands and source code in expressions
//	celequal.go, celname.go  comparisons: of one type only, and of names in their normal form
//	gap.go, celpartial.go, celculprit.go  parts that nobody can read: unknown values, and why one decided
//	celgate.go, celprice.go, celcall.go  bounds on the work of an expression
//	facts.go, factpath.go, factuse.go  the facts that a check reads
//	plain.go                comparisons of facts with constants, decided without CEL
package check

import (
	"context"

	"tenet/internal/ledger"
	"tenet/internal/rule"
)

// Result is the result of a check on a subject.
type Result int

// Results. The zero value is Undecided, so that an empty outcome does not pass.
const (
	// Undecided means that the check failed, such as for a missing fact.
	Undecided Result = iota
	// Kept means that the subject keeps the rule.
	Kept
	// Broken means that the subject breaks the rule.
	Broken
	// NotConcerned means that the subject has nothing that the check reads.
	NotConcerned
)

// String returns the name of a result in lower case.
func (r Result) String() string {
	switch r {
	case Kept:
		return "kept"
	case Broken:
		return "broken"
	case NotConcerned:
		return "not concerned"
	case Undecided:
	}
	return "undecided"
}

// Outcome is the answer of a check on a subject.
type Outcome struct {
	Result Result
	// Reason explains the result in one sentence.
	Reason string
	// Issue and Fix are set for Broken only; Fix may be empty.
	Issue, Fix string
	// Locations are the lines that break the rule, at most 50 of them.
	Locations []rule.Location
	// About are the units of the subject that the check is about, Seen those that it has read; see [Input.Units].
	About, Seen *ledger.Set
	// Unread says why an undecided check could not read what it is about, such as that it takes too much work; empty if it could.
	Unread string
	// Evidence are the facts that an expression read, or the lines that a pattern found, at most 50 of them.
	Evidence []rule.Evidence
}

// Program is a compiled check. It is safe for concurrent use.
type Program struct {
	when    *expression
	cel     *expression
	pattern *pattern
	decides rule.Decides
	message string
	fix     string
	facts   factNames
}

// Compile compiles a check. The error is a [*rule.Error] of code invalid that describes each wrong field: check.cel and
// check.when with line and column, check.pattern.regex and check.pattern.unless with the offending part,
// check.pattern.paths[i] and check.pattern.exclude_paths[i] with the glob.
func Compile(c *rule.Check) (*Program, error) {
	var problems rule.Problems
	if c == nil || (c.CEL == "") == (c.Pattern == nil) {
		problems.Add("check", "needs exactly one of cel and pattern")
		return nil, problems.Err("the check is invalid")
	}
	p := &Program{decides: c.Decides, message: c.Message, fix: c.Fix}
	if p.decides == "" {
		p.decides = rule.Both
	}
	if c.When != "" {
		p.when = compileExpression(&problems, "check.when", c.When)
	}
	if c.CEL != "" {
		p.cel = compileExpression(&problems, "check.cel", c.CEL)
	} else {
		p.pattern = compilePattern(&problems, c.Pattern)
	}
	if err := problems.Err("the check is invalid"); err != nil {
		return nil, err
	}
	p.facts = namesOf(p.when, p.cel)
	return p, nil
}

// Decides returns the results that the check may decide alone. With [rule.DenyOnly] the judge decides Kept and Undecided.
func (p *Program) Decides() rule.Decides { return p.decides }

// Run runs the check on a subject. It stops when ctx ends and is then Undecided.
func (p *Program) Run(ctx context.Context, in *Input) Outcome {
	if err := ctx.Err(); err != nil {
		return undecided("the check was stopped: " + err.Error())
	}
	if p.when != nil {
		a := p.when.eval(ctx, in)
		if a.reason == "" && !a.holds {
			a.reason = p.when.misses(in, true)
			if a.reason == "" {
				a = p.when.sure(ctx, in, a)
			}
		}
		switch {
		case a.reason != "":
			return p.when.open(in, "the condition when "+a.reason, &a)
		case !a.holds:
			read := p.when.about(in)
			return Outcome{Result: NotConcerned, Reason: "the condition when does not hold" + p.when.inWords(), About: read, Seen: read}
		}
	}
	if p.pattern != nil {
		return p.runPattern(ctx, in)
	}
	return p.runCEL(ctx, in)
}

func (p *Program) runCEL(ctx context.Context, in *Input) Outcome {
	a := p.cel.eval(ctx, in)
	if a.reason == "" {
		a.reason = p.cel.misses(in, a.holds && p.cel.reads.texts)
	}
	if a.holds {
		a = p.cel.sure(ctx, in, a)
	}
	switch {
	case a.reason != "":
		return p.cel.open(in, "the check "+a.reason, &a)
	case a.holds:
		read := p.cel.about(in)
		return Outcome{Result: Kept, Reason: p.cel.kept, About: read, Seen: read}
	}
	out := p.broken("the check does not hold"+p.cel.inWords(), "The check does not hold"+p.cel.inWords())
	out.Evidence = p.cel.evidence(in)
	if p.cel.reads.code {
		locations, quotes := p.cel.culprits(ctx, in)
		out.Locations, out.Evidence = locations, append(out.Evidence, quotes...)
	}
	out.About = p.cel.about(in)
	out.Seen = out.About
	return out
}

// open returns the outcome of an expression without a result. It names the gaps at fault, if it is because of any.
func (e *expression) open(in *Input, reason string, a *answer) Outcome {
	out := undecided(reason)
	switch {
	case a.unread != "":
		out.About, out.Seen, out.Unread = e.about(in), &ledger.Set{}, a.unread
	case len(a.gaps) > 0:
		read := e.about(in)
		missing := &ledger.Set{}
		for _, unit := range a.gaps {
			missing.Add(unit)
		}
		out.About, out.Seen = ledger.Union(read, missing), without(read, missing)
	}
	return out
}

// broken returns an outcome with the rule's own text for the issue, or a general one.
func (p *Program) broken(reason, issue string) Outcome {
	if p.message != "" {
		issue = p.message
	}
	return Outcome{Result: Broken, Reason: reason, Issue: issue, Fix: p.fix}
}

func undecided(reason string) Outcome {
	return Outcome{Result: Undecided, Reason: reason}
}
