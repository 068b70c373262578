package subject

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// toolMethods are the methods that a tool call may have.
var toolMethods = []string{wire.CallTool, wire.ReadResource, wire.GetPrompt}

// toolCallInput makes facts of a tool call. A command line among the arguments is the action too, so that rules about commands hold for
// tools that run them.
func toolCallInput(s *wire.ToolCallSubject, p *rule.Problems) Input {
	method := cmp.Or(strings.TrimSpace(s.Method), wire.CallTool)
	if !slices.Contains(toolMethods, method) {
		p.Add("subject.method", "is %q; use one of %s", s.Method, strings.Join(toolMethods, ", "))
	}
	tool := s.Tool
	switch {
	case method != wire.CallTool:
		tool = cmp.Or(tool, method)
	case strings.TrimSpace(tool) == "":
		p.Add("subject.tool", "is missing; name the tool that is called")
	}
	arguments := s.Arguments
	if arguments == nil {
		arguments = map[string]any{}
	}
	in := Input{Facts: map[string]any{"method": method, "tool": tool, "arguments": arguments}}
	if s.Server != "" {
		in.Facts["server"] = s.Server
	}
	if s.Result != nil {
		in.Facts["result"] = s.Result
	}
	if method == wire.CallTool {
		in.Action = strings.Join(commandsOf(arguments, 0), "\n")
	}
	return in
}

// Names of arguments that hold a command line, or the words behind a program. They are compared without _ and -, in lower case.
var (
	commandNames = []string{"command", "commands", "cmd", "cmds", "commandline", "shellcommand", "bashcommand", "bash", "shell", "argv"}
	wordNames    = []string{"args", "arguments", "argv", "params", "parameters"}
)

// maxCommandDepth bounds how deep in the arguments commandsOf looks. The facts hold what is deeper.
const maxCommandDepth = 8

// commandsOf returns the command lines in the arguments of a call, in the order of the arguments' names. The words of a list that follows
// a command, such as args, belong to it.
func commandsOf(arguments map[string]any, depth int) []string {
	if depth > maxCommandDepth {
		return nil
	}
	var found, words []string
	names := slices.Sorted(maps.Keys(arguments))
	for _, name := range names {
		if list, ok := arguments[name].([]any); ok && slices.Contains(wordNames, plainName(name)) {
			words = append(words, quoted(list)...)
		}
	}
	for _, name := range names {
		isCommand := slices.Contains(commandNames, plainName(name))
		switch v := arguments[name].(type) {
		case string:
			if isCommand && strings.TrimSpace(v) != "" {
				found = append(found, strings.Join(append([]string{v}, words...), " "))
			}
		case []any:
			if list := quoted(v); isCommand && len(list) > 0 {
				if strings.HasSuffix(plainName(name), "s") { // commands: each is a line
					found = append(found, texts(v)...)
				} else {
					found = append(found, strings.Join(list, " "))
				}
			}
			for _, inner := range v {
				if object, ok := inner.(map[string]any); ok {
					found = append(found, commandsOf(object, depth+1)...)
				}
			}
		case map[string]any:
			found = append(found, commandsOf(v, depth+1)...)
		}
	}
	return found
}

// joints are the characters that join the words of a name.
var joints = strings.NewReplacer("_", "", "-", "")

func plainName(s string) string { return strings.ToLower(joints.Replace(s)) }

// texts returns the texts of a list.
func texts(list []any) []string {
	var out []string
	for _, v := range list {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// quoted returns the texts of a list as words of a shell.
func quoted(list []any) []string {
	out := texts(list)
	for i, s := range out {
		if s == "" || strings.ContainsFunc(s, func(r rune) bool {
			return !strings.ContainsRune("-_./:=,@%+", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		}) {
			out[i] = "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
		}
	}
	return out
}
