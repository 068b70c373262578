package provider

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tenet/internal/llm"
	"tenet/internal/rule"
)

// script answers a vendor's requests in fake time, and counts them by host.
type script struct {
	mu    sync.Mutex
	calls map[string]int
	// answers gives the status for a host's n-th request, from 1; 0 hangs until the request is given up.
	answer func(host string, n int) int
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	if s.calls == nil {
		s.calls = map[string]int{}
	}
	s.calls[r.URL.Hostname()]++
	n := s.calls[r.URL.Hostname()]
	s.mu.Unlock()
	status := s.answer(r.URL.Hostname(), n)
	if status == 0 {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(fine)), Request: r}, nil
}

func (s *script) count(host string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[host]
}

// hosts is an environment that gives every provider a host of its own name, and a key.
func hosts(name string) string {
	if strings.HasSuffix(name, "_KEY") {
		return "key"
	}
	vendor, _, _ := strings.Cut(strings.ToLower(name), "_")
	return "http://" + vendor
}

func scripted(t *testing.T, spec string, opts Options, answer func(host string, n int) int) (Model, *script) {
	t.Helper()
	s := &script{answer: answer}
	opts.Transport = s
	m, err := New(spec, hosts, opts)
	if err != nil {
		t.Fatal(err)
	}
	return m, s
}

func TestTheBreakerOpensProbesAndCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := true
		m, s := scripted(t, "openai:x", Options{Retries: -1}, func(string, int) int {
			if broken {
				return 503
			}
			return 200
		})
		ask := func() error {
			_, err := m.Complete(t.Context(), llm.Request{Prompt: "p"})
			return err
		}
		for range 20 {
			if err := ask(); rule.CodeOf(err) != rule.CodeUnavailable {
				t.Fatalf("got %v", err)
			}
		}
		if n := s.count("openai"); n != patience {
			t.Fatalf("%d exchanges for 20 calls, want %d", n, patience)
		}
		if err := ask(); !strings.Contains(err.Error(), "left alone for 5s") {
			t.Errorf("got %v; it should say for how long", err)
		}
		time.Sleep(firstRest)
		for range 3 {
			_ = ask() // one probe, which fails
		}
		time.Sleep(firstRest)
		_ = ask() // the rest has doubled
		if n := s.count("openai"); n != patience+1 {
			t.Errorf("%d exchanges, want one probe more than %d", n, patience)
		}
		broken = false
		time.Sleep(firstRest)
		for range 3 {
			if err := ask(); err != nil {
				t.Errorf("after the probe: %v", err)
			}
		}
		if n := s.count("openai"); n != patience+4 {
			t.Errorf("%d exchanges, want %d", n, patience+4)
		}
	})
}

func TestTheBreakerLetsOneProbeThrough(t *testing.T) {
	var b breaker
	now := time.Unix(0, 0)
	for range patience {
		p, _, ok := b.enter(now)
		if !ok {
			t.Fatal("open too early")
		}
		b.leave(now, p, failed)
	}
	if _, rest, ok := b.enter(now); ok || rest != firstRest {
		t.Errorf("rest is %v", rest)
	}
	now = now.Add(firstRest)
	probe, _, ok := b.enter(now)
	if _, _, second := b.enter(now); !ok || second {
		t.Errorf("probe %v, second %v", ok, second)
	}
	b.leave(now, probe, unknown) // its caller left
	probe, _, ok = b.enter(now)
	if !ok {
		t.Error("a probe that was given up must leave room for the next")
	}
	b.leave(now, pass{}, failed) // one that was under way since before
	if _, _, second := b.enter(now); second {
		t.Error("a late failure ended the probe")
	}
	for range 10 { // the rest grows up to its limit
		b.leave(now, probe, failed)
		now = now.Add(longestRest)
		if probe, _, ok = b.enter(now); !ok {
			t.Fatal("rested longer than the longest rest")
		}
	}
	b.leave(now, probe, answered)
	if _, _, ok := b.enter(now); !ok {
		t.Error("an answer must close it")
	}
}

