package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpcall is a program for scripts: an agent's MCP client, which starts
// `covey mcp` and lists its tools, or calls one: mcpcall [TOOL [ARGUMENTS]].
func mcpcall() {
	if err := callOverStdio(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mcpcall:", err)
		os.Exit(1)
	}
}

func callOverStdio(ctx context.Context, args []string) error {
	server := exec.Command("covey", append([]string{"mcp"}, strings.Fields(os.Getenv("MCPFLAGS"))...)...)
	server.Stderr = os.Stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "mcpcall", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: server}, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	if len(args) == 0 {
		tools, err := session.ListTools(ctx, nil)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(tools)
	}
	params := &mcp.CallToolParams{Name: args[0]}
	if len(args) > 1 {
		params.Arguments = json.RawMessage(args[1])
	}
	result, err := session.CallTool(ctx, params)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

// mcpserver is a program for scripts: an MCP server on stdio, with a tool that says a word, one that
// asks for it, one that ends the server, and one that kills the covey whose call it is.
func mcpserver() {
	server := mcp.NewServer(&mcp.Implementation{Name: "mcpserver", Version: "1"}, &mcp.ServerOptions{
		SupportedProtocolVersions: []string{"2025-11-25"}, // later ones have no questions of their own
	})
	type in struct {
		Word string `json:"word,omitempty"`
	}
	say := func(format string, args ...any) *mcp.CallToolResult {
		text := &mcp.TextContent{Text: fmt.Sprintf(format, args...)}
		return &mcp.CallToolResult{Content: []mcp.Content{text}}
	}
	add := func(name string, run func(context.Context, *mcp.CallToolRequest, in) (*mcp.CallToolResult, error)) {
		mcp.AddTool(server, &mcp.Tool{Name: name, Description: name + " a word"},
			func(ctx context.Context, r *mcp.CallToolRequest, in in) (*mcp.CallToolResult, any, error) {
				result, err := run(ctx, r, in)
				return result, nil, err
			})
	}
	add("say", func(_ context.Context, _ *mcp.CallToolRequest, in in) (*mcp.CallToolResult, error) {
		return say("%s, %s, key=%s", in.Word, os.Getenv("GREETING"), os.Getenv("ANTHROPIC_API_KEY")), nil
	})
	add("ask", func(ctx context.Context, r *mcp.CallToolRequest, _ in) (*mcp.CallToolResult, error) {
		answer, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Which word?", RequestedSchema: map[string]any{
			"type": "object", "properties": map[string]any{"word": map[string]any{"type": "string", "description": "any"}},
			"required": []string{"word"},
		}})
		if err != nil {
			return nil, err
		}
		return say("%s %v", answer.Action, answer.Content["word"]), nil
	})
	add("die", func(context.Context, *mcp.CallToolRequest, in) (*mcp.CallToolResult, error) {
		os.Exit(3)
		return nil, nil
	})
	add("kill", func(ctx context.Context, _ *mcp.CallToolRequest, _ in) (*mcp.CallToolResult, error) {
		covey, err := os.FindProcess(os.Getppid())
		if err == nil {
			err = covey.Kill()
		}
		<-ctx.Done() // no answer
		return nil, err
	})
	_ = server.Run(context.Background(), &mcp.StdioTransport{}) // until its input ends
}
