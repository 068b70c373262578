// Package provider talks to the vendors of language models: OpenAI and every server that is compatible with it, Anthropic,
// Gemini and Ollama.
//
// The clients are our own, over net/http, with types for the few fields that we use. ADR 7 says why, with the weight of the
// vendors' libraries. What remains for each vendor is a file that writes its prompts and reads its answers; exchanges,
// retries, the breaker and the words for what went wrong are the same for all.
package provider

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"tenet/internal/llm"
	"tenet/internal/rule"
	"tenet/internal/turn"
)

// Model is a model of a vendor. Check reports whether it can be reached and accepts the key, without asking it anything.
type Model interface {
	llm.Model
	// Check asks the server for its list of models: a cheap call, meant for readiness. It returns an unavailable error that
	// says what to set if the server cannot be reached or refuses the key. It does not retry.
	Check(ctx context.Context) error
}

// ErrKey is in every error about a key that a server asks for or does not take.
var ErrKey = errors.New("refuses the key")

// Options tune a client. The zero value is meant for production.
type Options struct {
	// Timeout bounds one attempt of a call; 0 means 60 s. The caller's context bounds all attempts together.
	Timeout time.Duration
	// Retries is how often a call is tried again after 429, 5xx or a broken connection; 0 means 3, negative means never.
	Retries int
	// Backoff is the longest pause before the first retry; it doubles with each. 0 means 500 ms.
	Backoff time.Duration
	// Concurrency is how many calls to one provider may run at once; 0 means 16.
	Concurrency int
	// Slots holds the calls to each provider under that limit. Models that share it share the limit; nil means one for the
	// models of this spec.
	Slots *Slots
	// MaxResponseBytes bounds what is read of one answer; 0 means 2 MiB.
	MaxResponseBytes int64
	// Transport carries the requests; nil means one of our own with proxy support.
	Transport http.RoundTripper
	// Logger gets a warning where a key would cross a network in the clear, and a note for every retry; nil discards.
	Logger *slog.Logger
}

const defaultConcurrency = 16

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
	if o.Concurrency <= 0 {
		o.Concurrency = defaultConcurrency
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
	if o.Slots == nil {
		o.Slots = NewSlots(o.Concurrency)
	}
	return o
}

// Slots limits the calls to each provider. Callers of different groups, see [turn.With], get them by turns. It is safe for concurrent use.
type Slots struct {
	limit int
	mu    sync.Mutex
	by    map[string]*turn.Places
}

// NewSlots allows limit calls to each provider at once; 0 or less means 16.
func NewSlots(limit int) *Slots {
	if limit <= 0 {
		limit = defaultConcurrency
	}
	return &Slots{limit: limit, by: map[string]*turn.Places{}}
}

func (s *Slots) of(vendor string) *turn.Places {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by[vendor] == nil {
		s.by[vendor] = turn.New(s.limit)
	}
	return s.by[vendor]
}

// New makes the model that spec names as provider:model, such as openai:gpt-5-mini or ollama:qwen3:8b. Several, with commas
// between, make one model that asks each in turn until one answers. Addresses and keys come from env, which works like
// os.Getenv. It makes no connection. A spec or setting that cannot work is an invalid error that says what to set.
func New(spec string, env func(string) string, opts Options) (Model, error) {
	opts = opts.withDefaults()
	var models []Model
	for one := range strings.SplitSeq(spec, ",") {
		m, err := newModel(one, env, opts)
		if err != nil {
			return nil, err
		}
		for _, other := range models {
			if other.ID() == m.ID() {
				return nil, rule.Errorf(rule.CodeInvalid, "%q names %s twice; a model that failed is not asked again at once", spec, m.ID())
			}
		}
		models = append(models, m)
	}
	if len(models) == 1 {
		return models[0], nil
	}
	return newChain(models, opts.Logger), nil
}

func newModel(spec string, env func(string) string, opts Options) (Model, error) {
	who, err := parseSpec(spec)
	if err != nil {
		return nil, err
	}
	l, err := open(who, env, opts)
	if err != nil {
		return nil, err
	}
	switch who.vendor {
	case "anthropic":
		return newClient(l, anthropic{}, dialect{}), nil
	case "gemini":
		return newClient(l, gemini{}, dialect{}), nil
	case "ollama":
		return newClient(l, &ollama{}, dialect{}), nil
	}
	return newClient(l, openAI{}, dialect{newTokenLimit: l.base.Host == "api.openai.com"}), nil
}

func parseSpec(spec string) (identity, error) {
	vendor, model, ok := strings.Cut(strings.TrimSpace(spec), ":")
	model = strings.TrimSpace(model)
	if !ok || model == "" {
		return identity{}, rule.Errorf(rule.CodeInvalid, "%q does not name a model; write provider:model, such as openai:gpt-5-mini or ollama:qwen3:8b", spec)
	}
	return identity{vendor: vendor, model: model}, nil
}