func TestRefusalsAndCallersWhoLeaveDoNotOpenTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := scripted(t, "openai:x", Options{Retries: -1}, func(_ string, n int) int {
			if n <= 20 {
				return 401
			}
			return 0
		})
		for range 20 {
			_, _ = m.Complete(t.Context(), llm.Request{Prompt: "p"})
		}
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, _ = m.Complete(ctx, llm.Request{Prompt: "p"})
			cancel()
		}
		if n := s.count("openai"); n != 40 {
			t.Errorf("%d exchanges, want 40", n)
		}
	})
}

func TestDeadlinesAreKeptByEveryProviderAndByAChain(t *testing.T) {
	for _, spec := range []string{"openai:x", "anthropic:x", "gemini:x", "ollama:x", "openai:x,anthropic:x,gemini:x"} {
		for name, answer := range map[string]func(string, int) int{
			"hang":  func(string, int) int { return 0 },
			"storm": func(string, int) int { return 503 },
			"both":  func(_ string, n int) int { return 503 * (n % 2) },
		} {
			t.Run(spec+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m, _ := scripted(t, spec, Options{Timeout: 30 * time.Second}, answer)
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					defer cancel()
					start := time.Now()
					_, err := m.Complete(ctx, llm.Request{Prompt: "p"})
					if rule.CodeOf(err) != rule.CodeUnavailable {
						t.Errorf("got %v", err)
					}
					if took := time.Since(start); took > 11*time.Second {
						t.Errorf("took %v of 10 s", took)
					}
				})
			})
		}
	}
}

func TestModelsThatHangInAChainAreLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := scripted(t, "anthropic:a,gemini:b,openai:c", Options{Timeout: 30 * time.Second}, func(host string, _ int) int {
			if host == "openai" {
				return 200
			}
			return 0
		})
		var took time.Duration
		for range 2 * patience {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			start := time.Now()
			if _, err := m.Complete(ctx, llm.Request{Prompt: "p"}); err != nil {
				t.Error(err)
			}
			took = time.Since(start)
			cancel()
		}
		if took > time.Second || s.count("anthropic") >= 2*patience {
			t.Errorf("the last call took %v, after %v exchanges; models that hang cost every call their share of the time", took, s.calls)
		}
	})
}

func TestAHangOf30SecondsEndsWithTheAttemptsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := scripted(t, "anthropic:x", Options{Timeout: 2 * time.Second, Retries: 1}, func(string, int) int { return 0 })
		start := time.Now()
		_, err := m.Complete(t.Context(), llm.Request{Prompt: "p"})
		if took := time.Since(start); rule.CodeOf(err) != rule.CodeUnavailable || took > 5*time.Second || s.count("anthropic") != 2 {
			t.Errorf("got %v after %v and %d calls", err, took, s.count("anthropic"))
		}
	})
}

func TestAChainAsksTheNextAndSaysWhoAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := scripted(t, "anthropic:a, openai:b", Options{Retries: -1}, func(host string, _ int) int {
			if host == "anthropic" {
				return 503
			}
			return 200
		})
		if m.ID() != "anthropic:a,openai:b" {
			t.Errorf("ID is %q", m.ID())
		}
		for range 20 {
			got, err := m.Complete(t.Context(), llm.Request{Prompt: "p"})
			if err != nil || got.Text != "fine" || got.Model != "openai:b" {
				t.Fatalf("got %+v, %v", got, err)
			}
		}
		if a, b := s.count("anthropic"), s.count("openai"); a != patience || b != 20 {
			t.Errorf("%d and %d exchanges; the first is to be left alone once it has failed %d times", a, b, patience)
		}
	})
}

func TestAChainLeavesTimeForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := scripted(t, "anthropic:a,openai:b", Options{Timeout: 30 * time.Second}, func(host string, _ int) int {
			if host == "anthropic" {
				return 0
			}
			return 200
		})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if got, err := m.Complete(ctx, llm.Request{Prompt: "p"}); err != nil || got.Model != "openai:b" {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestAChainFailsWhenAllFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := scripted(t, "openai:a,ollama:b", Options{Retries: 1}, func(string, int) int { return 503 })
		got, err := m.Complete(t.Context(), llm.Request{Prompt: "p"})
		if rule.CodeOf(err) != rule.CodeUnavailable || got.Text != "" || !strings.Contains(err.Error(), "openai:a") || !strings.Contains(err.Error(), "ollama:b") {
			t.Errorf("got %+v, %v", got, err)
		}
		if s.count("openai") != 2 || s.count("ollama") != 2 {
			t.Errorf("%v exchanges", s.calls)
		}
	})
}

// TestAChainCountsWhatARefusalCost: the vendor charges for it.
func TestAChainCountsWhatARefusalCost(t *testing.T) {
	s := transport(func(r *http.Request) (int, http.Header, string) {
		if r.URL.Hostname() == "openai" {
			return 200, nil, `{"choices":[{"message":{"refusal":"no"}}],"usage":{"prompt_tokens":100,"completion_tokens":5}}`
		}
		return 200, nil, `{"message":{"content":"fine"},"done":true,"prompt_eval_count":90,"eval_count":7}`
	})
	m, err := New("openai:a,ollama:b", hosts, Options{Transport: s})
	if err != nil {
		t.Fatal(err)
	}
	want := llm.Response{Model: "ollama:b", Text: "fine", InputTokens: 190, OutputTokens: 12}
	if got, err := m.Complete(t.Context(), llm.Request{Prompt: "p"}); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

// TestAChainPassesOnAnswersThatAreUnusable: asking for less, or in another way, is for the caller to decide.
func TestAChainPassesOnAnswersThatAreUnusable(t *testing.T) {
	m, s := scripted(t, "anthropic:a,openai:b", Options{}, func(string, int) int { return 200 }) // fine is no answer of Anthropic's
	if _, err := m.Complete(t.Context(), llm.Request{Prompt: "p"}); rule.CodeOf(err) != rule.CodeInvalid || s.count("openai") != 0 {
		t.Errorf("got %v, and %d calls of the next", err, s.count("openai"))
	}
}

func TestAChainChecksAll(t *testing.T) {
	for _, c := range []struct {
		anthropic, openai int
		partial, key      bool
	}{{200, 200, false, false}, {401, 200, true, true}, {200, 503, true, false}, {401, 503, false, true}} {
		m, _ := scripted(t, "anthropic:a,openai:b", Options{}, func(host string, _ int) int {
			if host == "anthropic" {
				return c.anthropic
			}
			return c.openai
		})
		err := m.Check(t.Context())
		_, partial := errors.AsType[*PartialError](err)
		if (err == nil) != (c.anthropic == 200 && c.openai == 200) || partial != c.partial || errors.Is(err, ErrKey) != c.key {
			t.Errorf("%+v: got %v", c, err)
		}
		if err != nil && (strings.ContainsRune(err.Error(), '\n') || rule.CodeOf(err) != rule.CodeUnavailable) {
			t.Errorf("%+v: %s %q", c, rule.CodeOf(err), err)
		}
	}
}

func TestModelsOfOneProviderShareItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := NewSlots(2)
		hold := make(chan struct{})
		block := func(string, int) int { <-hold; return 200 }
		a, sa := scripted(t, "openai:a", Options{Slots: slots}, block)
		b, sb := scripted(t, "openai:b", Options{Slots: slots}, block)
		other, so := scripted(t, "ollama:c", Options{Slots: slots}, block)
		var wg sync.WaitGroup
		for _, m := range []Model{a, a, a, b, b, b, other} {
			wg.Go(func() { _, _ = m.Complete(t.Context(), llm.Request{Prompt: "p"}) })
		}
		synctest.Wait()
		if n := sa.count("openai") + sb.count("openai"); n != 2 || so.count("ollama") != 1 {
			t.Errorf("%d and %d calls at once, want 2 and 1", n, so.count("ollama"))
		}
		close(hold)
		wg.Wait()
	})
}
