package provider_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenet/internal/llm"
	"tenet/internal/llm/provider"
	"tenet/internal/rule"
)

// vectorServer is a server of each kind that makes vectors of a given length out of the length of texts.
type vectorServer struct {
	spec, setting string
	path          string
	// texts reads the texts of a request, render writes an answer.
	texts  func(body map[string]any) []any
	render func(vectors [][]float64) any
	// size reads the length that was asked for.
	size func(body map[string]any) any
}

var vectorServers = map[string]vectorServer{
	"openai": {
		"openai:embed", "OPENAI_BASE_URL", "/embeddings",
		func(b map[string]any) []any { return b["input"].([]any) },
		func(vs [][]float64) any {
			data := make([]map[string]any, len(vs))
			for i, v := range vs { // in reverse: the index counts, not the place
				data[len(vs)-1-i] = map[string]any{"object": "embedding", "index": i, "embedding": v}
			}
			return map[string]any{"object": "list", "data": data}
		},
		func(b map[string]any) any { return b["dimensions"] },
	},
	"gemini": {
		"gemini:embed", "GEMINI_BASE_URL", "/v1beta/models/embed:batchEmbedContents",
		func(b map[string]any) []any {
			var out []any
			for _, r := range b["requests"].([]any) {
				content := r.(map[string]any)["content"].(map[string]any)
				out = append(out, content["parts"].([]any)[0].(map[string]any)["text"])
			}
			return out
		},
		func(vs [][]float64) any {
			var list []any
			for _, v := range vs {
				list = append(list, map[string]any{"values": v})
			}
			return map[string]any{"embeddings": list}
		},
		func(b map[string]any) any {
			r := b["requests"].([]any)[0].(map[string]any)
			if r["model"] != "models/embed" {
				return r["model"]
			}
			return r["outputDimensionality"]
		},
	},
	"ollama": {
		"ollama:embed", "OLLAMA_HOST", "/api/embed",
		func(b map[string]any) []any { return b["input"].([]any) },
		func(vs [][]float64) any { return map[string]any{"model": "embed", "embeddings": vs} },
		func(b map[string]any) any { return b["dimensions"] },
	},
}

// serve answers with one vector of n numbers per text, the first of which is the length of the text.
func (v vectorServer) serve(t *testing.T, n int) (llm.Embedder, *[]int) {
	t.Helper()
	batches := new([]int)
	return v.with(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != v.path {
			t.Errorf("got %s %s", r.Method, r.URL.Path)
		}
		body := readBody(t, r)
		if v.size(body) != 768.0 {
			t.Errorf("asked for %v numbers", v.size(body))
		}
		texts := v.texts(body)
		*batches = append(*batches, len(texts))
		vectors := make([][]float64, len(texts))
		for i, text := range texts {
			vectors[i] = make([]float64, n)
			vectors[i][0], vectors[i][1] = float64(len(text.(string))), 1
		}
		_ = json.NewEncoder(w).Encode(v.render(vectors))
	}), batches
}

