package gateway

import (
	"strings"
	"testing"
)

func TestServerNameOfWhatStartsIt(t *testing.T) {
	for command, want := range map[string]string{
		"npx -y @modelcontextprotocol/server-filesystem@2.1 /srv":                              "filesystem",
		"https://mcp.example.com/mcp":                                                          "mcp.example.com",
		"uvx mcp-server-git --repository .":                                                    "git",
		"/usr/bin/python3 -m tools/db_server.py":                                               "db_server",
		"tenet gateway mcp --to npx -y @modelcontextprotocol/server-filesystem /srv":           "filesystem",
		"/usr/local/bin/tenet gateway mcp --name files --to npx -y @acme/mcp-server-x":         "files",
		"tenet gateway mcp --name=files --to https://mcp.example.com":                          "files",
		"tenet gateway mcp --server http://127.0.0.1:8080 --to https://mcp.example.com --name": "mcp.example.com",
		"tenet mcp": "tenet",
	} {
		words := strings.Fields(command)
		if got := ServerName(words[0], words[1:]); got != want {
			t.Errorf("%s is named %s, want %s", command, got, want)
		}
	}
}
