// Package provider talks to the vendors of language models. It serves every OpenAI-compatible server: OpenAI itself, a
// server named by OPENAI_BASE_URL, and Ollama.
//
// The client is our own, over net/http, with types for the few fields that we use. The vendor's library was measured
// against it: it adds 18.7 MB to a stripped binary (6.0 MB to 24.7 MB for the smallest program that uses it), takes a cold
// compile on two cores from 16 s to 67 s with a peak of 2.6 GB of memory, and reads answers without a bound on their size.
// We would still have to write what compatible servers need, which is most of this package: noticing which parameters a
// server refuses, and doing without them.
package provider

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"tenet/internal/llm"
	"tenet/internal/rule"
)

// Model is a model of a vendor. Check tells whether it can be reached and accepts the key, without asking it anything.
type Model interface {
	llm.Model
	// Check asks the server for its list of models: a cheap call, meant for readiness. It returns an unavailable error that
	// says what to set if the server cannot be reached or refuses the key. It does not retry.
	Check(ctx context.Context) error
}

// Options tune a client. The zero value is meant for production.
type Options struct {
	// Timeout bounds one attempt of a call; 0 means 60 s. The caller's context bounds all attempts together.
	Timeout time.Duration
	// Retries is how often a call is tried again after 429, 5xx or a broken connection; 0 means 3, negative means never.
	Retries int
	// Backoff is the longest pause before the first retry; it doubles with each. 0 means 500 ms.
	Backoff time.Duration
	// Concurrency is how many calls may run at once; 0 means 16.
	Concurrency int
	// MaxResponseBytes bounds what is read of one answer; 0 means 2 MiB.
	MaxResponseBytes int64
	// Transport carries the requests; nil means one of our own with proxy support.
	Transport http.RoundTripper
	// Logger gets a warning where a key would cross a network in the clear, and a note for every retry; nil discards.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Timeout == 0 {
		o.Timeout = 60 * time.Second
	}
	if o.Retries == 0 {
		o.Retries = 3
	}
	if o.Backoff == 0 {
		o.Backoff = 500 * time.Millisecond
	}
	if o.Concurrency == 0 {
		o.Concurrency = 16
	}
	if o.MaxResponseBytes == 0 {
		o.MaxResponseBytes = 2 << 20
	}
	if o.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = o.Concurrency
		o.Transport = t
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// New makes the model that spec names as provider:model, such as openai:gpt-5-mini or ollama:qwen3:8b. Addresses and keys
// come from env, which works like os.Getenv. It makes no connection. A spec or setting that cannot work is an invalid
// error that says what to set.
func New(spec string, env func(string) string, opts Options) (Model, error) {
	vendor, model, ok := strings.Cut(strings.TrimSpace(spec), ":")
	model = strings.TrimSpace(model)
	if !ok || model == "" {
		return nil, rule.Errorf(rule.CodeInvalid, "%q does not name a model; write provider:model, such as openai:gpt-5-mini or ollama:qwen3:8b", spec)
	}
	if strings.Contains(model, ",") {
		return nil, rule.Errorf(rule.CodeInvalid, "%q names several models; this build takes one", spec)
	}
	opts = opts.withDefaults()
	switch vendor {
	case "openai":
		return newOpenAI(model, env, opts)
	case "ollama":
		return newOllama(model, env, opts)
	case "anthropic", "gemini":
		return nil, rule.Errorf(rule.CodeInvalid, "this build does not serve %s models yet; use openai:MODEL (with OPENAI_BASE_URL for any compatible server) or ollama:MODEL", vendor)
	}
	return nil, rule.Errorf(rule.CodeInvalid, "%q is no provider; use openai:MODEL or ollama:MODEL", vendor)
}

const openAIBase = "https://api.openai.com/v1"

func newOpenAI(model string, env func(string) string, opts Options) (Model, error) {
	key := strings.TrimSpace(env("OPENAI_API_KEY"))
	address := strings.TrimSpace(env("OPENAI_BASE_URL"))
	if address == "" {
		if key == "" {
			return nil, rule.Errorf(rule.CodeInvalid, "openai:%s needs a key; set OPENAI_API_KEY, or OPENAI_BASE_URL for another OpenAI-compatible server", model)
		}
		address = openAIBase
	}
	base, err := parseBase("OPENAI_BASE_URL", address)
	if err != nil {
		return nil, err
	}
	if !plainKey(key) {
		return nil, rule.Errorf(rule.CodeInvalid, "OPENAI_API_KEY holds characters that no key has; set it again")
	}
	if key != "" && base.Scheme == "http" && !isLoopback(base.Hostname()) {
		opts.Logger.Warn("the model's key crosses the network unencrypted; use https in OPENAI_BASE_URL", "host", base.Host)
	}
	return newClient(identity{id: "openai:" + model, model: model, keyName: "OPENAI_API_KEY", baseName: "OPENAI_BASE_URL"}, base, key, opts), nil
}

func newOllama(model string, env func(string) string, opts Options) (Model, error) {
	base, err := parseBase("OLLAMA_HOST", ollamaAddress(env("OLLAMA_HOST")))
	if err != nil {
		return nil, err
	}
	base.Path += "/v1"
	return newClient(identity{id: "ollama:" + model, model: model, baseName: "OLLAMA_HOST"}, base, "", opts), nil
}

// ollamaAddress completes what OLLAMA_HOST may hold, as Ollama's own client does. The variable also tells Ollama where to
// listen, so it may lack the scheme, the port or the host, and may hold an address that means every interface.
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

// plainKey reports whether key can stand in a header: visible ASCII only.
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