func (v vectorServer) with(t *testing.T, handler http.HandlerFunc) llm.Embedder {
	t.Helper()
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	e, err := provider.NewEmbedder(v.spec, env(v.setting, srv.URL), provider.Options{Backoff: time.Millisecond, Retries: 2})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEmbedGivesOneVectorOfLengthOnePerText(t *testing.T) {
	for name, v := range vectorServers {
		t.Run(name, func(t *testing.T) {
			e, batches := v.serve(t, llm.Dimensions)
			texts := make([]string, 100)
			for i := range texts {
				texts[i] = strings.Repeat("a", i+1)
			}
			got, err := e.Embed(t.Context(), texts)
			if err != nil || len(got) != len(texts) {
				t.Fatalf("got %d vectors, %v", len(got), err)
			}
			for i, vec := range got {
				var square float64
				for _, x := range vec {
					square += float64(x) * float64(x)
				}
				if len(vec) != llm.Dimensions || math.Abs(square-1) > 1e-5 || math.Abs(float64(vec[0]/vec[1])-float64(i+1)) > 0.01 {
					t.Fatalf("vector %d is of %d numbers, length %v, and of the text of length %v", i, len(vec), math.Sqrt(square), vec[0]/vec[1])
				}
			}
			if len(*batches) < 3 {
				t.Errorf("batches are %v; no call may hold so many texts", *batches)
			}
			if e.ID() != v.spec {
				t.Errorf("ID is %q", e.ID())
			}
			if got, err := e.Embed(t.Context(), nil); err != nil || len(got) != 0 {
				t.Errorf("no texts give %v, %v", got, err)
			}
		})
	}
}

func TestEmbedSendsNoMoreThanModelsTake(t *testing.T) {
	e, _ := vectorServers["openai"].serve(t, llm.Dimensions)
	got, err := e.Embed(t.Context(), []string{strings.Repeat(" ", 9000) + strings.Repeat("é", llm.MaxEmbedBytes)})
	if err != nil || math.Round(float64(got[0][0]/got[0][1])) != llm.MaxEmbedBytes {
		t.Errorf("got %v, %v", got[0][:2], err)
	}
	if _, err := e.Embed(t.Context(), []string{"good", "\t"}); rule.CodeOf(err) != rule.CodeInvalid {
		t.Errorf("a blank text: got %v", err)
	}
}

func TestEmbedRefusesWhatIsNoVectorForEveryText(t *testing.T) {
	vector := func(n int, x float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = x
		}
		return v
	}
	for name, v := range vectorServers {
		for what, vectors := range map[string][][]float64{
			"too short":   {vector(1536, 1), vector(1536, 1)},
			"one shorter": {vector(768, 1), vector(767, 1)},
			"one less":    {vector(768, 1)},
			"one more":    {vector(768, 1), vector(768, 1), vector(768, 1)},
			"zeros":       {vector(768, 1), vector(768, 0)},
			"infinite":    {vector(768, 1), vector(768, 1e300)},
			"none":        {},
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				e := v.with(t, func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(v.render(vectors)) })
				if got, err := e.Embed(t.Context(), []string{"one", "two"}); rule.CodeOf(err) != rule.CodeInvalid || got != nil {
					t.Errorf("got %d vectors, %v", len(got), err)
				}
			})
		}
		for _, body := range []string{``, `{"embeddings":[[NaN]]}`, `{"data":[{"index":0,"embedding":[NaN]}]}`, `{}`, `null`, `[`, `{"data":[{"index":7},{"index":-1}]}`} {
			e := v.with(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
			if got, err := e.Embed(t.Context(), []string{"one", "two"}); rule.CodeOf(err) != rule.CodeInvalid || got != nil {
				t.Errorf("%s %s: got %v, %v", name, body, got, err)
			}
		}
	}
}

func TestEmbedDoesWithoutTheLengthAndStillChecksIt(t *testing.T) {
	v := vectorServers["openai"]
	var refused atomic.Int32
	e := v.with(t, func(w http.ResponseWriter, r *http.Request) {
		if body := readBody(t, r); body["dimensions"] != nil {
			refused.Add(1)
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"This model does not support specifying dimensions."}}`)
			return
		}
		one := make([]float64, 768)
		one[5] = 3
		_ = json.NewEncoder(w).Encode(v.render([][]float64{one}))
	})
	for range 2 {
		if got, err := e.Embed(t.Context(), []string{"x"}); err != nil || got[0][5] != 1 {
			t.Fatalf("got %v", err)
		}
	}
	if refused.Load() != 1 {
		t.Errorf("asked for the length %d times; a refusal must be remembered", refused.Load())
	}
}

func TestEmbedRetriesAndNeverGivesAPart(t *testing.T) {
	v := vectorServers["ollama"]
	var calls atomic.Int32
	one := make([]float64, 768)
	one[0] = 1
	e := v.with(t, func(w http.ResponseWriter, r *http.Request) {
		n := len(v.texts(readBody(t, r)))
		switch calls.Add(1) {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			vectors := make([][]float64, n)
			for i := range vectors {
				vectors[i] = one
			}
			_ = json.NewEncoder(w).Encode(v.render(vectors))
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"error":"model \"embed\" not found, try pulling it first"}`)
		}
	})
	texts := strings.Split(strings.TrimSpace(strings.Repeat("word ", 40)), " ")
	got, err := e.Embed(t.Context(), texts)
	if rule.CodeOf(err) != rule.CodeUnavailable || got != nil || calls.Load() != 3 || !strings.Contains(err.Error(), "try pulling it") {
		t.Errorf("got %d vectors, %v after %d calls", len(got), err, calls.Load())
	}
}
