package gateway

import (
	"cmp"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// launchers are programs that start another one, which the words after their options name.
var launchers = []string{"npx", "bunx", "pnpx", "pnpm", "dlx", "yarn", "uvx", "uv", "run", "tool", "pipx", "node", "deno", "bun", "python", "python3", "docker", "env", "sh", "bash"}

// IsURL reports whether a server is reached by an address rather than started by a command.
func IsURL(s string) bool { return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://") }

// ServerName makes a name of the server that an address reaches or a command starts: of server-filesystem, filesystem. Of a gateway it is the
// name that the gateway has for its server.
func ServerName(to string, command []string) string {
	if IsURL(to) {
		if u, err := url.Parse(to); err == nil && u.Hostname() != "" {
			return u.Hostname()
		}
		return to
	}
	if to, behind, name := behindGateway(to, command); name != "" {
		return name
	} else if to != "" {
		return ServerName(to, behind)
	}
	name := path.Base(filepath.ToSlash(to))
	words := append([]string{to}, command...)
	for _, w := range words {
		base := strings.ToLower(path.Base(filepath.ToSlash(w)))
		if strings.HasPrefix(w, "-") || slices.Contains(launchers, strings.TrimSuffix(base, ".exe")) {
			continue
		}
		name = path.Base(filepath.ToSlash(w))
		break
	}
	name, _, _ = strings.Cut(name, "@")
	for _, ext := range []string{".exe", ".js", ".mjs", ".ts", ".py"} {
		name = strings.TrimSuffix(name, ext)
	}
	short := name
	for _, word := range []string{"mcp-server-", "mcp_server_", "server-", "mcp-"} {
		short = strings.TrimPrefix(short, word)
	}
	for _, word := range []string{"-mcp-server", "-mcp", "-server"} {
		short = strings.TrimSuffix(short, word)
	}
	return cmp.Or(short, name)
}

// behindGateway returns the server behind a command that starts a gateway, or the name that the gateway gives it.
func behindGateway(to string, command []string) (server string, words []string, name string) {
	program := strings.TrimSuffix(path.Base(filepath.ToSlash(to)), ".exe")
	if at := slices.Index(command, "gateway"); program != "tenet" || at < 0 || at+1 >= len(command) || command[at+1] != "mcp" {
		return "", nil, ""
	}
	for i, w := range command {
		value, inOne := strings.CutPrefix(w, "--name=")
		switch {
		case inOne:
			return "", nil, value
		case w == "--name" && i+1 < len(command):
			return "", nil, command[i+1]
		case w == "--to" && i+1 < len(command):
			return command[i+1], command[i+2:], ""
		}
	}
	return "", nil, ""
}
