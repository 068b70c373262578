package relay_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// asServer is the variable that makes this test program an MCP server on its standard streams.
const asServer = "RELAY_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		if err := newServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	os.Exit(m.Run())
}

type echoInput struct {
	Text string `json:"text"`
	N    int    `json:"n,omitempty"`
}

func said(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// newServer makes a server that uses what the protocol has.
func newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "everything", Version: "1"}, &mcp.ServerOptions{
		CompletionHandler: func(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{r.Params.Argument.Value + "!"}}}, nil
		},
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	tool := func(name string, run func(context.Context, *mcp.CallToolRequest, echoInput) (*mcp.CallToolResult, error)) {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: "The tool " + name + "."}, func(ctx context.Context, r *mcp.CallToolRequest, in echoInput) (*mcp.CallToolResult, any, error) {
			res, err := run(ctx, r, in)
			return res, nil, err
		})
	}
	tool("echo", func(_ context.Context, _ *mcp.CallToolRequest, in echoInput) (*mcp.CallToolResult, error) {
		return said(in.Text + " " + strconv.Itoa(in.N)), nil
	})
	tool("list_echo", func(_ context.Context, _ *mcp.CallToolRequest, in echoInput) (*mcp.CallToolResult, error) {
		return said(in.Text), nil
	})
	tool("fail", func(context.Context, *mcp.CallToolRequest, echoInput) (*mcp.CallToolResult, error) {
		return nil, fmt.Errorf("it failed")
	})
	tool("forbidden", func(context.Context, *mcp.CallToolRequest, echoInput) (*mcp.CallToolResult, error) {
		return said("REACHED"), nil
	})
	tool("work", func(ctx context.Context, r *mcp.CallToolRequest, in echoInput) (*mcp.CallToolResult, error) {
		for i := range in.N {
			if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: float64(in.N), Message: in.Text,
			}); err != nil {
				return nil, err
			}
		}
		return said("worked"), nil
	})
	tool("hang", func(ctx context.Context, r *mcp.CallToolRequest, in echoInput) (*mcp.CallToolResult, error) {
		_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Message: "hanging"})
		<-ctx.Done()
		s.AddTool(&mcp.Tool{Name: "cancelled", InputSchema: map[string]any{"type": "object"}}, nil) // list_changed shows that it was cancelled
		return nil, ctx.Err()
	})
	tool("ask", func(ctx context.Context, r *mcp.CallToolRequest, in echoInput) (*mcp.CallToolResult, error) {
		sampled, err := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 5, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: in.Text}}}})
		if err != nil {
			return nil, err
		}
		elicited, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: in.Text, RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"ok": map[string]any{"type": "boolean"}}}})
		if err != nil {
			return nil, err
		}
		roots, err := r.Session.ListRoots(ctx, nil)
		if err != nil {
			return nil, err
		}
		if err := r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "warning", Data: "logged"}); err != nil {
			return nil, err
		}
		return said(fmt.Sprintf("%s %s %d", sampled.Content.(*mcp.TextContent).Text, elicited.Action, len(roots.Roots))), nil
	})
	s.AddResource(&mcp.Resource{URI: "file:///open", Name: "open"}, resource)
	s.AddResource(&mcp.Resource{URI: "file:///forbidden", Name: "forbidden"}, resource)
	s.AddPrompt(&mcp.Prompt{Name: "greet"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "hello"}}}}, nil
	})
	return s
}

func resource(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "content"}}}, nil
}
