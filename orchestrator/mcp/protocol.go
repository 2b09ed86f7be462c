package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/teammate/agent"
)

// requestMeta is the key in the _meta of tools/call under which a client may name
// a call (TeamCall.Request).
const requestMeta = "covey/requestId"

// instructions tells a model the purpose of the tools.
const instructions = "You are a member of a team of agents. These tools reach the team: its members, its messages and " +
	"its list of tasks. Others see of your work only what you tell them with these tools."

// newServer makes an MCP server of team tools. call carries out their calls; it
// gets the header of the HTTP request, if there is one.
func newServer(
	tools []teamtools.Description, call func(ctx context.Context, h http.Header, c api.TeamCall) api.TeamAnswer,
) *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "covey", Title: "The team", Version: "1"}, &sdk.ServerOptions{
		Instructions: instructions,
		// Without it the SDK announces logging, and notifications of a list that
		// never changes.
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
	})
	for _, t := range tools {
		server.AddTool(described(t), func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			// The name is in _meta, because models would fill an argument with
			// names that are not unique.
			named, _ := r.Params.Meta[requestMeta].(string)
			var head http.Header
			if r.Extra != nil {
				head = r.Extra.Header
			}
			a := call(ctx, head, api.TeamCall{Tool: r.Params.Name, Input: r.Params.Arguments, Request: named})
			return &sdk.CallToolResult{
				Content:           []sdk.Content{&sdk.TextContent{Text: a.Text}},
				StructuredContent: a.Structured,
				IsError:           a.IsError,
			}, nil
		})
	}
	return server
}

// described returns the MCP description of a tool. alwaysLoad keeps agents that
// search for tools from hiding it (ACP.md).
func described(t teamtools.Description) *sdk.Tool {
	spec, no := t.Spec(), false
	return &sdk.Tool{
		Name: spec.Name, Description: spec.Description, InputSchema: plainSchema(spec.Schema, t),
		Meta: sdk.Meta{"anthropic/alwaysLoad": true},
		Annotations: &sdk.ToolAnnotations{
			ReadOnlyHint: t.ReadOnly, IdempotentHint: t.ReadOnly, OpenWorldHint: &no, DestructiveHint: &no,
		},
	}
}

// plainSchema returns a tool's schema without the type "null" of optional fields,
// because some models' APIs allow only one type. The tool still accepts null.
func plainSchema(text json.RawMessage, t teamtools.Description) json.RawMessage {
	var schema jsonschema.Schema
	if json.Unmarshal(text, &schema) != nil {
		return text
	}
	schema.Required = append(schema.Required, t.Required...)
	for name, p := range schema.Properties {
		p.Enum = t.OneOf[name]
		if rest := slices.DeleteFunc(p.Types, func(t string) bool { return t == "null" }); len(rest) == 1 {
			p.Type, p.Types = rest[0], nil
		}
	}
	return texts.Encode(&schema)
}

// list returns the desk's tools, sorted by name.
func (d *desk) list() []teamtools.Description {
	var list []teamtools.Description
	for _, t := range d.tools {
		list = append(list, t.Description)
	}
	slices.SortFunc(list, func(a, b teamtools.Description) int { return cmp.Compare(a.Spec().Name, b.Spec().Name) })
	return list
}

// Streams are the two ends of a connection to an MCP client.
type Streams struct {
	In  io.ReadCloser
	Out io.WriteCloser
	// For is what determines the tools that not all members have. The team refuses calls
	// of other members.
	For configs.Member
}

// ServeTools serves the team tools of c's team as an MCP server on a pair of
// streams, usually stdin and stdout of `covey mcp`. It returns nil when the other
// side closes the connection, ErrNotRunning when the team ends, and an error when
// ctx ends. The team identifies the caller, which must be a member. ServeTools
// closes both streams.
func ServeTools(ctx context.Context, c *api.Client, s Streams) error {
	tools, err := teamtools.Describe(teamtools.MCPNames, &members.Member{Member: &s.For})
	if err != nil {
		return err
	}
	var watch sync.WaitGroup
	defer watch.Wait()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch.Go(func() {
		select {
		case <-c.Gone():
			cancel(c.Ended())
		case <-ctx.Done():
		}
	})
	server := newServer(tools, func(ctx context.Context, _ http.Header, call api.TeamCall) api.TeamAnswer {
		a, err := c.CallTool(ctx, call)
		if err != nil {
			return answer(agent.Failed("%v", err))
		}
		return a
	})
	err = server.Run(ctx, &sdk.IOTransport{Reader: s.In, Writer: s.Out})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
