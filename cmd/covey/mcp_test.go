package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"

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
	server := exec.Command("covey", "mcp")
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
