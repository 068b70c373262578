package check

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"tenet/internal/shell"
)

// commandsVar is the variable with the commands of an action.
const commandsVar = "commands"

var (
	commandType  = newObjectType("Command")
	redirectType = newObjectType("Redirect")
)

func init() {
	texts := types.NewListType(types.StringType)
	field(commandType, "name", types.StringType, func(c *celCommand) ref.Val { return types.String(c.name) })
	field(commandType, "args", texts, func(c *celCommand) ref.Val { return c.args.whole() })
	field(commandType, "program", types.StringType, func(c *celCommand) ref.Val { return types.String(c.command.Path.Text) })
	field(commandType, "paths", texts, func(c *celCommand) ref.Val { return c.paths })
	field(commandType, "words", texts, func(c *celCommand) ref.Val { return c.words })
	field(commandType, "env", texts, func(c *celCommand) ref.Val { return wordList(c.command.Env) })
	field(commandType, "dir", types.StringType, func(c *celCommand) ref.Val { return types.String(c.command.Dir.Text) })
	field(commandType, "input", types.StringType, func(c *celCommand) ref.Val { return types.String(c.input()) })
	field(commandType, "redirects", types.NewListType(redirectType.cel), func(c *celCommand) ref.Val { return c.redirected })
	field(commandType, "via", texts, func(c *celCommand) ref.Val { return stringList(c.command.Via) })
	field(commandType, "pipe", types.IntType, func(c *celCommand) ref.Val { return types.Int(c.last().ID) })
	field(commandType, "stage", types.IntType, func(c *celCommand) ref.Val { return types.Int(c.last().Stage) })
	field(commandType, "from", types.NewListType(commandType.cel), func(c *celCommand) ref.Val { return c.from.whole() })
	field(commandType, "known", types.BoolType, func(c *celCommand) ref.Val { return types.Bool(c.command.Known) })

	field(redirectType, "fd", types.StringType, func(r *celRedirect) ref.Val { return types.String(r.FD) })
	field(redirectType, "op", types.StringType, func(r *celRedirect) ref.Val { return types.String(r.Op) })
	field(redirectType, "target", types.StringType, func(r *celRedirect) ref.Val { return types.String(r.Target.Text) })
	field(redirectType, "path", types.StringType, func(r *celRedirect) ref.Val { return types.String(r.path) })

	for _, t := range []*objectType{commandType, redirectType} {
		slices.Sort(t.names)
		objectTypes[t.cel.TypeName()] = t
	}
}

// openList is a list some of whose elements are not known. A loop over it sees the others, and decides if one of them does;
// everything else sees an unknown.
type openList struct {
	shown   []ref.Val
	unknown *types.Unknown // nil if all elements are known
}

func (l *openList) add(v ref.Val) { l.shown = append(l.shown, v) }

func (l *openList) lacks(u *types.Unknown) { l.unknown, _ = types.MaybeMergeUnknowns(u, l.unknown) }

// whole returns the list, or the unknown.
func (l *openList) whole() ref.Val {
	if l.unknown != nil {
		return l.unknown
	}
	return refList(l.shown)
}

// elements returns the elements that are known, and the unknown as the last one.
func (l *openList) elements() ref.Val {
	if l.unknown != nil {
		return refList(append(slices.Clip(l.shown), l.unknown))
	}
	return refList(l.shown)
}

// celCommands holds the variable commands.
type celCommands struct {
	list openList
	gaps gaps
}

// celCommand is a command of an action.
type celCommand struct {
	command *shell.Command
	name    string
	args    openList
	from    openList

	words, paths, redirected ref.Val
}

// celRedirect is a redirection with the path of its file, which is empty for a here-document.
type celRedirect struct {
	*shell.Redirect
	path string
}

