package provider

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"tenet/internal/llm"
	"tenet/internal/rule"
	"tenet/internal/text"
)

// Embedder is an embedding model of a vendor. Check reports whether it can be reached and accepts the key, without asking it
// anything; see [Model].
type Embedder interface {
	llm.Embedder
	Check(ctx context.Context) error
}

// vectorWire is how one provider writes texts and reads vectors.
type vectorWire interface {
	// request renders texts: the path to post to and the body. sized asks for vectors of our length, which some servers
	// do not know how to do.
	request(model string, texts []string, sized bool) (path string, body any)
	// decode reads the vectors of n texts, in their order; one that is missing is nil.
	decode(body []byte, n int) ([][]float32, error)
	list() string
}

// batchSize is how many texts one call holds: far below the vendors' limits of texts, so that a batch is below their limits of
// tokens too, and its answer, which some print with every number on a line of its own, below ours of bytes.
const batchSize = 32

// embedder makes vectors through a link.
type embedder struct {
	*link
	wire vectorWire
	// unsized is set once the server has refused a length.
	unsized atomic.Bool
}

// NewEmbedder makes the embedding model that spec names as provider:model, such as openai:text-embedding-3-small,
// gemini:gemini-embedding-001 or ollama:nomic-embed-text. Addresses and keys come from env as for [New]. It takes no chain
// of models: vectors of two models cannot be compared.
func NewEmbedder(spec string, env func(string) string, opts Options) (Embedder, error) {
	if strings.Contains(spec, ",") {
		return nil, rule.Errorf(rule.CodeInvalid, "%q names several embedding models; name one, because vectors of two models cannot be compared", spec)
	}
	who, err := parseSpec(spec)
	if err != nil {
		return nil, err
	}
	if who.vendor == "anthropic" {
		return nil, rule.Errorf(rule.CodeInvalid, "anthropic has no embedding models; use openai:MODEL, gemini:MODEL or ollama:MODEL")
	}
	l, err := open(who, env, opts.withDefaults())
	if err != nil {
		return nil, err
	}
	wires := map[string]vectorWire{"openai": openAIVectors{}, "gemini": geminiVectors{}, "ollama": ollamaVectors{}}
	return &embedder{link: l, wire: wires[who.vendor]}, nil
}

// Check asks the server for its list of models.
func (e *embedder) Check(ctx context.Context) error { return e.check(ctx, e.wire.list()) }

// Embed asks for the vectors of texts in batches, one after the other.
func (e *embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, 0, len(texts))
	short := make([]string, len(texts))
	for i, s := range texts {
		if short[i] = text.Clip(strings.TrimSpace(s), llm.MaxEmbedBytes, ""); short[i] == "" {
			return nil, rule.Errorf(rule.CodeInvalid, "text %d is blank; there is nothing to make a vector of", i)
		}
	}
	for batch := range slices.Chunk(short, batchSize) {
		got, err := call(ctx, e.link, func(ctx context.Context) ([][]float32, error) { return e.attempt(ctx, batch) })
		if err != nil {
			return nil, err
		}
		vectors = append(vectors, got...)
	}
	return vectors, nil
}

// attempt asks for one batch, and again without the length if the server refuses that.
func (e *embedder) attempt(ctx context.Context, texts []string) ([][]float32, error) {
	for {
		sized := !e.unsized.Load()
		path, body := e.wire.request(e.model, texts, sized)
		r, err := e.post(ctx, path, body)
		if err != nil {
			return nil, err
		}
		if r.status == http.StatusOK {
			vectors, err := e.wire.decode(r.body, len(texts))
			if err != nil {
				return nil, err
			}
			return vectors, e.examine(vectors, len(texts))
		}
		if sized && complains(r.status) && strings.Contains(decodeFailure(r.body).complaint, "dimension") {
			e.unsized.Store(true)
			continue
		}
		return nil, e.refused(r)
	}
}

