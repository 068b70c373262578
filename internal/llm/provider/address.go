package provider

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"tenet/internal/rule"
)

// place names the variables of a provider's server and key.
type place struct {
	keyName string
	// baseNames are the settings of the address, the usual one first.
	baseNames []string
	// address is the vendor's own; a key is needed there.
	address   string
	authorise func(h http.Header, key string)
}

var places = map[string]place{
	"openai":    {"OPENAI_API_KEY", []string{"OPENAI_BASE_URL"}, "https://api.openai.com/v1", bearer},
	"anthropic": {"ANTHROPIC_API_KEY", []string{"ANTHROPIC_BASE_URL"}, "https://api.anthropic.com", anthropicKey},
	"gemini":    {"GEMINI_API_KEY", []string{"GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"}, "https://generativelanguage.googleapis.com", geminiKey},
	"ollama":    {"", []string{"OLLAMA_HOST"}, "http://127.0.0.1:11434", noKey},
}

// open finds the server and the key of a model.
func open(who identity, env func(string) string, opts Options) (*link, error) {
	p, ok := places[who.vendor]
	if !ok {
		return nil, rule.Errorf(rule.CodeInvalid, "%q is no provider; use openai:MODEL, anthropic:MODEL, gemini:MODEL or ollama:MODEL", who.vendor)
	}
	who.keyName, who.baseName = p.keyName, p.baseNames[0]
	address := ""
	for _, name := range p.baseNames {
		if address = strings.TrimSpace(env(name)); address != "" {
			who.baseName = name
			break
		}
	}
	key := ""
	if p.keyName != "" {
		key = strings.TrimSpace(env(p.keyName))
	}
	switch {
	case who.vendor == "ollama":
		address = ollamaAddress(address)
	case address == "" && key == "" && who.vendor == "openai":
		return nil, rule.Errorf(rule.CodeInvalid, "%s needs a key; set OPENAI_API_KEY, or OPENAI_BASE_URL for another OpenAI-compatible server", who.id())
	case address == "" && key == "":
		return nil, rule.Errorf(rule.CodeInvalid, "%s needs a key; set %s", who.id(), p.keyName)
	case address == "":
		address = p.address
	}
	base, err := parseBase(who.baseName, address)
	if err != nil {
		return nil, err
	}
	if !plainKey(key) {
		return nil, rule.Errorf(rule.CodeInvalid, "%s holds characters that no key has; set it again", p.keyName)
	}
	if key != "" && base.Scheme == "http" && !isLoopback(base.Hostname()) {
		opts.Logger.Warn("the model's key crosses the network unencrypted; use https", "setting", who.baseName, "host", base.Host)
	}
	return newLink(who, base, key, p.authorise, opts), nil
}

// ollamaAddress completes what OLLAMA_HOST may hold, as Ollama's own client does. The variable also sets where Ollama
// listens, so it may lack the scheme, the port or the host, and may hold an address that means every interface.
func ollamaAddress(host string) string {
	host = strings.TrimSpace(host)
	scheme, rest, ok := strings.Cut(host, "://")
	if !ok {
		scheme, rest = "http", host
	}
	hostport, path, _ := strings.Cut(rest, "/")
	name, port, ok := cutPort(hostport)
	if !ok {
		switch port = "11434"; {
		case strings.HasPrefix(host, "http://"):
			port = "80"
		case strings.HasPrefix(host, "https://"):
			port = "443"
		}
	}
	if name == "" || name == "0.0.0.0" || name == "[::]" {
		name = "127.0.0.1"
	}
	return strings.TrimSuffix(scheme+"://"+name+":"+port+"/"+path, "/")
}

// cutPort splits host:port, where the host may be an IPv6 address in brackets. It returns false without a port.
func cutPort(s string) (host, port string, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 || i < strings.LastIndexByte(s, ']') || i == len(s)-1 {
		return strings.TrimSuffix(s, ":"), "", false
	}
	return s[:i], s[i+1:], true
}

// parseBase checks a base URL. Errors name the setting and never repeat its value, which may hold a password.
func parseBase(setting, address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "" || (u.Scheme != "http" && u.Scheme != "https"):
		return nil, rule.Errorf(rule.CodeInvalid, "%s is no address; write it like https://models.example.com/v1", setting)
	case u.User != nil:
		return nil, rule.Errorf(rule.CodeInvalid, "%s must not hold a user or password; use the provider's key variable", setting)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, rule.Errorf(rule.CodeInvalid, "%s must end with its path, such as /v1; remove what begins with ? or #", setting)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = ""
	return u, nil
}

// plainKey reports whether key fits in a header: visible ASCII only.
func plainKey(key string) bool {
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			return false
		}
	}
	return true
}

func isLoopback(host string) bool {
	return host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
}

// Variable is a variable of the environment by which models are reached.
type Variable struct {
	Name   string
	Secret bool // it holds a key
}

// Variables lists the variables of all providers, by name.
func Variables() []Variable {
	var list []Variable
	for _, p := range places {
		if p.keyName != "" {
			list = append(list, Variable{p.keyName, true})
		}
		for _, name := range p.baseNames {
			list = append(list, Variable{name, false})
		}
	}
	slices.SortFunc(list, func(a, b Variable) int { return strings.Compare(a.Name, b.Name) })
	return list
}
