package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/sandbox"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
)

// Limits of MCP servers.
const (
	serverTimeout = 45 * time.Second // to connect, and for one call of a hook
	callTimeout   = 10 * time.Minute // for one call of a member, the longest that Bash may take too
	listTimeout   = 10 * time.Second // to list its tools
	serverGrace   = time.Second      // from one step of ending a program to the next
	firstWait     = 5 * time.Second
	longLife      = time.Minute // a server that lived so long is started again at once
)

// Clients are the connections of a team to the MCP servers of its spec and of its plugins. A server
// is started, or connected to, when it is first used. From then on it is kept: one that ends is
// started again, after pauses that grow while it keeps ending.
type Clients struct {
	ClientDeps
	patience time.Duration // how long a call waits for a connection

	mu       sync.Mutex
	all      map[string]*client
	retiring sync.WaitGroup // clients that are being closed
}

// ClientDeps configure Clients.
type ClientDeps struct {
	Workspace string   // where programs run that have no folder
	Environ   []string // of programs, beside what is set for each
	Started   func(pid int) (release func())
	// Box returns the box of programs, nil for none, and variables for it. It may be nil.
	Box func() (*sandbox.Box, []string, error)
	Key func(file string) (string, error) // reads a server's key
	// Warn tells people that a server has ended, runs again, or cannot be used.
	Warn func(format string, args ...any)
	// Fire runs the hooks of an event in a member's name; an empty one means the lead's.
	Fire func(ctx context.Context, member string, p hooks.Payload) (hooks.Outcome, error)
	// Ask asks a person for the values of a schema, which a server wants for a call of a member. It
	// fails if nobody can be asked. nil: nobody ever can.
	Ask func(ctx context.Context, member, text string, schema json.RawMessage) (
		action string, values map[string]any, err error)
	// FirstWait is how long a member waits for a server that is being connected; 0: five seconds.
	FirstWait time.Duration
	Clock     members.Clock
}

// NewClients makes the connections of a team; no server is started.
func NewClients(o ClientDeps, list []settings.Server) *Clients {
	o.FirstWait = cmp.Or(o.FirstWait, firstWait)
	t := &Clients{ClientDeps: o, patience: serverTimeout, all: map[string]*client{}}
	t.Replace(list)
	return t
}

// Replace makes list the servers of the team from the next call on. Unchanged servers stay as
// they are, connected or not. Others are ended in the background, after their running calls
// have ended.
func (t *Clients) Replace(list []settings.Server) {
	t.mu.Lock()
	defer t.mu.Unlock()
	next := map[string]*client{}
	for _, s := range list {
		if was := t.all[s.Name]; was != nil && reflect.DeepEqual(was.Server, s) {
			next[s.Name] = was
		} else {
			next[s.Name] = newClient(t, s)
		}
	}
	for name, c := range t.all {
		if next[name] == c {
			continue
		}
		t.retiring.Go(c.close)
	}
	t.all = next
}

// named returns the client of a server, or nil.
func (t *Clients) named(name string) *client {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all[name]
}

// ofSpec returns the clients of the spec's servers, by name.
func (t *Clients) ofSpec() []*client {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []*client
	for _, c := range t.all {
		if c.Plugin == "" {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *client) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// CallTool calls a tool of a server for a hook. Its error wraps runner.ErrNotConnected if there is
// no such server, or no connection to it.
func (t *Clients) CallTool(
	ctx context.Context, name, tool string, arguments json.RawMessage,
) (*sdk.CallToolResult, error) {
	c := t.named(name)
	if c == nil {
		return nil, runner.NotConnected(name)
	}
	limited, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	return c.call(limited, "", &sdk.CallToolParams{Name: tool, Arguments: arguments})
}

// Await waits, within limits, for the connection to the server of a tool, unless no server of the spec
// has tools of such a name. A member may call a tool before it is listed, for example because it has
// seen it in an earlier run. The error says why there is no connection.
func (t *Clients) Await(ctx context.Context, tool string) error {
	for _, c := range t.ofSpec() {
		if strings.HasPrefix(tool, c.ToolPrefix()) {
			_, err := c.await(ctx)
			return err
		}
	}
	return nil
}

// await is connected within limits. Its error names the server.
func (c *client) await(ctx context.Context) (*life, error) {
	limited, cancel := context.WithTimeout(ctx, c.team.patience)
	defer cancel()
	l, err := c.connected(limited)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		err = fmt.Errorf("it is still being connected after %s", c.team.patience)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", runner.NotConnected(c.Name), err)
	}
	return l, nil
}

// call calls a tool for a member, or for a hook if member is empty.
func (c *client) call(
	ctx context.Context, member string, params *sdk.CallToolParams,
) (*sdk.CallToolResult, error) {
	l, err := c.await(ctx)
	if err != nil {
		return nil, err
	}
	done := l.begin(member)
	defer done()
	result, err := l.session.CallTool(ctx, params)
	if err == nil {
		l.served.Store(true)
		return result, nil
	}
	var told *jsonrpc.Error // by the server, which lives then
	if ctx.Err() == nil && (!errors.As(err, &told) || errors.Is(err, sdk.ErrConnectionClosed)) {
		c.lose(l, nil)
	}
	return nil, fmt.Errorf("MCP server '%s', tool %s: %w", c.Name, params.Name, err)
}

// Close ends all servers and waits for them, including replaced ones. Replace must not be
// called after it.
func (t *Clients) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.all {
		t.retiring.Go(c.close)
	}
	t.retiring.Wait()
}

// States returns the states of the spec's servers, by name.
func (t *Clients) States() []api.ServerStatus {
	var list []api.ServerStatus
	for _, c := range t.ofSpec() {
		list = append(list, c.state())
	}
	return list
}
