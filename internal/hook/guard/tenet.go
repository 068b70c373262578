package guard

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tenet/internal/shell"
)

// reading are the commands of Tenet that take nothing out: the first word, or the first two.
var reading = words(`check submit ask author replay feedback serve mcp search scan test eval insights report health upgrade version whoami servers usage
	waivers/list retention/show privacy/show privacy/find holds/list holds/show approvals/list approvals/show policy/show projects/list projects/show config/show config/check rules/list rules/get rules/nodes rules/applicable rules/export rules/plan rules/lint rules/health rules/conflicts rules/pending rules/history rules/diff nodes/tree nodes/list nodes/resolve nodes/get nodes/effective nodes/diff
	waivers/list approvals/list approvals/show policy/show projects/list projects/show config/show config/check rules/list rules/get rules/nodes rules/applicable rules/export rules/plan rules/schema rules/lint rules/health rules/conflicts rules/pending rules/history rules/diff nodes/tree nodes/list nodes/resolve nodes/get nodes/effective nodes/diff
	documents/list documents/get documents/search documents/upload documents/extract candidates/list candidates/show candidates/scans candidates/exclusions conflicts/list conflicts/scan queue/list
	cases/list cases/generate snapshots/create snapshots/list snapshots/diff snapshots/simulate snapshots/check snapshots/history snapshots/verify alerts/list alerts/show
	evaluations/list evaluations/show webhooks/list webhooks/test webhooks/deliveries audit/verify audit/list audit/show audit/export keys/list agents/list agents/suspensions cache/stats jobs/list jobs/get
	evaluations/list evaluations/show webhooks/list webhooks/test webhooks/deliveries audit/verify audit/log audit/list audit/show audit/export keys/list cache/stats jobs/list jobs/get
	evaluations/list evaluations/show webhooks/list webhooks/test webhooks/deliveries audit/verify audit/log audit/prove audit/check audit/list audit/show audit/export keys/list cache/stats jobs/list jobs/get
	conflicts/show snapshots/environments snapshots/simulations
	hook/claude-code hook/cursor hook/codex hook/gemini hook/copilot hook/windsurf hook/git hook/pre-commit hook/status hook/test hook/reference-transaction
	fleet/list bundle/build bundle/pull bundle/verify bundle/inspect bundle/key
	gateway/mcp gateway/pins/list db/check completion man doctor model/check`)

// groups are the commands of Tenet that have commands of their own.
var groups = words(`config db projects queue waivers retention privacy holds approvals policy rules nodes documents candidates conflicts cases snapshots alerts webhooks audit keys agents cache jobs hook evaluations gateway gateway/pins bundle fleet model`)

// Reads reports whether a command of Tenet, such as "rules list", takes nothing out of the wall. All others ask.
func Reads(command string) bool {
	first, _, _ := strings.Cut(command, " ")
	return reading[first] || reading[strings.ReplaceAll(command, " ", "/")]
}

// tenetValued are the global options of Tenet that take the next word.
var tenetValued = []string{"--server", "--key", "--project", "-p", "--data", "--database-url", "--config", "--color"}

// tenet judges a call of Tenet's own program.
func (s *survey) tenet(c *shell.Command, args []string) {
	sure := s.isTenet(c)
	if c.Name == "go" && len(args) > 1 && args[0] == "run" {
		if at := slices.IndexFunc(args, func(a string) bool { return strings.HasSuffix(a, "cmd/tenet") }); at > 0 {
			sure, args = true, args[at+1:]
		}
	}
	if slices.Contains(args, "--help") || slices.Contains(args, "-h") {
		return
	}
	var plain []string
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case slices.Contains(tenetValued, a):
			i++
		case !strings.HasPrefix(a, "-"):
			plain = append(plain, a)
		}
	}
	if len(plain) == 0 {
		return
	}
	command := plain[0]
	for rest := plain[1:]; groups[strings.ReplaceAll(command, " ", "/")]; rest = rest[1:] {
		if len(rest) == 0 {
			return // its help
		}
		command += " " + rest[0]
	}
	switch {
	case sure && !Reads(command):
		s.add("tenet %s changes what Tenet judges by", show(command))
	case !sure && c.Name != "git" && (command == "hook uninstall" || command == "waivers add" || command == "waive" || command == "policy set"):
		s.add("%s may be Tenet under another name, and %s changes what Tenet judges by", show(c.Path.Text), command)
	}
}

