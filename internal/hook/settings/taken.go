package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// Hook is a hook of Tenet in a settings file, or an entry by which a tool starts Tenet as an MCP server.
type Hook struct {
	// Event is the tool's name of the moment, such as PreToolUse; empty for a server.
	Event string
	// Command is the command line that the tool runs; of a server, its program.
	Command string
	// Matcher names the tools that it is asked about, as the settings say it; empty for all.
	Matcher string
	// form is the whole entry without its formatting.
	form string
}

// Hooks returns the hooks of Tenet in a JSON settings file of any tool, in a stable order. Programs are names and paths of programs that
// are Tenet under another name.
func Hooks(b []byte, programs ...string) ([]Hook, error) {
	root, err := tree(b)
	if err != nil {
		return nil, err
	}
	return hooksOf(root, programs), nil
}

// tree reads a JSON file, perhaps with comments. A key that occurs twice is an error: tools read such files in several ways.
func tree(b []byte) (map[string]any, error) {
	value, err := hujson.Parse(b)
	if err != nil {
		return nil, malformed("it is not JSON: %v", err)
	}
	if twice := repeated(&value); twice != "" {
		return nil, malformed("it has %s twice", twice)
	}
	value.Standardize()
	var root map[string]any
	decoder := json.NewDecoder(bytes.NewReader(value.Pack()))
	decoder.UseNumber()
	if err := decoder.Decode(&root); err != nil || root == nil {
		return nil, malformed("it is not a JSON object")
	}
	return root, nil
}

// repeated returns a key that an object of the file has twice, ignoring the case of letters.
func repeated(v *hujson.Value) string {
	found := ""
	for inner := range v.All() {
		o, ok := inner.Value.(*hujson.Object)
		if !ok {
			continue
		}
		seen := map[string]bool{}
		for i := range o.Members {
			name, _ := o.Members[i].Name.Value.(hujson.Literal)
			key := strings.ToLower(name.String())
			if seen[key] {
				found = key
			}
			seen[key] = true
		}
	}
	return found
}

func hooksOf(root map[string]any, programs []string) []Hook {
	var list []Hook
	hooks, _ := root["hooks"].(map[string]any)
	for _, event := range slices.Sorted(maps.Keys(hooks)) {
		groups, _ := hooks[event].([]any)
		for _, g := range groups {
			list = append(list, hooksIn(event, g, programs)...)
		}
	}
	for _, key := range []string{"mcpServers", "servers", "mcp_servers"} {
		servers, _ := root[key].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(servers)) {
			server, _ := servers[name].(map[string]any)
			if command, _ := server["command"].(string); name == "tenet" || isProgram(command, programs) {
				list = append(list, Hook{Command: command, form: key + " " + name + " " + form(server)})
			}
		}
	}
	return list
}

// commandKeys are the names under which tools keep the command line of a hook.
var commandKeys = []string{"command", "bash", "powershell", "linux", "osx", "windows"}

// hooksIn returns the hooks of Tenet in an entry of an event: the entry itself, or those in its list.
func hooksIn(event string, entry any, programs []string) []Hook {
	o, _ := entry.(map[string]any)
	var list []Hook
	for _, key := range commandKeys {
		if command, ok := o[key].(string); ok && IsHook(command, programs...) {
			matcher, _ := o["matcher"].(string)
			list = append(list, Hook{event, command, matcher, event + " " + form(o)})
		}
	}
	inner, _ := o["hooks"].([]any)
	group := maps.Clone(o)
	delete(group, "hooks")
	for _, h := range inner {
		for _, hook := range hooksIn(event, h, programs) {
			hook.form += " in " + form(group)
			if matcher, ok := group["matcher"].(string); ok {
				hook.Matcher = matcher
			}
			list = append(list, hook)
		}
	}
	return list
}

func form(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// IsHook reports whether a command line runs a hook of Tenet.
func IsHook(command string, programs ...string) bool {
	before, _, found := strings.Cut(command, " hook ")
	if !found {
		return false
	}
	for word := range strings.FieldsSeq(before) {
		if isProgram(strings.Trim(word, `'"`), programs) {
			return true
		}
	}
	return slices.Contains(programs, programOf(command))
}

// Program returns the program that a command line of a hook calls.
func Program(command string) string { return programOf(command) }

// Disabled returns the key of a settings file by which it turns hooks off, such as disableallhooks; empty if it does not.
func Disabled(b []byte) string {
	root, err := tree(b)
	if err != nil {
		return ""
	}
	values := map[string]string{}
	flatten("", root, values)
	for _, path := range slices.Sorted(maps.Keys(values)) {
		last := path[strings.LastIndexByte(path, '.')+1:]
		if last != "defaultmode" && !strings.HasPrefix(path, ".env.") && disables(path, values[path]) {
			return strings.TrimPrefix(path, ".")
		}
	}
	return ""
}

// isProgram reports whether a path is that of Tenet.
func isProgram(path string, programs []string) bool {
	return strings.HasPrefix(path[strings.LastIndexAny(path, `/\`)+1:], "tenet") || path != "" && slices.Contains(programs, path)
}

// Taken says in words what an edit takes out of the hooks and servers of Tenet in a JSON settings file of any tool, or which key it adds
// that turns hooks off. It is empty if the edit leaves them as they are. What cannot be read counts as taken out.
func Taken(before, after []byte, programs ...string) string {
	was, err := tree(before)
	if err != nil {
		was = nil // nothing of it counted before
	}
	is, err := tree(after)
	if err != nil {
		return "what it leaves cannot be read as settings"
	}
	there := map[string]int{}
	for _, h := range hooksOf(is, programs) {
		there[h.form]++
	}
	for _, h := range hooksOf(was, programs) {
		if there[h.form]--; there[h.form] < 0 {
			if h.Event == "" {
				return "it changes or removes the entry of Tenet's MCP server"
			}
			return fmt.Sprintf("it changes or removes Tenet's hook at %s", h.Event)
		}
	}
	old, now := map[string]string{}, map[string]string{}
	flatten("", was, old)
	flatten("", is, now)
	for _, path := range slices.Sorted(maps.Keys(now)) {
		if value := now[path]; old[path] != value && disables(path, value) {
			return "it sets " + strings.TrimPrefix(path, ".")
		}
	}
	return ""
}

// flatten lists the values of a JSON tree by their paths, such as .hooksConfig.enabled, in lower case.
func flatten(path string, v any, into map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			flatten(path+"."+strings.ToLower(key), inner, into)
		}
	case []any:
		for i, inner := range v {
			flatten(path+"."+strconv.Itoa(i), inner, into)
		}
	default:
		into[path] = form(v)
	}
}

// disables reports whether a setting turns hooks off, or changes the environment that they judge in.
func disables(path, value string) bool {
	last := path[strings.LastIndexByte(path, '.')+1:]
	rest, inEnv := strings.CutPrefix(path, ".env.")
	switch {
	case last == "disableallhooks", last == "allowmanagedhooksonly", last == "strictpluginonlycustomization":
		return value != "false"
	case inEnv:
		return strings.HasPrefix(rest, "tenet_") || strings.HasPrefix(rest, "claude_code_s") || strings.HasPrefix(rest, "git_config") || rest == "path"
	case path == ".hooks.enabled", path == ".hooksconfig.enabled", path == ".tools.enablehooks", path == ".features.hooks":
		return value != "true"
	case strings.HasPrefix(path, ".hooks.disabled"), strings.HasPrefix(path, ".hooksconfig.disabled"):
		return true
	case last == "defaultmode":
		return value == `"bypassPermissions"`
	}
	return false
}
