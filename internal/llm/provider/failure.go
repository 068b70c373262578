package provider

import (
	"encoding/json"
	"strings"
	"time"

	"tenet/internal/text"
)

// failure is the body of an error answer, in the forms that servers use.
type failure struct {
	code    string
	message string
	// complaint holds, in lower case, the words to look for parameter names in. It leaves out what echoes the request.
	complaint string
	// retryDelay is the pause that the body asks for; 0 for none.
	retryDelay time.Duration
	// badKey and tooLong are recognised by words, because both have the status 400.
	badKey, tooLong bool
}

// errorObject is the error of OpenAI (code, param), Anthropic (type) and Gemini (status, details), as far as it is used.
type errorObject struct {
	Message string          `json:"message"`
	Type    string          `json:"type"`
	Code    json.RawMessage `json:"code"`
	Param   *string         `json:"param"`
	Details []struct {
		Reason     string `json:"reason"`
		RetryDelay string `json:"retryDelay"`
	} `json:"details"`
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
	var object errorObject
	var places []struct {
		Loc []any  `json:"loc"`
		Msg string `json:"msg"`
	}
	switch {
	case json.Unmarshal(in.Error, &f.message) == nil:
	case json.Unmarshal(in.Error, &object) == nil:
		f.read(&object)
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
	if f.complaint == "" {
		f.complaint = strings.ToLower(text.Clip(f.message, 500, ""))
	}
	f.tooLong = f.tooLong || saysTooLong(f.message)
	return f
}

// reportsFailure reports whether an answer of status 200 holds an error beside or instead of a text: gateways send one when a model
// fails after they have begun to answer. Such a text may be any part of what the model would have said.
func reportsFailure(body []byte) bool {
	var in struct {
		Error   json.RawMessage `json:"error"`
		Choices []struct {
			Error json.RawMessage `json:"error"`
		} `json:"choices"`
	}
	if json.Unmarshal(body, &in) != nil {
		return false // decoding says what is wrong
	}
	reported := func(e json.RawMessage) bool {
		switch string(e) {
		case "", "null", `""`, "{}", "false":
			return false
		}
		return true
	}
	if reported(in.Error) {
		return true
	}
	for _, c := range in.Choices {
		if reported(c.Error) {
			return true
		}
	}
	return false
}

func (f *failure) read(o *errorObject) {
	f.message = o.Message
	f.code = strings.Trim(string(o.Code), `"`)
	if o.Param != nil && *o.Param != "" {
		// The message alone may be ambiguous: max_tokens refused in favour of max_completion_tokens.
		f.complaint = strings.ToLower(text.Clip(*o.Param, 100, ""))
	}
	f.tooLong = f.code == "context_length_exceeded" || o.Type == "exceed_context_size_error"
	for _, d := range o.Details {
		f.badKey = f.badKey || d.Reason == "API_KEY_INVALID"
		if pause, err := time.ParseDuration(d.RetryDelay); err == nil && pause > 0 {
			f.retryDelay = pause
		}
	}
}

// saysTooLong knows the sentences in which Anthropic, Gemini, Ollama and llama.cpp refuse a prompt for its length.
func saysTooLong(message string) bool {
	message = strings.ToLower(text.Clip(message, 500, ""))
	for _, words := range []string{
		"prompt is too long", "exceeds the maximum number of tokens", "exceeds the context length", "exceeds the available context size",
		"exceed context limit", "maximum context length", "exceeds maximum context length", "exceed context window",
	} {
		if strings.Contains(message, words) {
			return true
		}
	}
	return false
}