// isTenet reports whether a command runs Tenet's program.
func (s *survey) isTenet(c *shell.Command) bool {
	base := strings.TrimSuffix(strings.ToLower(c.Name), ".exe")
	if base == "tenet" || strings.HasPrefix(base, "tenet-") || strings.HasPrefix(base, "tenet_") {
		return true
	}
	if c.Path.Text == "" || !c.Path.Known {
		return strings.HasSuffix(c.Path.Text, "tenet")
	}
	names := []string{c.Path.Text}
	if !strings.Contains(c.Path.Text, "/") {
		names = nil
		for _, dir := range s.Path {
			names = append(names, filepath.Join(dir, c.Path.Text))
		}
	}
	for _, name := range names {
		info, err := os.Stat(s.absolute(name))
		if err != nil {
			continue
		}
		for _, program := range s.Programs {
			if other, err := os.Stat(program); err == nil && (os.SameFile(info, other) || info.Size() == other.Size() && info.Size() > 1<<20) {
				return true
			}
		}
	}
	return false
}

// variable judges a variable, as NAME=value or NAME, that a command sets or takes away.
func (v *visit) variable(entry, command string) {
	name, value, _ := strings.Cut(entry, "=")
	name = strings.TrimSuffix(strings.ToUpper(name), "+")
	switch {
	case strings.HasPrefix(name, "TENET_"):
		v.add("it changes the variable %s, by which Tenet is set up or confirmed", show(name))
	case strings.HasPrefix(name, "GIT_CONFIG"):
		v.add("it changes the variable %s, which can make git skip its hooks", show(name))
	case strings.HasPrefix(name, "CLAUDE_CODE_") || name == "CLAUDE_CONFIG_DIR" || strings.HasPrefix(name, "CLAUDE_") && strings.Contains(name, "HOOK"):
		v.add("it changes the variable %s, which can turn hooks of Claude Code off", show(name))
	case name == "CODEX_HOME" || name == "COPILOT_HOME" || name == "GEMINI_CLI_SYSTEM_SETTINGS_PATH":
		v.add("it changes the variable %s, which names the settings of an agent", name)
	case name == "HUSKY" || name == "HUSKY_SKIP_HOOKS" || name == "LEFTHOOK" || name == "LEFTHOOK_EXCLUDE" || name == "OVERCOMMIT_DISABLE" || name == "PRE_COMMIT_ALLOW_NO_CONFIG":
		v.add("it changes the variable %s, which turns hooks of git off", name)
	case name == "SKIP" && (strings.Contains(value, "tenet") || strings.ContainsAny(value, "$"+shell.Hole)):
		v.add("it skips hooks of pre-commit (SKIP)")
	case strings.HasSuffix(name, "EDITOR") || strings.HasSuffix(name, "PAGER") || strings.HasSuffix(name, "SSH_COMMAND") || name == "BASH_ENV" || name == "PROMPT_COMMAND":
		if word := mentioned(value); word != "" || removesWall.MatchString(value) {
			v.add("it changes the variable %s, and the program in it names a wall", show(name))
		}
	case name == "PATH" && command == "git":
		v.add("it changes PATH for git, so that its hook may run another program as tenet")
	}
}

var removesWall = regexp.MustCompile(`\b(rm|mv|chmod|tee|sed|git)\b.*\.(claude|cursor|codex|gemini|git|windsurf)\b`)

// environment judges export, env, unset and the like.
func (s *survey) environment(command string, args []string) {
	if command == "env" && (slices.Contains(args, "-i") || slices.Contains(args, "-") || slices.Contains(args, "--ignore-environment")) && slices.Contains(args, "git") {
		s.add("it takes all variables from git and its hooks, those of Tenet too")
	}
	for i, a := range args {
		switch {
		case strings.HasPrefix(a, "--unset="):
			s.variable(after(a, "="), "")
		case command == "env" && (a == "-u" || a == "--unset") && i+1 < len(args):
			s.variable(args[i+1], "")
		case command == "env" && strings.HasPrefix(a, "-u"):
			s.variable(a[2:], "")
		case strings.HasPrefix(a, "-"):
		case strings.Contains(a, "="), command != "env":
			s.variable(a, "")
		default:
			return // the command that env starts
		}
	}
}

// agentNames are the programs of agents; agentFlags the options that turn their hooks or questions off.
var (
	agentNames = regexp.MustCompile(`^(claude|claude-code|codex|gemini|gemini-cli|copilot|cursor-agent|cursor|windsurf|npx|bunx|pnpm|uvx|gh)$`)
	agentFlags = regexp.MustCompile(`(?i)dangerously|disableallhooks|^--yolo$|^--(settings|setting-sources|bare|safe-mode)(=|$)|bypass|^--allow-all|hooks\s*=|^--disable-?hooks|^--no-hooks`)
)