// newCELCommands reads an action as a shell program. Unit is the number of the action.
func newCELCommands(action string, unit int) *celCommands {
	out := &celCommands{gaps: gaps{base: commandGaps}}
	program, why := shell.CommandLine(action)
	if why != "" {
		out.list.lacks(out.gaps.add(unit, "the action: %s", why))
	}
	all := make([]celCommand, len(program))
	objects := make([]object, len(program))
	unknown := make([]*types.Unknown, len(program))
	for i := range program {
		c := &all[i]
		c.command = &program[i]
		objects[i] = object{typ: commandType, native: c}
		name, ok := c.command.Program()
		if !ok {
			unknown[i] = out.gaps.add(unit, "the program of the command %s", shown(c.command))
			out.list.lacks(unknown[i])
			continue
		}
		c.name = name
		c.words, c.paths, c.redirected = wordList(c.command.Args), stringList(c.command.Paths()), c.redirects()
		for _, a := range c.command.Args {
			if a.Settled() {
				c.args.add(types.String(a.Text))
			} else {
				c.args.lacks(out.gaps.add(unit, "an argument of the command %s", shown(c.command)))
			}
		}
		out.list.add(&objects[i])
	}
	for i, sources := range shell.Sources(program) {
		for _, source := range sources {
			if unknown[source] != nil {
				all[i].from.lacks(unknown[source])
			} else {
				all[i].from.add(&objects[source])
			}
		}
	}
	return out
}

// shown returns a command as messages quote it.
func shown(c *shell.Command) string {
	words := []string{c.Path.Text}
	for _, a := range c.Args {
		words = append(words, a.Text)
		if len(words) > 6 {
			break
		}
	}
	return strings.ReplaceAll(shorten(strings.Join(words, " ")), shell.Hole, "...")
}

// last returns the innermost pipeline of the command, the zero Pipe if there is none.
func (c *celCommand) last() shell.Pipe {
	if n := len(c.command.Pipes); n > 0 {
		return c.command.Pipes[n-1]
	}
	return shell.Pipe{}
}

func (c *celCommand) input() string {
	if c.command.Input == nil {
		return ""
	}
	return c.command.Input.Text
}

func (c *celCommand) redirects() ref.Val {
	list := make([]ref.Val, len(c.command.Redirects))
	for i := range c.command.Redirects {
		r := &c.command.Redirects[i]
		place := ""
		if !strings.HasPrefix(r.Op, "<<") {
			place = c.command.Place(r.Target.Text)
		}
		list[i] = &object{typ: redirectType, native: &celRedirect{r, place}}
	}
	return refList(list)
}

func wordList(words []shell.Word) ref.Val {
	list := make([]ref.Val, len(words))
	for i, w := range words {
		list[i] = types.String(w.Text)
	}
	return refList(list)
}

func stringList(texts []string) ref.Val {
	list := make([]ref.Val, len(texts))
	for i, s := range texts {
		list[i] = types.String(s)
	}
	return refList(list)
}

// openRange notes a loop over a list that may lack elements.
func (c *compiling) openRange(over ast.Expr) {
	if over.Kind() == ast.IdentKind && over.AsIdent() == commandsVar {
		c.openRanges[over.ID()] = fieldRead{variable: commandsVar}
	} else if read, ok := c.fieldOf(over, append([]string{"args", "from"}, codeLists...)...); ok {
		c.openRanges[over.ID()] = read
	}
}

// openElements is the range of a loop over an [openList].
type openElements struct {
	interpreter.InterpretableV2
	read fieldRead
}

// Exec returns the elements.
func (o *openElements) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	v := o.InterpretableV2.Exec(frame)
	u, ok := v.(*types.Unknown)
	if !ok {
		return v
	}
	var list *openList
	if o.read.field == "" {
		in, found := frame.ResolveName(inputVar)
		if input, isInput := in.(*Input); found && isInput {
			list = &input.commands().list
		}
	} else {
		switch c := o.read.native(frame).(type) {
		case *celCommand:
			if list = &c.args; o.read.field == "from" {
				list = &c.from
			}
		case *celCode:
			list = &c.lists[slices.Index(codeLists, o.read.field)]
		}
	}
	if list == nil || list.unknown == nil || !slices.Equal(list.unknown.IDs(), u.IDs()) { // a variable of a loop with the same name, or an unknown of another kind
		return v
	}
	return list.elements()
}

// Eval returns the elements.
func (o *openElements) Eval(vars interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(vars, o.Exec)
}
