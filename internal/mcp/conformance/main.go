// Command conformance serves the protocol the way that Tenet does, with the tools, resources and prompts that the public
// conformance suite asks for by name. scripts/conformance.sh starts it; it is no part of the product.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tenet/internal/client"
	"tenet/internal/mcp"
	"tenet/internal/rule"
)

func main() {
	address := flag.String("listen", "127.0.0.1:0", "loopback address to listen on")
	flag.Parse()
	m := mcp.New(mcp.Config{Version: "conformance", Client: func(http.Header) (*client.Client, error) {
		return nil, rule.Errorf(rule.CodeUnavailable, "there are no rules here")
	}})
	tools(m)
	resources(m)
	prompts(m)
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.Over(m))
	server := &http.Server{Addr: *address, Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	if err := server.ListenAndServe(); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

// picture is a PNG of one pixel.
var picture = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" +
	"\x00\x00\x00\rIDATx\x9cc\xf8\xff\xff?\x00\x05\xfe\x02\xfe\xa75\x81\x84\x00\x00\x00\x00IEND\xaeB`\x82")

// sound is a WAV of no samples.
var sound = []byte("RIFF$\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00@\x1f\x00\x00@\x1f\x00\x00\x01\x00\x08\x00data\x00\x00\x00\x00")

func text(s string) sdk.Content { return &sdk.TextContent{Text: s} }

func embedded(uri, media, s string) sdk.Content {
	return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: uri, MIMEType: media, Text: s}}
}

func tools(m *sdk.Server) {
	image := &sdk.ImageContent{MIMEType: "image/png", Data: picture}
	for name, content := range map[string][]sdk.Content{
		"test_simple_text":            {text("This is a simple text response for testing.")},
		"test_image_content":          {image},
		"test_audio_content":          {&sdk.AudioContent{MIMEType: "audio/wav", Data: sound}},
		"test_embedded_resource":      {embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")},
		"test_multiple_content_types": {text("Multiple content types test:"), image, embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)},
	} {
		add(m, name, func(context.Context, *sdk.CallToolRequest) ([]sdk.Content, error) { return content, nil })
	}
	add(m, "test_error_handling", func(context.Context, *sdk.CallToolRequest) ([]sdk.Content, error) {
		return nil, errors.New("this tool intentionally returns an error for testing")
	})
	add(m, "test_tool_with_progress", func(ctx context.Context, req *sdk.CallToolRequest) ([]sdk.Content, error) {
		for _, done := range []float64{0, 50, 100} {
			if err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: done, Total: 100}); err != nil {
				return nil, err
			}
		}
		return []sdk.Content{text("done")}, nil
	})
	m.AddTool(&sdk.Tool{Name: "json_schema_2020_12_tool", Description: "Has a schema with the words of its draft.", InputSchema: map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "additionalProperties": false,
		"$defs": map[string]any{"address": map[string]any{"type": "object", "properties": map[string]any{
			"street": map[string]any{"type": "string"}, "city": map[string]any{"type": "string"},
		}}},
		"properties": map[string]any{"name": map[string]any{"type": "string"}, "address": map[string]any{"$ref": "#/$defs/address"}},
	}}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{text("ok")}}, nil
	})
}

func add(m *sdk.Server, name string, run func(context.Context, *sdk.CallToolRequest) ([]sdk.Content, error)) {
	sdk.AddTool(m, &sdk.Tool{Name: name, Description: "For the conformance suite."},
		func(ctx context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			content, err := run(ctx, req)
			return &sdk.CallToolResult{Content: content}, nil, err
		})
}

func resources(m *sdk.Server) {
	read := func(c sdk.ResourceContents) sdk.ResourceHandler {
		return func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			one := c
			one.URI = req.Params.URI
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{&one}}, nil
		}
	}
	m.AddResource(&sdk.Resource{URI: "test://static-text", Name: "text", MIMEType: "text/plain"},
		read(sdk.ResourceContents{MIMEType: "text/plain", Text: "This is the content of the static text resource."}))
	m.AddResource(&sdk.Resource{URI: "test://static-binary", Name: "binary", MIMEType: "image/png"},
		read(sdk.ResourceContents{MIMEType: "image/png", Blob: picture}))
	m.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "template", MIMEType: "application/json"},
		func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			var id string
			if _, err := fmt.Sscanf(req.Params.URI, "test://template/%3s/data", &id); err != nil {
				return nil, sdk.ResourceNotFoundError(req.Params.URI)
			}
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{
				URI: req.Params.URI, MIMEType: "application/json", Text: `{"id":"` + id + `","templateTest":true,"data":"Data for ID: ` + id + `"}`,
			}}}, nil
		})
}

func prompts(m *sdk.Server) {
	prompt := func(name string, args []string, say func(map[string]string) []sdk.Content) {
		p := &sdk.Prompt{Name: name, Description: "For the conformance suite."}
		for _, a := range args {
			p.Arguments = append(p.Arguments, &sdk.PromptArgument{Name: a, Required: true})
		}
		m.AddPrompt(p, func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			result := &sdk.GetPromptResult{}
			for _, c := range say(req.Params.Arguments) {
				result.Messages = append(result.Messages, &sdk.PromptMessage{Role: "user", Content: c})
			}
			return result, nil
		})
	}
	prompt("test_simple_prompt", nil, func(map[string]string) []sdk.Content {
		return []sdk.Content{text("This is a simple prompt for testing.")}
	})
	prompt("test_prompt_with_arguments", []string{"arg1", "arg2"}, func(a map[string]string) []sdk.Content {
		return []sdk.Content{text(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"]))}
	})
	prompt("test_prompt_with_embedded_resource", []string{"resourceUri"}, func(a map[string]string) []sdk.Content {
		return []sdk.Content{embedded(a["resourceUri"], "text/plain", "Embedded resource content for testing."), text("Please process the embedded resource above.")}
	})
	prompt("test_prompt_with_image", nil, func(map[string]string) []sdk.Content {
		return []sdk.Content{&sdk.ImageContent{MIMEType: "image/png", Data: picture}, text("Please analyze the image above.")}
	})
}