// agents judges a call of an agent.
func (s *survey) agents(name string, args []string) {
	if !agentNames.MatchString(name) {
		return
	}
	for i, a := range args {
		if agentFlags.MatchString(a) && !(name == "gh" || name == "cursor") || a == "--disable" && i+1 < len(args) && args[i+1] == "hooks" {
			s.add("%s %s starts an agent without hooks or without questions", name, show(a))
			return
		}
	}
	if len(args) > 1 && (args[0] == "hooks" || args[0] == "config" || args[0] == "mcp") && slices.Contains([]string{"disable", "set", "remove", "uninstall", "disable-all"}, args[1]) {
		s.add("%s %s %s changes the hooks or settings of an agent", name, args[0], args[1])
	}
}

var (
	requesters   = regexp.MustCompile(`^(curl|wget|http|https|xh|xhs|httpie|curlie|aria2c|nc|ncat|netcat|telnet|socat|websocat|grpcurl|Invoke-WebRequest)$`)
	writingRoute = regexp.MustCompile(`/api/v1/(waivers|retention|privacy|holds|approvals|rules|keys|suspensions|projects|federations|nodes|snapshots|deployments|candidates|conflicts|documents|discover|webhooks|alerts|jobs|cache|test-cases|relationships|environments|gateway)`)
	readingRoute = regexp.MustCompile(`/api/v1/(evaluate|evaluations|search|submissions|insights)|/agent/|/rest/|/search`)
	sendingFlag  = regexp.MustCompile(`^-[a-zA-Z#]*[XdFT]|^(-X|--request|-d|--data.*|-F|--form.*|-T|--upload-file|--json|--post-.*|--method.*|--body-.*)$|^-(X|d|F|T).+|^--(request|data[a-z-]*|json|form|post-data|post-file|method|body-data|body-file|upload-file)=`)
)

// requests judges a request to Tenet's server.
func (s *survey) requests(c *shell.Command, args []string) {
	if !requesters.MatchString(c.Name) {
		return
	}
	all := strings.Join(args, " ")
	if c.Input != nil {
		all += " " + c.Input.Text
	}
	sends := slices.ContainsFunc(args, sendingFlag.MatchString) && !onlyGets(args)
	if strings.HasPrefix(c.Name, "http") || strings.HasPrefix(c.Name, "xh") || c.Name == "curlie" {
		sends = sends || slices.ContainsFunc(args, func(a string) bool {
			return slices.Contains([]string{"POST", "PUT", "PATCH", "DELETE", "post", "put", "patch", "delete"}, a) || !strings.Contains(a, "/") && strings.ContainsAny(a, "=") && !strings.Contains(a, "==")
		})
	}
	if strings.HasPrefix(c.Name, "n") || c.Name == "telnet" || c.Name == "socat" {
		sends = true
	}
	if !sends && !slices.Contains(args, "-K") && !slices.Contains(args, "--config") {
		return
	}
	for _, server := range s.Servers {
		if server != "" && s.reaches(args, server) && (writingRoute.MatchString(all) || !readingRoute.MatchString(all) || strings.Contains(all, "..") || strings.Contains(strings.ToLower(all), "%2")) {
			s.add("it sends a change to Tenet's server at %s", show(server))
			return
		}
	}
	if writingRoute.MatchString(all) && toThisMachine(args) {
		s.add("it sends a change to a server whose route is one of Tenet (%s)", show(writingRoute.FindString(all)))
	}
}

var clusteredMethod = regexp.MustCompile(`^-[a-zA-Z#]*X([A-Za-z]+)$`)

// onlyGets reports whether the method is given and changes nothing.
func onlyGets(args []string) bool {
	for i, a := range args {
		if m := clusteredMethod.FindStringSubmatch(a); m != nil {
			return strings.EqualFold(m[1], "GET") || strings.EqualFold(m[1], "HEAD")
		}
		for _, flag := range []string{"-X", "--request", "--request=", "--method="} {
			if method, ok := strings.CutPrefix(a, flag); ok {
				if method == "" && i+1 < len(args) {
					method = args[i+1]
				}
				return strings.EqualFold(method, "GET") || strings.EqualFold(method, "HEAD")
			}
		}
		if a == "-G" || a == "--get" {
			return true
		}
	}
	return false
}

