package provider

import (
	"bytes"
	"encoding/json"
	"strings"

	"tenet/internal/llm"
	"tenet/internal/rule"
)

// seed is fixed so that a server that honours it answers the same prompt alike.
const seed = 20240229

// dialect is what a server was found to understand. The zero value is what the OpenAI-compatible world agrees on most.
type dialect struct {
	format        format
	newTokenLimit bool // max_completion_tokens instead of max_tokens
	noTemperature bool // models that reason take only their default
	noSeed        bool
}

// format is a way to ask for structured output, from the strictest to none.
type format int

const (
	formatSchema       format = iota // json_schema, strict
	formatObjectSchema               // json_object with the schema inside, as llama.cpp has it
	formatObject                     // json_object, the schema in words
	formatText                       // nothing, the schema in words
)

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

// encode renders req in dialect d.
func encode(model string, req llm.Request, d dialect) ([]byte, error) {
	system := req.System
	out := chatRequest{Model: model}
	if len(req.Schema) > 0 {
		name := req.SchemaName
		if name == "" {
			name = "answer"
		}
		switch d.format {
		case formatSchema:
			out.ResponseFormat = &responseFormat{Type: "json_schema", JSONSchema: &namedSchema{name, true, req.Schema}}
		case formatObjectSchema:
			out.ResponseFormat = &responseFormat{Type: "json_object", Schema: req.Schema}
		case formatObject:
			out.ResponseFormat = &responseFormat{Type: "json_object"}
		case formatText:
		}
		if d.format == formatObject || d.format == formatText {
			system += "\n\nAnswer with one JSON object and nothing else. It must satisfy this JSON Schema:\n" + string(req.Schema)
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
		s := seed
		out.Seed = &s
	}
	if d.newTokenLimit {
		out.MaxCompletionTokens = req.MaxOutputTokens
	} else {
		out.MaxTokens = req.MaxOutputTokens
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return nil, rule.Errorf(rule.CodeInvalid, "the prompt cannot be sent: %w", err)
	}
	return b.Bytes(), nil
}

// adapt returns the dialect that does without what the server complains about, or false if the complaint names nothing
// that we can do without.
func (d dialect) adapt(complaint string) (dialect, bool) {
	has := func(s string) bool { return strings.Contains(complaint, s) }
	switch {
	case (has("response_format") || has("json_schema") || has("json_object")) && d.format < formatText:
		d.format++
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
			Content content `json:"content"`
			Refusal string  `json:"refusal"`
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

// decode reads a successful answer.
func decode(body []byte) (llm.Response, error) {
	var in chatResponse
	if err := json.Unmarshal(body, &in); err != nil {
		return llm.Response{}, rule.Errorf(rule.CodeInvalid, "the model's server sent no valid JSON: %w", err)
	}
	if len(in.Choices) == 0 {
		return llm.Response{}, rule.Errorf(rule.CodeInvalid, "the model's server sent no answer")
	}
	resp := llm.Response{
		Text:         string(in.Choices[0].Message.Content),
		InputTokens:  max(0, in.Usage.PromptTokens),
		OutputTokens: max(0, in.Usage.CompletionTokens),
		CachedTokens: max(0, in.Usage.PromptTokensDetails.CachedTokens),
	}
	switch reason := in.Choices[0].FinishReason; {
	case in.Choices[0].Message.Refusal != "" || reason == "content_filter":
		return resp, rule.Errorf(rule.CodeUnavailable, "the model refused to answer")
	case reason == "length":
		return resp, rule.Errorf(rule.CodeInvalid, "the model's answer was cut off at the limit of output tokens")
	case reason == "tool_calls" || reason == "function_call":
		return resp, rule.Errorf(rule.CodeInvalid, "the model asked for a tool instead of answering")
	case strings.TrimSpace(resp.Text) == "":
		return resp, rule.Errorf(rule.CodeInvalid, "the model's answer is empty")
	}
	return resp, nil
}

// failure is what an error answer says, in the forms that servers use.
type failure struct {
	code    string
	message string
	// complaint holds, in lower case, the words to look for parameter names in. It leaves out what echoes the request.
	complaint string
}

// decodeFailure reads the body of an error answer. It knows {"error": {...}}, {"error": "text"} and FastAPI's detail.
func decodeFailure(body []byte) failure {
	var in struct {
		Error  json.RawMessage `json:"error"`
		Detail json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &in) != nil {
		return failure{}
	}
	var f failure
	var object struct {
		Message string          `json:"message"`
		Code    json.RawMessage `json:"code"`
		Param   *string         `json:"param"`
	}
	var places []struct {
		Loc []any  `json:"loc"`
		Msg string `json:"msg"`
	}
	switch {
	case json.Unmarshal(in.Error, &f.message) == nil:
	case json.Unmarshal(in.Error, &object) == nil:
		f.message = object.Message
		f.code = strings.Trim(string(object.Code), `"`)
		if object.Param != nil && *object.Param != "" {
			f.complaint = strings.ToLower(cut(*object.Param, 100))
			// The parameter alone may be ambiguous: max_tokens refused in favour of max_completion_tokens.
			return f
		}
	case json.Unmarshal(in.Detail, &f.message) == nil:
	case json.Unmarshal(in.Detail, &places) == nil:
		for _, p := range places {
			for _, step := range p.Loc {
				if s, ok := step.(string); ok {
					f.complaint += strings.ToLower(s) + " "
				}
			}
			f.message += p.Msg + " "
		}
		return f
	}
	f.complaint = strings.ToLower(cut(f.message, 500))
	return f
}

// cut shortens s to at most n bytes without splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
