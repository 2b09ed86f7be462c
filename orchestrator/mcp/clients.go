package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/settings"
)

// Limits of MCP servers.
const (
	serverTimeout = 45 * time.Second // to connect, and for one call
	serverGrace   = time.Second      // from one step of ending a program to the next
)

// Clients are the MCP servers that a team's plugins configure for their hooks. The first call
// of a hook connects to a server, and so does the first one after the connection was lost.
type Clients struct {
	ClientOptions

	mu       sync.Mutex
	all      map[string]*client
	retiring sync.WaitGroup // servers of plugins that are gone
}

// ClientOptions configure how the programs of servers run.
type ClientOptions struct {
	Workspace string   // where they run if their plugin has no folder
	Environ   []string // beside what the plugin sets
	Started   func(pid int) (release func())
	Fault     func(error) // is told of a server that does not end as it should
}

// client is one MCP server.
type client struct {
	settings.Server
	dir     string
	environ []string
	started func(pid int) (release func())

	// turn holds one element while a goroutine connects, which then owns session.
	turn    chan struct{}
	session *sdk.ClientSession
	release func()
	closed  bool

	running sync.WaitGroup // calls
}

// NewClients makes the servers of a team; none is started.
func NewClients(o ClientOptions, list []settings.Server) *Clients {
	t := &Clients{ClientOptions: o, all: map[string]*client{}}
	t.Replace(list)
	return t
}

// newClient makes a server without starting it.
func (t *Clients) newClient(s settings.Server) *client {
	environ := slices.Clone(t.Environ)
	for name, value := range s.Env {
		environ = append(environ, name+"="+value)
	}
	return &client{
		Server: s, dir: cmp.Or(s.Cwd, s.Root, t.Workspace), environ: environ, turn: make(chan struct{}, 1),
		started: t.Started,
	}
}

// Replace makes list the servers of the team from the next call on. Unchanged servers stay as
// they are, connected or not. Others are ended in the background, after their running calls
// have ended (45 s at most).
func (t *Clients) Replace(list []settings.Server) {
	t.mu.Lock()
	defer t.mu.Unlock()
	next := map[string]*client{}
	for _, s := range list {
		if was := t.all[s.Name]; was != nil && reflect.DeepEqual(was.Server, s) {
			next[s.Name] = was
		} else {
			next[s.Name] = t.newClient(s)
		}
	}
	for name, s := range t.all {
		if next[name] == s {
			continue
		}
		t.retiring.Go(func() {
			if err := s.close(); err != nil {
				t.Fault(err)
			}
		})
	}
	t.all = next
}

// named returns the server with a name, or nil.
func (t *Clients) named(name string) *client {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all[name]
}

// CallTool calls a tool of a server. Its error wraps runner.ErrNotConnected if there is no such
// server, or no connection to it.
func (t *Clients) CallTool(ctx context.Context, name, tool string, arguments json.RawMessage) (*sdk.CallToolResult, error) {
	s := t.named(name)
	if s == nil {
		return nil, runner.NotConnected(name)
	}
	limited, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	session, err := s.connected(limited)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", runner.NotConnected(name), err)
	}
	defer s.running.Done()
	result, err := session.CallTool(limited, &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		var told *jsonrpc.Error // by the server, which lives then
		if limited.Err() == nil && (!errors.As(err, &told) || errors.Is(err, sdk.ErrConnectionClosed)) {
			s.lost(limited, session)
		}
		return nil, fmt.Errorf("MCP server '%s', tool %s: %w", name, tool, err)
	}
	return result, nil
}

// connected returns the session with the server, and connects if there is none. The caller
// must call running.Done at the end.
func (s *client) connected(ctx context.Context) (*sdk.ClientSession, error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-s.turn }()
	if s.closed {
		return nil, errEnding
	}
	if s.session == nil {
		if err := s.connect(ctx); err != nil {
			return nil, err
		}
	}
	s.running.Add(1)
	return s.session, nil
}

// connect starts a local server, or connects to a remote one. s.turn must be held.
func (s *client) connect(ctx context.Context) error {
	client := sdk.NewClient(&sdk.Implementation{Name: "covey", Title: "covey hooks", Version: "1"}, nil)
	if len(s.Command) == 0 {
		session, err := client.Connect(ctx, &sdk.StreamableClientTransport{
			Endpoint: s.URL, HTTPClient: &http.Client{Transport: withHeaders{s.Headers}},
			DisableStandaloneSSE: true,
		}, nil)
		s.session, s.release = session, func() {}
		return err
	}
	// The program outlives the call that started it. Its own process session identifies it and its
	// children, and keeps a Ctrl-C in the terminal from it.
	cmd := exec.Command(s.Command[0], s.Command[1:]...)
	marker := "COVEY_SERVER=" + uuid.NewString()
	cmd.Dir, cmd.Env = s.dir, append(slices.Clip(s.environ), marker)
	cmd.SysProcAttr = proc.OwnSession()
	session, err := client.Connect(ctx, registering{
		Transport: &sdk.CommandTransport{Command: cmd, TerminateDuration: serverGrace},
		connected: func() { s.release = s.started(cmd.Process.Pid) },
	}, nil)
	if cmd.Process == nil {
		return err
	}
	forget := s.release
	s.release = func() {
		ended := make(chan struct{})
		close(ended) // the process has ended with the session
		proc.EndTree(cmd.Process.Pid, marker, serverGrace, ended)
		forget()
	}
	if err != nil {
		s.release()
		return err
	}
	s.session = session
	return nil
}

// registering is a transport that registers its program before the program can make a request.
type registering struct {
	sdk.Transport
	connected func()
}

// Connect implements sdk.Transport.
func (r registering) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := r.Transport.Connect(ctx)
	if err == nil {
		r.connected()
	}
	return c, err
}

// lost drops a session that has ended, so that the next call connects again.
func (s *client) lost(ctx context.Context, session *sdk.ClientSession) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-s.turn }()
	if s.session == session {
		_ = session.Close() // it is gone
		s.release()
		s.session = nil
	}
}

// Close ends all servers and waits for them, including replaced ones. Replace must not be
// called after it.
func (t *Clients) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var errs []error
	for _, s := range t.all {
		errs = append(errs, s.close())
	}
	t.retiring.Wait()
	return errors.Join(errs...)
}

// close ends the server if it is connected, and waits for its running calls. Later calls fail
// with errEnding.
func (s *client) close() (err error) {
	s.turn <- struct{}{}
	s.closed = true
	if s.session != nil {
		var left *exec.ExitError
		err = s.session.Close()
		ended := errors.As(err, &left) || errors.Is(err, os.ErrProcessDone)
		if ended || errors.Is(err, sdk.ErrConnectionClosed) {
			err = nil // a program may exit with an error status
		} else if err != nil {
			err = fmt.Errorf("MCP server '%s': %w", s.Name, err)
		}
		s.release()
		s.session = nil
	}
	<-s.turn
	s.running.Wait()
	return err
}

// withHeaders adds a server's headers to each request.
type withHeaders struct{ headers map[string]string }

// RoundTrip implements http.RoundTripper.
func (w withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range w.headers {
		r.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}