// reaches reports whether an argument is an address at a server, by any of the names of this machine.
func (s *survey) reaches(args []string, server string) bool {
	host, port, err := net.SplitHostPort(server)
	if err != nil {
		host = server
	}
	for i, a := range args {
		at := hostOf(a)
		if i+1 < len(args) && at == "" {
			continue
		}
		h, p, err := net.SplitHostPort(at)
		if err != nil {
			h, p = at, "80"
			if strings.HasPrefix(a, "https://") {
				p = "443"
			}
		}
		if p == port && (strings.EqualFold(h, host) || loopback(h) && loopback(host)) || port == "" && strings.EqualFold(h, host) {
			return true
		}
	}
	joined := strings.Join(args, " ")
	return port != "" && strings.Contains(joined, host) && strings.Contains(joined, port)
}

// toThisMachine reports whether an address is on this machine, or is not known.
func toThisMachine(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		h, _, err := net.SplitHostPort(hostOf(a))
		if err != nil {
			h = hostOf(a)
		}
		return loopback(h) || strings.ContainsAny(a, "$"+shell.Hole) && strings.Contains(a, "/api/v1/")
	})
}

func hostOf(a string) string {
	if !strings.Contains(a, "://") {
		a = "http://" + a
	}
	u, err := url.Parse(a)
	if err != nil {
		return ""
	}
	return u.Host
}

func loopback(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	if strings.HasPrefix(host, "127.") || ip == nil && host != "" && strings.Trim(strings.ToLower(host), "0123456789abcdefx.") == "" && host[0] >= '0' && host[0] <= '9' {
		return true // addresses may be short, or one number
	}
	return strings.EqualFold(host, "localhost") || strings.HasSuffix(strings.ToLower(host), ".localhost") || ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}

// ends judges commands that end Tenet's server.
func (s *survey) ends(c *shell.Command, args []string) {
	named := func(list []string) bool {
		return slices.ContainsFunc(list, func(a string) bool { return serverName.MatchString(a) })
	}
	switch c.Name {
	case "pkill", "killall", "taskkill", "Stop-Process", "killall5":
		if named(args) || c.Name == "killall5" || c.Name == "pkill" && slices.ContainsFunc(args, endsServer) {
			s.add("it ends Tenet's server")
		}
	case "systemctl", "service", "rc-service", "launchctl", "supervisorctl", "docker", "podman", "docker-compose", "kubectl", "brew", "sc":
		verb := slices.ContainsFunc(args, func(a string) bool {
			return slices.Contains([]string{"stop", "disable", "mask", "kill", "rm", "down", "unload", "bootout", "remove", "delete", "pause", "scale"}, a)
		})
		if verb && named(args) {
			s.add("it ends Tenet's server")
		}
	case "kill", "fuser":
		if !slices.Contains(args, "-l") && s.endsByID(c, args) {
			s.add("it ends Tenet's server")
		}
	}
}

// endsServer reports whether a pattern of pkill matches the command line of Tenet's server.
func endsServer(pattern string) bool {
	if strings.HasPrefix(pattern, "-") || len(pattern) > 200 {
		return false
	}
	re, err := regexp.Compile(pattern)
	return err == nil && re.MatchString("tenet serve")
}

var serverName = regexp.MustCompile(`(?i)(^|[^a-z])tenet([^a-z]|$)`)

// endsByID reports whether kill or fuser ends Tenet's server: by its process, its port, or a process that another command finds by its name.
func (s *survey) endsByID(c *shell.Command, args []string) bool {
	for _, a := range args {
		if link, err := os.Readlink(fmt.Sprintf("/proc/%s/exe", filepath.Base(a))); err == nil {
			link = strings.TrimSuffix(link, " (deleted)")
			if slices.Contains(s.Programs, link) || strings.HasPrefix(filepath.Base(link), "tenet") {
				return true
			}
		}
		for _, server := range s.Servers {
			if _, port, err := net.SplitHostPort(server); err == nil && c.Name == "fuser" && strings.HasPrefix(a, port+"/") {
				return true
			}
		}
	}
	if c.Name != "kill" || !slices.ContainsFunc(args, func(a string) bool { return strings.ContainsAny(a, "$"+shell.Hole) || a == "" }) {
		return false
	}
	return slices.ContainsFunc(s.list, func(other shell.Command) bool {
		return slices.Contains([]string{"pgrep", "pidof", "ps", "grep", "lsof", "ss", "awk", "cat", "systemctl"}, other.Name) &&
			slices.ContainsFunc(texts(other.Args), func(a string) bool { return serverName.MatchString(a) || s.port(a) })
	})
}

// port reports whether a word names the port of Tenet's server.
func (s *survey) port(word string) bool {
	return slices.ContainsFunc(s.Servers, func(server string) bool {
		_, port, err := net.SplitHostPort(server)
		return err == nil && port != "" && strings.HasSuffix(word, ":"+port)
	})
}
