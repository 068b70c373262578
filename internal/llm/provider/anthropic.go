package provider

import (
	"encoding/json"
	"net/http"
	"strings"

	"tenet/internal/llm"
)

// anthropic is Anthropic's Messages protocol. Its prompt cache needs marks: one behind the system text and one behind the
// stable beginning of the user's turn.
type anthropic struct{}

// anthropicVersion is the version of the protocol. It is not the date of a feature: all later ones came under it.
const anthropicVersion = "2023-06-01"

// anthropicOutput is the limit of output tokens if the request has none: the protocol demands one, and it is the limit of the
// smallest model served allows.
const anthropicOutput = 4096

func anthropicKey(h http.Header, key string) {
	h.Set("Anthropic-Version", anthropicVersion)
	h.Set("X-Api-Key", key)
}

type anthropicText struct {
	Type         string        `json:"type"`
	Text         string        `json:"text"`
	CacheControl *cacheControl `json:"cache_control,omitempty"`
}

type cacheControl struct {
	Type string `json:"type"`
}

// ephemeral is the mark behind which the prompt may be cached for some minutes.
var ephemeral = &cacheControl{Type: "ephemeral"}

type anthropicMessage struct {
	Role    string          `json:"role"`
	Content []anthropicText `json:"content"`
}

type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type anthropicChoice struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

type anthropicOutputConfig struct {
	Format responseFormat `json:"format"`
}

type anthropicRequest struct {
	Model        string                 `json:"model"`
	MaxTokens    int                    `json:"max_tokens"`
	System       []anthropicText        `json:"system,omitempty"`
	Messages     []anthropicMessage     `json:"messages"`
	Temperature  *float64               `json:"temperature,omitempty"`
	OutputConfig *anthropicOutputConfig `json:"output_config,omitempty"`
	Tools        []anthropicTool        `json:"tools,omitempty"`
	ToolChoice   *anthropicChoice       `json:"tool_choice,omitempty"`
}

func (anthropic) list() string { return "/v1/models" }

func (anthropic) request(model string, req llm.Request, d dialect) (string, any) {
	out := anthropicRequest{Model: model, MaxTokens: req.MaxOutputTokens}
	if out.MaxTokens <= 0 || d.noRoom && out.MaxTokens > anthropicOutput {
		out.MaxTokens = anthropicOutput
	}
	system := req.System
	if len(req.Schema) > 0 {
		switch d.format {
		case formatSchema:
			out.OutputConfig = &anthropicOutputConfig{responseFormat{Type: "json_schema", Schema: req.Schema}}
		case formatObjectSchema:
			// Models older than structured output are held to a schema by a tool that they must call.
			out.Tools = []anthropicTool{{schemaName(req), "Takes the answer.", req.Schema}}
			out.ToolChoice = &anthropicChoice{"tool", schemaName(req)}
		case formatObject, formatText:
			system += inWords(req.Schema)
		}
	}
	if system != "" {
		out.System = []anthropicText{{"text", system, ephemeral}}
	}
	var turn []anthropicText
	if req.Prefix != "" {
		turn = append(turn, anthropicText{"text", req.Prefix, ephemeral})
	}
	if req.Prompt != "" {
		turn = append(turn, anthropicText{"text", req.Prompt, nil})
	}
	out.Messages = []anthropicMessage{{"user", turn}}
	if !d.noTemperature {
		out.Temperature = new(float64)
	}
	return "/v1/messages", out
}

func (anthropic) adapt(d dialect, complaint string) (dialect, bool) {
	has := func(s string) bool { return strings.Contains(complaint, s) }
	switch {
	case d.format == formatSchema && (has("output_config") || has("output_format") || has("output format") || has("json_schema") || has("structured output")):
		d.format = formatObjectSchema
	case d.format == formatObjectSchema && (has("tool_choice") || has("tools") || has("input_schema")):
		d.format = formatText
	case has("max_tokens") && !d.noRoom:
		d.noRoom = true
	case has("temperature") && !d.noTemperature:
		d.noTemperature = true
	default:
		return d, false
	}
	return d, true
}

type anthropicResponse struct {
	Content []struct {
		Type  string          `json:"type"`
		Text  string          `json:"text"`
		Input json.RawMessage `json:"input"`
	} `json:"content"`
	StopReason string `json:"stop_reason"`
	Usage      struct {
		InputTokens              int `json:"input_tokens"`
		CacheCreationInputTokens int `json:"cache_creation_input_tokens"`
		CacheReadInputTokens     int `json:"cache_read_input_tokens"`
		OutputTokens             int `json:"output_tokens"`
	} `json:"usage"`
}

func (anthropic) decode(body []byte) (llm.Response, error) {
	var in anthropicResponse
	if err := json.Unmarshal(body, &in); err != nil {
		return llm.Response{}, noJSON(err)
	}
	u := in.Usage
	cached := max(0, u.CacheReadInputTokens)
	resp := llm.Response{
		// input_tokens leaves out what went through the cache.
		InputTokens:  max(0, u.InputTokens) + max(0, u.CacheCreationInputTokens) + cached,
		OutputTokens: max(0, u.OutputTokens),
		CachedTokens: cached,
	}
	var text strings.Builder
	calls := 0
	for _, block := range in.Content {
		switch block.Type {
		case "text":
			if calls == 0 {
				text.WriteString(block.Text)
			}
		case "tool_use":
			// The only tool takes the answer; text next to it is not part of that.
			text.Reset()
			text.Write(block.Input)
			calls++
		}
	}
	resp.Text = text.String()
	switch in.StopReason {
	case "refusal":
		return resp, errRefusal
	case "max_tokens", "model_context_window_exceeded":
		return resp, errCutOff
	case "pause_turn":
		return resp, errTool
	case "", "end_turn", "stop_sequence", "tool_use": // the only tool takes the answer
	default:
		return resp, errEnded
	}
	switch {
	case len(in.Content) == 0:
		return resp, errNoAnswer
	case calls > 1:
		return resp, errSeveral
	}
	return resp, notBlank(resp)
}
