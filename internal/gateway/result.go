package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"unicode/utf8"

	"tenet/internal/rule"
)

// Result is the result of a call as rules read it, in facts.result.
type Result struct {
	// Text is all text of the result: of its contents, of resources, and of the messages of a prompt.
	Text string `json:"text"`
	// Structured is the structured content; nil without any.
	Structured any `json:"structured,omitempty"`
	// Media are the types of images and sounds, which rules do not see into.
	Media []string `json:"media,omitempty"`
	// Error is true if the tool says that it failed.
	Error bool `json:"error"`
}

// block is a part of a result, of any kind.
type block struct {
	Type     string          `json:"type"`
	Text     *string         `json:"text"`
	Data     string          `json:"data"`
	Blob     string          `json:"blob"`
	MimeType string          `json:"mimeType"`
	URI      string          `json:"uri"`
	Resource *block          `json:"resource"`
	Content  json.RawMessage `json:"content"`
}

// ResultOf reads the result of a request. The error is of code invalid and means that something in it cannot be shown to rules.
func ResultOf(raw []byte) (*Result, error) {
	if !valid(raw) {
		return nil, rule.Errorf(rule.CodeInvalid, "the result names something twice in one object, or is not valid JSON in UTF-8")
	}
	var in struct {
		Content    json.RawMessage   `json:"content"`
		Contents   json.RawMessage   `json:"contents"`
		Messages   []json.RawMessage `json:"messages"`
		Structured any               `json:"structuredContent"`
		IsError    bool              `json:"isError"`
		Extra      string            `json:"description"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, rule.Errorf(rule.CodeInvalid, "the result has another form than the protocol says")
	}
	r := &Result{Structured: in.Structured, Error: in.IsError}
	var texts []string
	if in.Extra != "" {
		texts = append(texts, in.Extra)
	}
	parts := []json.RawMessage{in.Content, in.Contents}
	for _, m := range in.Messages {
		parts = append(parts, m)
	}
	for _, part := range parts {
		if err := r.read(part, &texts, 0); err != nil {
			return nil, err
		}
	}
	r.Text = strings.Join(texts, "\n")
	return r, nil
}

// maxBlocks bounds how deep blocks may be in one another.
const maxBlocks = 8

// read takes in a block or a list of blocks.
func (r *Result) read(raw json.RawMessage, texts *[]string, depth int) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if depth > maxBlocks {
		return rule.Errorf(rule.CodeInvalid, "the contents of the result are too deep in one another")
	}
	if raw[0] == '[' {
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return rule.Errorf(rule.CodeInvalid, "the contents of the result are no list")
		}
		for _, one := range list {
			if err := r.read(one, texts, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	var b block
	if err := json.Unmarshal(raw, &b); err != nil {
		return rule.Errorf(rule.CodeInvalid, "a part of the result has another form than the protocol says")
	}
	if err := r.block(&b, texts); err != nil {
		return err
	}
	return r.read(b.Content, texts, depth+1)
}

func (r *Result) block(b *block, texts *[]string) error {
	if b.Text != nil {
		*texts = append(*texts, *b.Text)
	}
	if b.URI != "" {
		*texts = append(*texts, b.URI)
	}
	if b.Resource != nil {
		if err := r.block(b.Resource, texts); err != nil {
			return err
		}
	}
	for _, encoded := range []string{b.Data, b.Blob} {
		if encoded == "" {
			continue
		}
		data, err := base64.StdEncoding.DecodeString(encoded)
		if kind := media(data); err == nil && kind != "" {
			r.Media = append(r.Media, kind)
			continue
		}
		if err != nil || !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
			return rule.Errorf(rule.CodeInvalid, "the result holds data of type %q, which rules cannot read", b.MimeType)
		}
		*texts = append(*texts, string(data))
	}
	return nil
}

// media returns the type of an image, a sound or a film by its content, whatever type the server gives; empty for other data.
func media(data []byte) string {
	kind := http.DetectContentType(data)
	for _, prefix := range []string{"image/", "audio/", "video/", "font/"} {
		if strings.HasPrefix(kind, prefix) {
			return kind
		}
	}
	return ""
}
