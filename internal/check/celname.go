package check

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"

	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/text"
)

// subject.repository and subject.scope may be written in several ways, and the subject has them in their normal form. A comparison with
// another spelling that were merely false would take a rule out whose when asks it. So comparisons read both sides in the normal form,
// questions about a part of a name ignore case, and a question whose answer depends on the spelling is unknown.

// Fields of the subject that are names.
const (
	repositoryField = "repository"
	scopeField      = "scope"
)

// subjectName is the repository or the scope of a subject.
type subjectName struct {
	field string
	name  rule.Repository // of a scope, the path alone
	forms []string        // the normal form, first without the host
	// usual are other ways to write it, without hosts that only a question names.
	usual func() []string
}

func repositoryOf(s *subject.Subject) *subjectName {
	n := &subjectName{field: repositoryField, name: rule.ParseRepository(s.Repository)}
	n.forms = []string{n.name.Path}
	switch {
	case n.name.Path == "":
		n.forms[0] = n.name.Host
	case n.name.Host != "":
		n.forms = append(n.forms, n.name.String())
	}
	n.usual = sync.OnceValue(n.usualSpellings)
	return n
}

func scopeOf(s *subject.Subject) *subjectName {
	scope := rule.CleanScope(s.Scope)
	n := &subjectName{field: scopeField, name: rule.Repository{Path: scope}, forms: []string{scope}}
	n.usual = sync.OnceValue(n.usualSpellings)
	return n
}

// shown returns the name that expressions see.
func (n *subjectName) shown() string { return n.forms[0] }

// open returns the unknown of a comparison without a result.
func (n *subjectName) open(format string, args ...any) ref.Val {
	return types.NewUnknown(nameGap, types.NewAttributeTrail("subject."+n.field+": "+fmt.Sprintf(format, args...)))
}

// notGiven is the unknown of a subject that does not say where it belongs: rules for any place apply to it.
func (n *subjectName) notGiven() ref.Val { return n.open("the request does not name it") }

func (n *subjectName) excerpt() string { return text.Fit(n.shown(), maxShort, "...") }

// same compares with another name in its normal form.
func (n *subjectName) same(other rule.Repository) ref.Val {
	switch {
	case n.name == other, n.name.String() == other.String():
		return types.True
	case n.shown() == "":
		return n.notGiven()
	case n.name.Path != other.Path, other.String() == "":
		return types.False
	case other.Host == "":
		return types.True
	case n.name.Host == "":
		return n.open("the request does not name the host of %s; compare with the path alone", n.excerpt())
	}
	return types.False
}

// has answers a question about a part of the name. hosts are those that the question may be about.
func (n *subjectName) has(match func(string) bool, hosts []string) ref.Val {
	switch {
	case slices.ContainsFunc(n.forms, match):
		return types.True
	case n.shown() == "":
		return n.notGiven()
	case slices.ContainsFunc(n.usual(), match), n.name.Host == "" && n.field == repositoryField && slices.ContainsFunc(n.on(hosts), match):
		return n.open("its normal form is %s, and the check asks about another spelling", n.excerpt())
	}
	return types.False
}

// trialHosts are those that a repository may be on whose host is not known.
var trialHosts = []string{"github.com", "gitlab.com", "bitbucket.org"}

