package provider_test

import (
	"strings"
	"testing"

	"tenet/internal/llm"
	"tenet/internal/llm/provider"
	"tenet/internal/rule"
)

// env makes an environment of pairs.
func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestNewRefusesWhatCannotWorkAndSaysWhatToSet(t *testing.T) {
	cases := []struct {
		name, spec string
		env        func(string) string
		want       string
	}{
		{"no provider", "gpt-5", env(), "write provider:model"},
		{"no model", "openai:", env(), "write provider:model"},
		{"empty", "", env(), "write provider:model"},
		{"unknown provider", "acme:x", env(), "use openai:MODEL, anthropic:MODEL, gemini:MODEL or ollama:MODEL"},
		{"bad second of several", "ollama:a,openai:b", env(), "set OPENAI_API_KEY"},
		{"empty second of several", "ollama:a,", env(), "write provider:model"},
		{"one model twice", "ollama:a, ollama:a", env(), "twice"},
		{"no key", "openai:gpt-5", env(), "set OPENAI_API_KEY"},
		{"no anthropic key", "anthropic:claude", env("OPENAI_API_KEY", "k"), "set ANTHROPIC_API_KEY"},
		{"no gemini key", "gemini:pro", env(), "set GEMINI_API_KEY"},
		{"anthropic key with a space", "anthropic:claude", env("ANTHROPIC_API_KEY", "sk-one sk-two"), "ANTHROPIC_API_KEY holds"},
		{"gemini address with a password", "gemini:pro", env("GOOGLE_GEMINI_BASE_URL", "https://me:hunter2@example.com"), "GOOGLE_GEMINI_BASE_URL must not hold"},
		{"key with a line break", "openai:gpt-5", env("OPENAI_API_KEY", "sk-one\nsk-two"), "OPENAI_API_KEY holds"},
		{"address without scheme", "openai:x", env("OPENAI_BASE_URL", "models.example.com/v1"), "OPENAI_BASE_URL is no address"},
		{"address of a file", "openai:x", env("OPENAI_BASE_URL", "file:///etc/passwd"), "OPENAI_BASE_URL is no address"},
		{"password in address", "openai:x", env("OPENAI_BASE_URL", "https://me:hunter2@example.com/v1"), "must not hold"},
		{"query in address", "openai:x", env("OPENAI_BASE_URL", "https://example.com/v1?key=hunter2"), "must end with its path"},
		{"bad ollama host", "ollama:x", env("OLLAMA_HOST", "ftp://example.com"), "OLLAMA_HOST is no address"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := provider.New(c.spec, c.env, provider.Options{})
			if rule.CodeOf(err) != rule.CodeInvalid || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want an invalid error with %q", err, c.want)
			}
			for _, secret := range []string{"hunter2", "sk-one", "sk-two"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error tells a secret: %v", err)
				}
			}
		})
	}
}

func TestNewTakesModelNamesWithColons(t *testing.T) {
	m, err := provider.New("ollama:qwen3:8b", env(), provider.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if m.ID() != "ollama:qwen3:8b" {
		t.Errorf("ID is %q", m.ID())
	}
}

func TestACompatibleServerNeedsNoKey(t *testing.T) {
	if _, err := provider.New("openai:local", env("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1/"), provider.Options{}); err != nil {
		t.Error(err)
	}
}

func TestNewEmbedderRefusesWhatCannotWork(t *testing.T) {
	for spec, want := range map[string]string{
		"ollama:a,ollama:b": "name one", "anthropic:claude": "no embedding models", "openai:x": "set OPENAI_API_KEY", "nomic": "write provider:model",
	} {
		if _, err := provider.NewEmbedder(spec, env(), provider.Options{}); rule.CodeOf(err) != rule.CodeInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an invalid error with %q", spec, err, want)
		}
	}
}

func TestServerOf(t *testing.T) {
	for _, c := range []struct {
		spec, base, want string
	}{
		{"openai:m", "", ""},
		{"openai:m", "https://api.openai.com/v1/", ""},
		{"openai:m", "http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1"},
		{"openai:m,anthropic:n", "http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1"},
		{"anthropic:n,openai:m", "http://127.0.0.1:9/v1", ""},
		{"ollama:m", "", ""},
	} {
		env := map[string]string{"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "OPENAI_BASE_URL": c.base}
		m, err := provider.New(c.spec, func(name string) string { return env[name] }, provider.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := llm.ServerOf(m); got != c.want {
			t.Errorf("%s at %q is on %q, want %q", c.spec, c.base, got, c.want)
		}
	}
}
