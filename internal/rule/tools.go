package rule

import (
	"slices"
	"strings"
)

// CleanTool returns a glob of tools in its normal form: trimmed and in lower case.
func CleanTool(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// ToolGlobs are compiled globs of tools of MCP servers. A glob with a slash names the server before it and the tool behind it; one
// without a slash is for the tool on every server, and so are resources/read and prompts/get, the tools of these methods. In both, * is any text and ? one character. Letter case does not count: a rule must not
// be lost by the spelling of a name.
type ToolGlobs []toolGlob

type toolGlob struct{ server, tool string }

// CompileTools reads globs of tools. Every text is one.
func CompileTools(globs []string) ToolGlobs {
	out := make(ToolGlobs, 0, len(globs))
	for _, g := range globs {
		g = CleanTool(g)
		server, tool, hasServer := strings.Cut(g, "/")
		if !hasServer || g == "resources/read" || g == "prompts/get" {
			server, tool = "*", g
		}
		out = append(out, toolGlob{server, tool})
	}
	return out
}

// Match reports whether some glob matches a tool of a server. A server without a name may be any.
func (gs ToolGlobs) Match(server, tool string) bool {
	server, tool = CleanTool(server), CleanTool(tool)
	for _, g := range gs {
		if (server == "" || wildcard(g.server, server)) && wildcard(g.tool, tool) {
			return true
		}
	}
	return false
}

// MatchAnywhere reports whether some glob matches a tool whatever its server.
func (gs ToolGlobs) MatchAnywhere(tool string) bool {
	tool = CleanTool(tool)
	return slices.ContainsFunc(gs, func(g toolGlob) bool { return g.server == "*" && wildcard(g.tool, tool) })
}

// wildcard matches a whole text with a pattern of *, ? and literal characters, in time of their product at most.
func wildcard(pattern, s string) bool {
	p, t := []rune(pattern), []rune(s)
	i, j, star, mark := 0, 0, -1, 0
	for j < len(t) {
		switch {
		case i < len(p) && p[i] == '*':
			star, mark = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == t[j]):
			i++
			j++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}
