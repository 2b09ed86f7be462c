package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
)

// Bounds of a server's list of tools.
const (
	maxTools   = 256
	maxListing = 1 << 20 // bytes of all descriptions and schemas
	maxName    = 64      // that providers of models allow
)

// Tools returns the tools of the spec's servers as tools of a member, sorted by name. may says which
// of them the member has. Lists that have changed are read again. A server that has just been started
// is waited for, but not for long: its tools are in a later list. The tools of a server that is down
// stay, because their calls say so, and because a model's provider would have to read the
// conversation anew without them.
func (t *Clients) Tools(ctx context.Context, member string, may func(tool string) bool) []agent.Tool {
	clients := t.ofSpec()
	for _, c := range clients {
		c.use(ctx) // all are started at the same time
	}
	var list []agent.Tool
	for _, c := range clients {
		for _, tool := range c.list(ctx) {
			if may(tool.spec.Name) {
				list = append(list, memberTool{remoteTool: tool, clients: t, server: c.Name, member: member})
			}
		}
	}
	return list
}

// remoteTool is a tool of a server.
type remoteTool struct {
	name string // the server's own
	spec agent.Spec
}

// list returns the tools of the server, as up to date as is possible without much waiting. The list is
// read when somebody asks for it and not when the server says that it has changed: a server that says so
// all the time makes one request per request of a model, and no more.
func (c *client) list(ctx context.Context) []remoteTool {
	select {
	case c.listing <- struct{}{}:
		defer func() { <-c.listing }()
	case <-ctx.Done():
		return nil
	}
	l := c.soon(ctx)
	if l != nil && l.stale.Swap(false) {
		limited, cancel := context.WithTimeout(ctx, listTimeout)
		defer cancel()
		switch tools, err := c.read(limited, l); {
		case err == nil:
			c.mu.Lock()
			c.tools = tools
			c.mu.Unlock()
		case ctx.Err() != nil:
			l.stale.Store(true) // the member's turn was interrupted
		default:
			// Otherwise each request of each member would wait for a server that does not answer.
			c.lose(l, fmt.Errorf("its tools cannot be listed: %w", err))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tools
}

// soon returns the connection if there is one, or will be one soon; else nil.
func (c *client) soon(ctx context.Context) *life {
	c.mu.Lock()
	since := c.since
	c.mu.Unlock()
	limited, cancel := context.WithTimeout(ctx, c.team.FirstWait-c.team.Clock.Now().Sub(since))
	defer cancel()
	l, err := c.connected(limited)
	if err == nil || ctx.Err() != nil {
		return l
	}
	c.mu.Lock()
	slow := c.life == nil && c.why == nil && !c.closed
	c.mu.Unlock()
	if slow {
		c.reportOnce(fmt.Sprintf("MCP server %s is still being connected after %s; members get its tools once it is",
			c.Name, c.team.FirstWait))
	}
	return nil
}

// reportOnce is Warn for what is said once of a server.
func (c *client) reportOnce(text string) {
	c.mu.Lock()
	said := c.said[text]
	c.said[text] = true
	c.mu.Unlock()
	if !said {
		c.team.Warn("%s", text)
	}
}

// read asks the server for its tools.
func (c *client) read(ctx context.Context, l *life) ([]remoteTool, error) {
	var raw []*sdk.Tool
	for tool, err := range l.session.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		if len(raw) == maxTools {
			c.reportOnce(fmt.Sprintf("MCP server %s has more than %d tools; members get the first ones only",
				c.Name, maxTools))
			break
		}
		raw = append(raw, tool)
	}
	names := toolNames(c.ToolPrefix(), raw)
	var tools []remoteTool
	size, seen := 0, map[string]bool{}
	for i, tool := range raw {
		spec, err := specOf(tool)
		spec.Name, spec.Server = names[i], c.Name
		if size += len(spec.Description) + len(spec.Schema); err == nil && size > maxListing {
			err = errors.New("the descriptions and schemas of its server's tools are longer than 1 MiB")
		}
		if err == nil && seen[spec.Name] {
			err = errors.New("it is there twice")
		}
		if err != nil {
			c.reportOnce(fmt.Sprintf("MCP server %s: its tool %s is left out: %v",
				c.Name, texts.Preview(tool.Name, 60), err))
			continue
		}
		seen[spec.Name] = true
		tools = append(tools, remoteTool{name: tool.Name, spec: spec})
	}
	slices.SortFunc(tools, func(a, b remoteTool) int { return strings.Compare(a.spec.Name, b.spec.Name) })
	return tools, nil
}

// specOf describes a tool to models. That a tool only reads is a claim of its server, which nobody
// has checked. So such a tool is not ReadOnly, but Hinted.
func specOf(tool *sdk.Tool) (agent.Spec, error) {
	spec := agent.Spec{Description: cmp.Or(tool.Description, tool.Title), Web: true}
	if a := tool.Annotations; a != nil {
		spec.Description = cmp.Or(spec.Description, a.Title)
		spec.Hinted = a.ReadOnlyHint
	}
	spec.Description = strings.ToValidUTF8(spec.Description, "\uFFFD")
	schema, ok := tool.InputSchema.(map[string]any)
	if !ok {
		schema = map[string]any{}
	}
	// Every provider wants the type. The dialect does not matter to them, and package jsonschema
	// refuses those that it does not know.
	schema["type"] = "object"
	delete(schema, "$schema")
	var err error
	spec.Schema, err = texts.Marshal(schema)
	return spec, err
}

// toolNames returns the names of a server's tools for models, which begin with prefix, with "_" in place
// of characters that providers do not allow, and cut to what they allow. Where that makes two names
// equal, or cuts one, a digest of the server's name for the tool tells them apart.
func toolNames(prefix string, tools []*sdk.Tool) []string {
	names := make([]string, len(tools))
	count := map[string]int{}
	for i, tool := range tools {
		names[i] = prefix + settings.ToolWord(tool.Name)
		count[names[i]]++
	}
	for i, tool := range tools {
		same := names[i] == prefix+tool.Name
		if len(names[i]) <= maxName && (count[names[i]] == 1 || same) {
			continue
		}
		digest := "_" + texts.Digest(tool.Name)[:8]
		names[i] = names[i][:min(len(names[i]), maxName-len(digest))] + digest
	}
	return names
}

// memberTool is a tool of a server in the hands of a member. It finds the server by its name when it is
// called, since the spec may have changed after the list was made.
type memberTool struct {
	remoteTool
	clients *Clients
	server  string
	member  string
}

// Spec implements agent.Tool.
func (t memberTool) Spec() agent.Spec { return t.spec }

// Normalize implements agent.Normalizer: what looks like a path in the input may be no path of this
// machine.
func (t memberTool) Normalize(input json.RawMessage) json.RawMessage { return input }

// Locations implements agent.Locator.
func (t memberTool) Locations(json.RawMessage) []string { return nil }

// Run implements agent.Tool. The server learns of the end of ctx.
func (t memberTool) Run(ctx context.Context, call agent.ToolCall) agent.ToolResult {
	c := t.clients.named(t.server)
	if c == nil {
		return agent.Failed("MCP server '%s' is no longer in the team's spec.", t.server)
	}
	limited, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	result, err := c.call(limited, t.member, &sdk.CallToolParams{Name: t.name, Arguments: call.Input})
	switch {
	case err == nil:
		return resultOf(result)
	case ctx.Err() == nil && limited.Err() != nil:
		return agent.Failed("MCP server '%s' did not answer within %s; the call may have had an effect.",
			t.server, callTimeout)
	}
	return agent.Failed("%v", err)
}
