package provider

import (
	"encoding/json"
	"net/http"
	"strings"

	"tenet/internal/llm"
	"tenet/internal/rule"
)

// seed is fixed so that a server that honours it answers the same prompt alike.
const seed = 20240229

// openAI is the chat completions protocol of OpenAI and of the many servers that are compatible with it. OpenAI caches the
// beginning of a prompt automatically: stable text needs no mark, only to come first.
type openAI struct{}

func bearer(h http.Header, key string) {
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type responseFormat struct {
	Type       string          `json:"type"`
	JSONSchema *namedSchema    `json:"json_schema,omitempty"`
	Schema     json.RawMessage `json:"schema,omitempty"`
}

type namedSchema struct {
	Name   string          `json:"name"`
	Strict bool            `json:"strict"`
	Schema json.RawMessage `json:"schema"`
}

type chatRequest struct {
	Model               string          `json:"model"`
	Messages            []message       `json:"messages"`
	ResponseFormat      *responseFormat `json:"response_format,omitempty"`
	Temperature         *float64        `json:"temperature,omitempty"`
	Seed                *int            `json:"seed,omitempty"`
	MaxTokens           int             `json:"max_tokens,omitempty"`
	MaxCompletionTokens int             `json:"max_completion_tokens,omitempty"`
}

func (openAI) list() string { return "/models" }

func (openAI) request(model string, req llm.Request, d dialect) (string, any) {
	system := req.System
	out := chatRequest{Model: model}
	if len(req.Schema) > 0 {
		switch d.format {
		case formatSchema:
			out.ResponseFormat = &responseFormat{Type: "json_schema", JSONSchema: &namedSchema{schemaName(req), true, req.Schema}}
		case formatObjectSchema:
			out.ResponseFormat = &responseFormat{Type: "json_object", Schema: req.Schema}
		case formatObject:
			out.ResponseFormat = &responseFormat{Type: "json_object"}
		case formatText:
		}
		if d.format == formatObject || d.format == formatText {
			system += inWords(req.Schema)
		}
	}
	if system != "" {
		out.Messages = append(out.Messages, message{"system", system})
	}
	out.Messages = append(out.Messages, message{"user", req.Prefix + req.Prompt})
	if !d.noTemperature {
		out.Temperature = new(float64)
	}
	if !d.noSeed {
		out.Seed = new(seed)
	}
	if !d.newTokenLimit {
		out.MaxTokens = req.MaxOutputTokens
	} else if out.MaxCompletionTokens = req.MaxOutputTokens; req.MaxOutputTokens > 0 && !d.noRoom {
		out.MaxCompletionTokens += thoughtRoom
	}
	return "/chat/completions", out
}

func schemaName(req llm.Request) string {
	if req.SchemaName == "" {
		return "answer"
	}
	return req.SchemaName
}

func (openAI) adapt(d dialect, complaint string) (dialect, bool) {
	has := func(s string) bool { return strings.Contains(complaint, s) }
	switch {
	case (has("response_format") || has("json_schema") || has("json_object")) && d.format < formatText:
		d.format++
	case has("max_completion_tokens") && d.newTokenLimit && !d.noRoom:
		d.noRoom = true
	case has("max_completion_tokens") && d.newTokenLimit:
		d.newTokenLimit = false
	case has("max_tokens") && !d.newTokenLimit:
		d.newTokenLimit = true
	case has("temperature") && !d.noTemperature:
		d.noTemperature = true
	case has("seed") && !d.noSeed:
		d.noSeed = true
	default:
		return d, false
	}
	return d, true
}

type chatResponse struct {
	Choices []struct {
		FinishReason string `json:"finish_reason"`
		Message      struct {
			Content   content           `json:"content"`
			Refusal   string            `json:"refusal"`
			ToolCalls []json.RawMessage `json:"tool_calls"`
			// FunctionCall is the older way to ask for a tool, which some compatible servers still have.
			FunctionCall json.RawMessage `json:"function_call"`
		} `json:"message"`
	} `json:"choices"`
	Usage struct {
		PromptTokens        int `json:"prompt_tokens"`
		CompletionTokens    int `json:"completion_tokens"`
		PromptTokensDetails struct {
			CachedTokens int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
}

// content is a message's text. Some servers give it as a list of parts.
type content string

// UnmarshalJSON reads a string, null, or a list of parts with text.
func (c *content) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		var parts []struct {
			Text string `json:"text"`
		}
		if err := json.Unmarshal(b, &parts); err != nil {
			return err
		}
		for _, p := range parts {
			*c += content(p.Text)
		}
		return nil
	}
	return json.Unmarshal(b, (*string)(c))
}

func (openAI) decode(body []byte) (llm.Response, error) {
	var in chatResponse
	if err := json.Unmarshal(body, &in); err != nil {
		return llm.Response{}, noJSON(err)
	}
	switch len(in.Choices) {
	case 0:
		return llm.Response{}, errNoAnswer
	case 1:
	default:
		return llm.Response{}, errSeveral
	}
	resp := llm.Response{
		Text:         string(in.Choices[0].Message.Content),
		InputTokens:  max(0, in.Usage.PromptTokens),
		OutputTokens: max(0, in.Usage.CompletionTokens),
		CachedTokens: max(0, in.Usage.PromptTokensDetails.CachedTokens),
	}
	if in.Choices[0].Message.Refusal != "" {
		return resp, errRefusal
	}
	if m := &in.Choices[0].Message; len(m.ToolCalls) > 0 || given(m.FunctionCall) {
		return resp, errTool
	}
	switch strings.ToLower(in.Choices[0].FinishReason) {
	case "", "stop", "eos", "eos_token", "end_turn", "stop_sequence": // compatible servers have words of their own
		return resp, notBlank(resp)
	case "content_filter":
		return resp, errRefusal
	case "length":
		return resp, errCutOff
	case "tool_calls", "function_call":
		return resp, errTool
	}
	return resp, errEnded
}

// given reports whether a field of an answer is there and not null.
func given(value json.RawMessage) bool { return len(value) > 0 && string(value) != "null" }

// What an answer may be instead of one. The response comes along for its token counts.
var (
	errNoAnswer = rule.Errorf(rule.CodeInvalid, "the model's server sent no answer")
	errSeveral  = rule.Errorf(rule.CodeInvalid, "the model's server sent several answers, where one was asked for")
	errRefusal  = rule.Errorf(rule.CodeUnavailable, "the model refused to answer")
	errCutOff   = rule.Errorf(rule.CodeInvalid, "the model's answer was cut off at the limit of output tokens")
	errEnded    = rule.Errorf(rule.CodeInvalid, "the model's answer did not come to its own end")
	errReported = rule.Errorf(rule.CodeUnavailable, "the model's server reported an error within its answer")
	errTool     = rule.Errorf(rule.CodeInvalid, "the model asked for a tool instead of answering")
)

func noJSON(err error) error {
	return rule.Errorf(rule.CodeInvalid, "the model's server sent no valid JSON: %w", err)
}

func notBlank(resp llm.Response) error {
	if strings.TrimSpace(resp.Text) == "" {
		return rule.Errorf(rule.CodeInvalid, "the model's answer is empty")
	}
	return nil
}
