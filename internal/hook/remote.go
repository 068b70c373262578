package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tenet/internal/gateway"
	"tenet/internal/rule"
	"tenet/internal/shell"
	"tenet/internal/wire"
)

// contentKeys and pathKeys are the names that tools of MCP servers have for the content and the path of a file.
var (
	contentKeys = []string{"content", "contents", "text", "file_text"}
	pathKeys    = []string{"path", "file_path", "filename", "relative_path", "target_file"}
)

// filesystem is the reference server for files, whose tools write exactly what their arguments say.
const filesystem = "filesystem"

// mcpPrefix begins the names that Claude Code and Codex have for tools of MCP servers: mcp__SERVER__TOOL.
const mcpPrefix = "mcp__"

// remoteName names a tool of an MCP server; the server may be unknown.
type remoteName struct{ server, tool string }

func (n remoteName) String() string {
	if n.server == "" {
		return n.tool
	}
	return n.server + "/" + n.tool
}

// maxReadings is the most ways to read a name in which nothing else separates the server from the tool.
const maxReadings = 8

// readings returns the ways to read a name: mcp__SERVER__TOOL of Claude Code and Codex, SERVER-TOOL of Copilot's command line, mcp_SERVER_TOOL of
// VS Code. Names of servers and tools may hold the separator too.
func readings(name string) ([]remoteName, error) {
	sep, rest := "-", name
	if short, ok := strings.CutPrefix(name, mcpPrefix); ok {
		sep, rest = "__", short
	} else if short, ok := strings.CutPrefix(name, "mcp_"); ok {
		sep, rest = "_", short
	}
	var names []remoteName
	for i := 1; i+len(sep) < len(rest); i++ {
		if strings.HasPrefix(rest[i:], sep) {
			names = append(names, remoteName{rest[:i], rest[i+len(sep):]})
		}
	}
	switch {
	case len(names) > maxReadings:
		return nil, fmt.Errorf("the name %q can be read as a server and a tool in more than %d ways", name, maxReadings)
	case len(names) == 0:
		return []remoteName{{"", rest}}, nil
	}
	return names, nil
}

// foreign asks about a tool whose name alone says that it is one of an MCP server.
func foreign(q *Question, name string, in object, raw []byte) error {
	names, err := readings(name)
	if err != nil {
		q.fields(name, in)
		return err
	}
	return q.remote(names, in, raw)
}

// remote asks about a call of a tool of an MCP server, and about the file that it writes, if its arguments have the form of such a
// call. Only calls of the reference server for files have a known effect.
func (q *Question) remote(names []remoteName, in object, raw []byte) error {
	for _, n := range names {
		q.fields(n.tool, in)
	}
	for _, n := range names {
		params, err := json.Marshal(map[string]json.RawMessage{"name": quote(n.tool), "arguments": raw})
		if err != nil {
			return fmt.Errorf("the arguments of %s are not JSON", n)
		}
		call, err := gateway.Parse(n.server, wire.CallTool, params)
		if err != nil {
			return err
		}
		q.Calls = append(q.Calls, call)
	}
	n := names[0]
	if len(names) > 1 {
		n.server = ""
	}
	return q.remoteFile(n, in)
}

// quote returns a text as JSON.
func quote(s string) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil {
		panic("hook: a text must encode as JSON: " + err.Error())
	}
	return b
}

// answered adds the result of a call that was made, in any of the forms that agents have for it.
func answered(q *Question, raw json.RawMessage) error {
	raw = json.RawMessage(strings.TrimSpace(string(raw)))
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	switch raw[0] {
	case '[': // the contents alone
		raw = fmt.Appendf(nil, `{"content":%s}`, raw)
	case '"':
		raw = fmt.Appendf(nil, `{"content":{"type":"text","text":%s}}`, raw)
	}
	r, err := gateway.ResultOf(raw)
	if err != nil {
		return err
	}
	for i := range q.Calls {
		q.Calls[i].Result = r
	}
	return nil
}

// remoteFile asks about the file that a call writes, if its arguments have the form of such a call.
func (q *Question) remoteFile(n remoteName, in object) error {
	server, tool := n.server, n.tool
	name, hasName := in.first(pathKeys...)
	content, writes := in.first(contentKeys...)
	edits, err := remoteEdits(in)
	switch {
	case !hasName || !writes && err != nil:
		q.unsure("the effect of the tool " + n.String() + " is not known")
		return nil
	case server != filesystem || !slices.Contains([]string{"write_file", "edit_file"}, tool) || writes != (tool == "write_file") || !filepath.IsAbs(name):
		q.unsure("the effect of the tool " + n.String() + " is not known")
	}
	f := place(q.Dir, name)
	before, err := f.read()
	fresh := errors.Is(err, errNone)
	if err != nil && !fresh {
		q.unsure(err.Error())
	}
	after, fits := content, true
	if !writes {
		if after, fits = apply(before, edits); !fits {
			q.unsure("the edit does not fit the text of " + f.path)
			for _, e := range edits {
				after += e.new + "\n"
			}
		}
	}
	if q.Mode == rule.Posthoc {
		after, fresh = before, true
	}
	now := &shell.File{Kind: shell.Regular, After: &after}
	if !fresh && err == nil && fits {
		now.Before = &before
	}
	if fits && (err == nil || fresh) && q.Mode == rule.Preflight && server == filesystem {
		q.touches(f, now.Before, &after)
	}
	mode := q.Mode
	q.Mode = rule.Preflight // the texts are those to judge
	q.effect(now, f.paths())
	q.Mode = mode
	return nil
}

// remoteEdits reads the edits of a call in one of the forms that servers have.
func remoteEdits(in object) ([]edit, error) {
	list, err := readEdits(in)
	if err == nil {
		return list, nil
	}
	var raw []object
	if decode(in["edits"], &raw) != nil || len(raw) == 0 {
		return nil, err
	}
	list = nil
	for _, one := range raw {
		old, oldOK := one.text("oldText")
		now, newOK := one.text("newText")
		if !oldOK || !newOK {
			return nil, err
		}
		list = append(list, edit{old: old, new: now})
	}
	return list, nil
}