// usualSpellings returns other ways to write the name, on its host or on those of trialHosts.
func (n *subjectName) usualSpellings() []string {
	path := n.name.Path
	if n.field == scopeField {
		var out []string
		for _, separator := range []string{`\`, ".", ":", ">", " > ", " / ", "//"} {
			out = append(out, strings.ReplaceAll(path, "/", separator))
		}
		return out
	}
	hosts := trialHosts
	if n.name.Host != "" {
		hosts = []string{n.name.Host}
	}
	return append(n.on(hosts), path+".git", strings.ReplaceAll(path, "/", `\`))
}

// on returns the addresses of the repository on hosts.
func (n *subjectName) on(hosts []string) []string {
	var out []string
	path := n.name.Path
	for _, host := range hosts {
		at := path
		if project, name, ok := cutLast(path, "/"); ok && host == "dev.azure.com" {
			at = project + "/_git/" + name
		}
		out = append(out, host+"/"+path, "https://"+host+"/"+at, "http://"+host+"/"+at+".git", "https://"+host+"/"+at+".git",
			"git@"+host+":"+path, "git@"+host+":"+path+".git", "ssh://git@"+host+"/"+path, "ssh://git@"+host+"/"+path+".git")
	}
	return out
}

func cutLast(s, separator string) (before, after string, found bool) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(separator):], true
}

// hostLike matches what may be the host in the text of a question.
var hostLike = regexp.MustCompile(`[a-z0-9_-]+(?:\.[a-z0-9_-]+)+`)

// hostsIn returns hosts that a text or an expression may be about, a few at most.
func hostsIn(text string) []string {
	return hostLike.FindAllString(strings.ReplaceAll(rule.FoldCase(text), `\`, ""), 4)
}

// nameRead is a question about a name of the subject.
type nameRead struct {
	field string
	other int // number of the argument that is not the name
	// of matches and glob, compiled: match ignores case.
	match        func(string) bool
	fits         func(bytes int) bool
	repositories *subject.RepositoryGlobs
	hosts        []string
}

// nameOf finds the name of the subject that an expression is, and the node that reads it. Changes of case and of white space around it
// do not count.
func (c *compiling) nameOf(e ast.Expr) (field string, at int64, ok bool) {
	switch e.Kind() {
	case ast.SelectKind:
		sel := e.AsSelect()
		return sel.FieldName(), e.ID(), nameFields[sel.FieldName()] && !sel.IsTestOnly() && c.isSubject(sel.Operand())
	case ast.CallKind:
		call := e.AsCall()
		switch call.FunctionName() {
		case "lowerAscii", "upperAscii", "trim":
			if call.IsMemberFunction() {
				return c.nameOf(call.Target())
			}
		case operators.Index:
			step, _ := literalText(call.Args()[1])
			return step, e.ID(), nameFields[step] && c.isSubject(call.Args()[0])
		}
	case ast.ComprehensionKind, ast.IdentKind, ast.ListKind, ast.LiteralKind, ast.MapKind, ast.StructKind, ast.UnspecifiedExprKind:
	}
	return "", 0, false
}

var nameFields = map[string]bool{repositoryField: true, scopeField: true}

// isSubject reports whether an expression is the subject, also as a value of a type that is not known.
func (c *compiling) isSubject(e ast.Expr) bool {
	for e.Kind() == ast.CallKind && e.AsCall().FunctionName() == "dyn" {
		e = e.AsCall().Args()[0]
	}
	return c.ast.GetType(e.ID()).TypeName() == subjectType.cel.TypeName()
}

// named notes a call that asks about a name of the subject, and reports whether it is one.
func (c *compiling) named(id int64, call ast.CallExpr) bool {
	function, args := call.FunctionName(), call.Args()
	if call.IsMemberFunction() {
		args = append([]ast.Expr{call.Target()}, args...)
	}
	if len(args) != 2 || !asksNames[function] {
		return false
	}
	name := 0
	field, at, ok := c.nameOf(args[0])
	if !ok && (function == operators.Equals || function == operators.NotEquals) {
		name = 1
		field, at, ok = c.nameOf(args[1])
	}
	if !ok {
		return false
	}
	read := &nameRead{field: field, other: 1 - name}
	if source, isText := literalText(args[1-name]); isText {
		c.compileName(read, function, args[1], source)
	}
	c.names[id], c.compared[at] = read, true
	return true
}

// asksNames are the calls that read a name in its normal form.
var asksNames = map[string]bool{
	operators.Equals: true, operators.NotEquals: true, operators.In: true, "startsWith": true, "endsWith": true, "contains": true,
	"matches": true, globFunction: true,
}

// compileName compiles the pattern of a question.
func (c *compiling) compileName(read *nameRead, function string, at ast.Expr, source string) {
	read.hosts = hostsIn(source)
	switch function {
	case "matches":
		if _, err := compileRegex(source); err != nil {
			return // compileConst reports it
		}
		re, err := compileRegex("(?i:" + source + ")")
		if err != nil {
			c.add(at.ID(), "%s", err.Error())
			return
		}
		read.match, read.fits = re.MatchString, re.fits
	case globFunction:
		globs, err := subject.CompileGlobs([]string{source})
		if err != nil {
			return
		}
		read.match, read.fits = globs.MatchFold, func(int) bool { return true }
		if read.field == repositoryField {
			repositories, err := subject.CompileRepositories([]string{source})
			if err != nil {
				c.add(at.ID(), "%s", err.Error())
				return
			}
			read.repositories = &repositories
		}
	}
}

// noteNames notes reads of names, and texts in upper case.
func (c *compiling) noteNames(node ast.Expr) {
	if field, at, ok := c.nameOf(node); ok {
		c.nameReads[at] = field
	}
	if node.Kind() == ast.CallKind && node.AsCall().FunctionName() == operators.OptSelect {
		args := node.AsCall().Args()
		if field, _ := literalText(args[1]); nameFields[field] && c.isSubject(args[0]) {
			c.nameReads[node.ID()] = field
		}
	}
	if s, ok := literalText(node); ok && c.inName == 0 && rule.FoldCase(s) != s {
		c.unfolded = true
	}
}

// leaveOpen makes the other reads of names unknown if the expression has a text that is in no normal form: it may be compared with the
// name in a way that nobody can follow.
func (c *compiling) leaveOpen() {
	if !c.unfolded {
		return
	}
	for id := range c.compared {
		delete(c.nameReads, id)
	}
	c.open = c.nameReads
}

// openName is a read of a name that may be compared with another spelling.
type openName struct {
	interpreter.InterpretableV2
	field string
}

// Exec returns an unknown, and an empty name as it is.
func (o *openName) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	n := nameIn(frame, o.field)
	if n == nil || n.shown() == "" {
		return o.InterpretableV2.Exec(frame)
	}
	return n.open("its normal form is %s, and the check has texts in upper case; write them in lower case", n.excerpt())
}

// Eval does the same.
func (o *openName) Eval(vars interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(vars, o.Exec)
}

// subjectVariable resolves to the input; no expression can name it.
const subjectVariable = "@subject"

func nameIn(frame *interpreter.ExecutionFrame, field string) *subjectName {
	v, _ := frame.ResolveName(subjectVariable)
	in, ok := v.(*Input)
	switch {
	case !ok:
		return nil
	case field == scopeField:
		return in.scope()
	}
	return in.repository()
}

// nameCall is a call that asks about a name of the subject.
type nameCall struct {
	*nameRead

	id       int64
	function string
	operand  interpreter.InterpretableV2
	clean    map[string]rule.Repository // names that the expression writes out
	written  bool                       // whether the other side is written out
}

func newNameCall(read *nameRead, call interpreter.InterpretableCall) *nameCall {
	n := &nameCall{nameRead: read, id: call.ID(), function: call.Function(), operand: call.Args()[read.other], clean: map[string]rule.Repository{}}
	literal, isConst := n.operand.(interpreter.InterpretableConst)
	if n.written = isConst; !isConst {
		return n
	}
	switch v := literal.Value().(type) {
	case types.String:
		n.clean[string(v)] = cleanName(n.field, string(v))
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True; {
			if s, ok := it.Next().(types.String); ok {
				n.clean[string(s)] = cleanName(n.field, string(s))
			}
		}
	}
	return n
}

func cleanName(field, name string) rule.Repository {
	if field == scopeField {
		return rule.Repository{Path: rule.CleanScope(name)}
	}
	return rule.ParseRepository(name)
}

// ID returns the id of the call.
func (c *nameCall) ID() int64 { return c.id }

// Eval makes the call.
func (c *nameCall) Eval(vars interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(vars, c.Exec)
}

// Exec makes the call.
func (c *nameCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	return types.LabelErrNode(c.id, c.result(frame))
}

func (c *nameCall) result(frame *interpreter.ExecutionFrame) ref.Val {
	n, other := nameIn(frame, c.field), c.operand.Exec(frame)
	if types.IsUnknownOrError(other) {
		return other
	}
	same := func(v ref.Val) ref.Val { return c.same(frame, n, v) }
	switch c.function {
	case operators.Equals:
		return same(other)
	case operators.NotEquals:
		return negated(same(other))
	case operators.In:
		if list, ok := other.(traits.Iterable); ok { // of a map, the keys
			return withinBy(same, list, c.written)
		}
		return errTypes()
	}
	s, ok := other.(types.String)
	if !ok {
		return errTypes()
	}
	return c.ask(frame, n, string(s))
}

// same compares the name with a value.
func (c *nameCall) same(frame *interpreter.ExecutionFrame, n *subjectName, v ref.Val) ref.Val {
	s, ok := v.(types.String)
	switch {
	case types.IsUnknownOrError(v):
		return v
	case v == types.NullValue:
		return types.False
	case !ok:
		return errTypes()
	case len(s) > subject.MaxLabel:
		return types.NewErr("a text of %d bytes is too long for a name", len(s))
	}
	name, known := c.clean[string(s)]
	if !known {
		units := 10 + len(s)/bytesDecoded
		if strings.Contains(string(s), "%") {
			units += len(s) * bytesDecoded // an escape may be of an escape
		}
		c.charge(frame, units)
		name = cleanName(c.field, string(s))
	}
	c.charge(frame, 1)
	return n.same(name)
}

// ask answers a question about a part of the name.
func (c *nameCall) ask(frame *interpreter.ExecutionFrame, n *subjectName, part string) ref.Val {
	match, hosts := c.match, c.hosts
	if match == nil {
		part = rule.FoldCase(part)
		if !c.written {
			hosts = hostsIn(part)
		}
		switch c.function {
		case "startsWith":
			part = trimmed(part, strings.TrimLeft(strings.TrimPrefix(part, "./"), `/\`))
			match = func(s string) bool { return strings.HasPrefix(s, part) }
		case "endsWith":
			part = trimmed(part, strings.TrimRight(part, `/\`))
			match = func(s string) bool { return strings.HasSuffix(s, part) }
		default:
			match = func(s string) bool { return strings.Contains(s, part) }
		}
	}
	longest := len(n.name.String()) + 300 // a host, a scheme and a user before it
	perUnit := bytesScanned
	if c.match != nil {
		perUnit = bytesMatched
	}
	searched := len(hosts) * 8 * (len(n.name.Path) + 60)
	for _, spelling := range n.usual() {
		searched += len(spelling)
	}
	if c.match == nil && !c.written {
		c.charge(frame, len(part)/bytesMatched) // for its hosts
	}
	c.charge(frame, searched/perUnit+len(part)/bytesDecoded)
	if c.fits != nil && !c.fits(longest) {
		return types.NewErr("a text of %d bytes is too long for this pattern", longest)
	}
	if c.repositories != nil && n.shown() != "" {
		switch matches, certain := c.repositories.Match(n.name); {
		case certain:
			return types.True
		case matches:
			return n.open("the request does not name the host of %s; use a glob of the path alone", n.excerpt())
		}
		return types.False
	}
	return n.has(match, hosts)
}

// trimmed returns a text without separators at its end, and the text itself if it has nothing else.
func trimmed(text, without string) string {
	if without == "" {
		return text
	}
	return without
}

// charge notes the cost of work in units.
func (c *nameCall) charge(frame *interpreter.ExecutionFrame, units int) {
	if costs := frame.CostTracker(); costs != nil {
		costs.EvalUnary(frame, c.id, naming{}, types.Int(units), types.True)
	}
}

// naming is the call under which comparisons of names are charged.
type naming struct{}

const nameFunction = "@name"

// Function returns the name.
func (naming) Function() string { return nameFunction }

// OverloadID returns the name.
func (naming) OverloadID() string { return nameFunction }