// examine refuses what is not a vector for every text, and brings vectors to length 1: shortened ones come otherwise.
func (e *embedder) examine(vectors [][]float32, n int) error {
	if len(vectors) != n {
		return rule.Errorf(rule.CodeInvalid, "%s sent %d vectors for %d texts", e.id(), len(vectors), n)
	}
	for i, v := range vectors {
		if len(v) != llm.Dimensions {
			return rule.Errorf(rule.CodeInvalid, "%s makes vectors of %d numbers, and %d are needed; use a model that makes those, such as openai:text-embedding-3-small, gemini:gemini-embedding-001 or ollama:nomic-embed-text",
				e.id(), len(v), llm.Dimensions)
		}
		var square float64
		for _, x := range v {
			square += float64(x) * float64(x)
		}
		if square == 0 || math.IsNaN(square) || math.IsInf(square, 0) {
			return rule.Errorf(rule.CodeInvalid, "%s sent a vector for text %d that has no direction", e.id(), i)
		}
		length := math.Sqrt(square)
		for k := range v {
			v[k] = float32(float64(v[k]) / length)
		}
	}
	return nil
}

// openAIVectors is the embeddings protocol of OpenAI and compatible servers.
type openAIVectors struct{}

func (openAIVectors) list() string { return "/models" }

func (openAIVectors) request(model string, texts []string, sized bool) (string, any) {
	body := struct {
		Model      string   `json:"model"`
		Input      []string `json:"input"`
		Format     string   `json:"encoding_format"`
		Dimensions int      `json:"dimensions,omitempty"`
	}{Model: model, Input: texts, Format: "float"}
	if sized {
		body.Dimensions = llm.Dimensions
	}
	return "/embeddings", body
}

func (openAIVectors) decode(body []byte, n int) ([][]float32, error) {
	var in struct {
		Data []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, noJSON(err)
	}
	vectors := make([][]float32, n)
	for _, d := range in.Data {
		if d.Index < 0 || d.Index >= n || vectors[d.Index] != nil || len(in.Data) != n {
			return nil, rule.Errorf(rule.CodeInvalid, "the model's server sent vectors that do not belong to the texts one by one")
		}
		vectors[d.Index] = d.Embedding
	}
	return vectors, nil
}

// geminiVectors is the batchEmbedContents protocol of Gemini.
type geminiVectors struct{}

func (geminiVectors) list() string { return gemini{}.list() }

func (geminiVectors) request(model string, texts []string, sized bool) (string, any) {
	type one struct {
		Model      string        `json:"model"`
		Content    geminiContent `json:"content"`
		Dimensions int           `json:"outputDimensionality,omitempty"`
	}
	body := struct {
		Requests []one `json:"requests"`
	}{}
	for _, text := range texts {
		r := one{Model: "models/" + strings.TrimPrefix(model, "models/"), Content: geminiContent{Parts: []geminiPart{{Text: text}}}}
		if sized {
			r.Dimensions = llm.Dimensions
		}
		body.Requests = append(body.Requests, r)
	}
	return geminiPath(model, "batchEmbedContents"), body
}

func (geminiVectors) decode(body []byte, _ int) ([][]float32, error) {
	var in struct {
		Embeddings []struct {
			Values []float32 `json:"values"`
		} `json:"embeddings"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, noJSON(err)
	}
	vectors := make([][]float32, len(in.Embeddings))
	for i, e := range in.Embeddings {
		vectors[i] = e.Values
	}
	return vectors, nil
}

// ollamaVectors is Ollama's own embedding protocol.
type ollamaVectors struct{}

func (ollamaVectors) list() string { return "/api/tags" }

func (ollamaVectors) request(model string, texts []string, sized bool) (string, any) {
	body := struct {
		Model      string   `json:"model"`
		Input      []string `json:"input"`
		Dimensions int      `json:"dimensions,omitempty"`
	}{Model: model, Input: texts}
	if sized {
		body.Dimensions = llm.Dimensions
	}
	return "/api/embed", body
}

func (ollamaVectors) decode(body []byte, _ int) ([][]float32, error) {
	var in struct {
		Embeddings [][]float32 `json:"embeddings"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, noJSON(err)
	}
	return in.Embeddings, nil
}
