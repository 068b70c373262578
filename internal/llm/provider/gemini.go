package provider

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"tenet/internal/llm"
)

// gemini is the generateContent protocol of Google's Gemini. It caches the beginning of a prompt automatically.
type gemini struct{}

func geminiKey(h http.Header, key string) { h.Set("X-Goog-Api-Key", key) }

type geminiContent struct {
	Role  string       `json:"role,omitempty"`
	Parts []geminiPart `json:"parts"`
}

type geminiPart struct {
	Text string `json:"text"`
	// Thought marks a part of an answer that is not the answer.
	Thought bool `json:"thought,omitempty"`
	// FunctionCall is there where the model wants a tool; requests have none.
	FunctionCall json.RawMessage `json:"functionCall,omitempty"`
}

type geminiConfig struct {
	Temperature        *float64        `json:"temperature,omitempty"`
	Seed               *int            `json:"seed,omitempty"`
	MaxOutputTokens    int             `json:"maxOutputTokens,omitempty"`
	ResponseMimeType   string          `json:"responseMimeType,omitempty"`
	ResponseJSONSchema json.RawMessage `json:"responseJsonSchema,omitempty"`
}

type geminiRequest struct {
	SystemInstruction *geminiContent  `json:"systemInstruction,omitempty"`
	Contents          []geminiContent `json:"contents"`
	GenerationConfig  geminiConfig    `json:"generationConfig"`
}

func (gemini) list() string { return "/v1beta/models?pageSize=1" }

// geminiPath is the path of a method of a model. Names may be given as the vendor lists them, with models/ before.
func geminiPath(model, method string) string {
	return "/v1beta/models/" + url.PathEscape(strings.TrimPrefix(model, "models/")) + ":" + method
}

func (gemini) request(model string, req llm.Request, d dialect) (string, any) {
	out := geminiRequest{GenerationConfig: geminiConfig{MaxOutputTokens: req.MaxOutputTokens}}
	config := &out.GenerationConfig
	if req.MaxOutputTokens > 0 && !d.noRoom {
		config.MaxOutputTokens += thoughtRoom
	}
	system := req.System
	if len(req.Schema) > 0 {
		switch d.format {
		case formatSchema:
			config.ResponseMimeType, config.ResponseJSONSchema = "application/json", req.Schema
		case formatObjectSchema, formatObject:
			config.ResponseMimeType = "application/json"
			system += inWords(req.Schema)
		case formatText:
			system += inWords(req.Schema)
		}
	}
	var parts []geminiPart
	if system != "" && d.noSystem {
		parts = append(parts, geminiPart{Text: system + "\n\n"})
	} else if system != "" {
		out.SystemInstruction = &geminiContent{Parts: []geminiPart{{Text: system}}}
	}
	for _, text := range []string{req.Prefix, req.Prompt} {
		if text != "" {
			parts = append(parts, geminiPart{Text: text})
		}
	}
	out.Contents = []geminiContent{{Role: "user", Parts: parts}}
	if !d.noTemperature {
		config.Temperature = new(float64)
	}
	if !d.noSeed {
		config.Seed = new(seed)
	}
	return geminiPath(model, "generateContent"), out
}

func (gemini) adapt(d dialect, complaint string) (dialect, bool) {
	// The vendor writes names of fields in either way.
	complaint = strings.ReplaceAll(complaint, "_", "")
	has := func(s string) bool { return strings.Contains(complaint, s) }
	switch {
	case (has("responsemimetype") || has("json mode")) && d.format < formatText:
		d.format = formatText
	case has("schema") && d.format == formatSchema:
		d.format = formatObject
	case (has("systeminstruction") || has("developer instruction")) && !d.noSystem:
		d.noSystem = true
	case has("maxoutputtokens") && !d.noRoom:
		d.noRoom = true
	case has("temperature") && !d.noTemperature:
		d.noTemperature = true
	case has("seed") && !d.noSeed:
		d.noSeed = true
	default:
		return d, false
	}
	return d, true
}

type geminiResponse struct {
	Candidates []struct {
		Content      geminiContent `json:"content"`
		FinishReason string        `json:"finishReason"`
	} `json:"candidates"`
	PromptFeedback struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	UsageMetadata struct {
		PromptTokenCount        int `json:"promptTokenCount"`
		CachedContentTokenCount int `json:"cachedContentTokenCount"`
		CandidatesTokenCount    int `json:"candidatesTokenCount"`
		ThoughtsTokenCount      int `json:"thoughtsTokenCount"`
	} `json:"usageMetadata"`
}

func (gemini) decode(body []byte) (llm.Response, error) {
	var in geminiResponse
	if err := json.Unmarshal(body, &in); err != nil {
		return llm.Response{}, noJSON(err)
	}
	u := in.UsageMetadata
	resp := llm.Response{
		InputTokens:  max(0, u.PromptTokenCount),
		OutputTokens: max(0, u.CandidatesTokenCount) + max(0, u.ThoughtsTokenCount),
		CachedTokens: max(0, u.CachedContentTokenCount),
	}
	if in.PromptFeedback.BlockReason != "" {
		return resp, errRefusal
	}
	switch len(in.Candidates) {
	case 0:
		return resp, errNoAnswer
	case 1:
	default:
		return resp, errSeveral
	}
	var text strings.Builder
	called := false
	for _, p := range in.Candidates[0].Content.Parts {
		called = called || given(p.FunctionCall)
		if !p.Thought {
			text.WriteString(p.Text)
		}
	}
	resp.Text = text.String()
	if called {
		return resp, errTool
	}
	switch in.Candidates[0].FinishReason {
	case "", "STOP", "FINISH_REASON_UNSPECIFIED":
		return resp, notBlank(resp)
	case "MAX_TOKENS":
		return resp, errCutOff
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS":
		return resp, errTool
	}
	// SAFETY, RECITATION, BLOCKLIST, PROHIBITED_CONTENT, SPII, LANGUAGE, OTHER, and what the vendor may add: the answer did
	// not come to its own end.
	return resp, errRefusal
}
