package provider

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"

	"tenet/internal/llm"
)

// ollama is Ollama's own protocol. Its OpenAI-compatible one cannot set the length of the context, and a prompt beyond
// the default length is cut without a word.
type ollama struct {
	// context is the longest context asked for so far. It never shrinks, because another length makes the server load the
	// model again.
	context atomic.Int64
}

func noKey(http.Header, string) {}

// firstContext is the least length of context asked for, in tokens.
const firstContext = 8192

type ollamaOptions struct {
	Temperature float64 `json:"temperature"`
	Seed        int     `json:"seed"`
	NumPredict  int     `json:"num_predict,omitempty"`
	NumCtx      int64   `json:"num_ctx"`
}

type ollamaRequest struct {
	Model    string          `json:"model"`
	Messages []message       `json:"messages"`
	Stream   bool            `json:"stream"`
	Think    *bool           `json:"think,omitempty"`
	Format   json.RawMessage `json:"format,omitempty"`
	// Truncate and Shift forbid to drop text that does not fit.
	Truncate bool          `json:"truncate"`
	Shift    bool          `json:"shift"`
	Options  ollamaOptions `json:"options"`
}

func (*ollama) list() string { return "/api/tags" }

func (o *ollama) request(model string, req llm.Request, d dialect) (string, any) {
	system := req.System
	out := ollamaRequest{Model: model, Options: ollamaOptions{Seed: seed, NumPredict: req.MaxOutputTokens}}
	if len(req.Schema) > 0 {
		switch d.format {
		case formatSchema, formatObjectSchema:
			out.Format = req.Schema
		case formatObject:
			out.Format = json.RawMessage(`"json"`)
		case formatText:
		}
		if d.format >= formatObject {
			system += inWords(req.Schema)
		}
	}
	if !d.noRoom {
		// The schema has a place to reason in; thoughts before it would only use up the limit of output.
		out.Think = new(false)
	}
	if system != "" {
		out.Messages = append(out.Messages, message{"system", system})
	}
	out.Messages = append(out.Messages, message{"user", req.Prefix + req.Prompt})
	// Two bytes a token is more tokens than any text of ours has.
	out.Options.NumCtx = o.room(int64(len(system)+len(req.Prefix)+len(req.Prompt))/2 + int64(max(req.MaxOutputTokens, 1024)))
	return "/api/chat", out
}

// room returns the length of context to ask for so that need tokens fit: a power of two, and never less than before.
func (o *ollama) room(need int64) int64 {
	for {
		old := o.context.Load()
		length := max(old, firstContext)
		for length < need {
			length *= 2
		}
		if length == old || o.context.CompareAndSwap(old, length) {
			return length
		}
	}
}

func (*ollama) adapt(d dialect, complaint string) (dialect, bool) {
	has := func(s string) bool { return strings.Contains(complaint, s) }
	switch {
	case has("think") && !d.noRoom:
		d.noRoom = true
	case (has("format") || has("schema") || has("grammar")) && d.format < formatObject:
		d.format = formatObject
	case (has("format") || has("grammar")) && d.format < formatText:
		d.format = formatText
	default:
		return d, false
	}
	return d, true
}

type ollamaResponse struct {
	Message struct {
		Content   string            `json:"content"`
		ToolCalls []json.RawMessage `json:"tool_calls"`
	} `json:"message"`
	Done            bool   `json:"done"`
	DoneReason      string `json:"done_reason"`
	PromptEvalCount int    `json:"prompt_eval_count"`
	EvalCount       int    `json:"eval_count"`
}

func (*ollama) decode(body []byte) (llm.Response, error) {
	var in ollamaResponse
	if err := json.Unmarshal(body, &in); err != nil {
		return llm.Response{}, noJSON(err)
	}
	resp := llm.Response{
		Text: in.Message.Content, InputTokens: max(0, in.PromptEvalCount), OutputTokens: max(0, in.EvalCount),
	}
	switch {
	case in.DoneReason == "length":
		return resp, errCutOff
	case len(in.Message.ToolCalls) > 0:
		return resp, errTool
	case !in.Done:
		return resp, errNoAnswer
	case in.DoneReason != "" && in.DoneReason != "stop": // such as load and unload
		return resp, errEnded
	}
	return resp, notBlank(resp)
}
