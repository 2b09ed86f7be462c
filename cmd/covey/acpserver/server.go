package acpserver

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode"

	acp "github.com/coder/acp-go-sdk"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/trust"
)

// server is the agent that a client talks to. The library calls its methods, each request in a
// goroutine of its own, and notifications one after another.
type server struct {
	env      *cli.Env
	opts     options
	patience time.Duration // freeWithin; set by tests

	mu       sync.Mutex
	conn     *acp.AgentSideConnection
	gone     chan struct{} // closed once the client has left
	closed   bool          // gone is closed
	sessions map[acp.SessionId]*session
	runs     sync.WaitGroup // the goroutines of runs; none waits for the client
}

// newServer returns a server without a connection.
func newServer(env *cli.Env, o options) *server {
	return &server{
		env: env, opts: o, patience: freeWithin,
		gone: make(chan struct{}), sessions: map[acp.SessionId]*session{},
	}
}

// close ends all runs in order, and waits for them. A prompt that cannot write its answer, because
// the client does not read, is not waited for.
func (s *server) close() {
	s.mu.Lock()
	s.closed = true
	close(s.gone)
	for _, one := range s.sessions {
		one.cancel(errLeft)
	}
	s.mu.Unlock()
	s.runs.Wait()
}

// Initialize implements acp.Agent.
func (s *server) Initialize(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
	return acp.InitializeResponse{
		ProtocolVersion: acp.ProtocolVersionNumber,
		AgentInfo:       &acp.Implementation{Name: "covey", Title: acp.Ptr("covey"), Version: s.env.Version},
		AgentCapabilities: acp.AgentCapabilities{
			LoadSession:         true,
			SessionCapabilities: acp.SessionCapabilities{Resume: &acp.SessionResumeCapabilities{}},
		},
		AuthMethods: []acp.AuthMethod{}, // a team's agents log in by themselves
	}, nil
}

// NewSession implements acp.Agent. A team has one session: the second session of a folder is
// the first one again. MCP servers of the client are ignored, because a team has its own.
func (s *server) NewSession(ctx context.Context, r acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	one, err := s.open(ctx, r.Cwd, "")
	if err != nil {
		return acp.NewSessionResponse{}, err
	}
	return acp.NewSessionResponse{SessionId: one.id}, nil
}

// LoadSession implements acp.AgentLoader: it repeats the end of the team's journal.
func (s *server) LoadSession(ctx context.Context, r acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
	one, err := s.open(ctx, r.Cwd, r.SessionId)
	if err != nil {
		return acp.LoadSessionResponse{}, err
	}
	newTalk(ctx, one).replay()
	return acp.LoadSessionResponse{}, nil
}

// ResumeSession implements acp.Agent.
func (s *server) ResumeSession(
	ctx context.Context, r acp.ResumeSessionRequest,
) (acp.ResumeSessionResponse, error) {
	_, err := s.open(ctx, r.Cwd, r.SessionId)
	return acp.ResumeSessionResponse{}, err
}

// open returns the session of the team in a folder, which must have the id want, if any. It
// loads the spec anew each time, so that a client that has reported a mistake can try again.
func (s *server) open(ctx context.Context, cwd string, want acp.SessionId) (*session, error) {
	spec := s.opts.spec
	if spec == "" {
		if !filepath.IsAbs(cwd) {
			return nil, refusal("cwd is %q; it must be an absolute path", cwd)
		}
		spec = filepath.Join(cwd, cli.DefaultSpec)
	}
	team, err := s.env.RunnableSpec(spec)
	if err != nil {
		return nil, refusal("%v", err)
	}
	if len(team.Schedules) > 0 {
		return nil, refusal("%s has schedules, so its work never ends; run it with covey up", spec)
	}
	report, err := trust.Check(ctx, team)
	if err != nil {
		return nil, refusal("check the trust in %s: %v", spec, err)
	}
	if !report.Trusted {
		return nil, refusal("%s is not trusted, because nobody has agreed to what it would run; read that with"+
			" covey trust --show %s, and trust it with covey trust %s", spec, spec, spec)
	}
	place, err := state.PlaceOf(team.Name, team.Workspace)
	if err != nil {
		return nil, refusal("find the state of team %s: %v", team.Name, err)
	}
	id := acp.SessionId(filepath.Base(place.Dir))
	if want != "" && want != id {
		return nil, refusal("there is no session %q in %s; its team has the session %q", want, cwd, id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one, known := s.sessions[id]
	if !known {
		one = &session{server: s, conn: s.conn, id: id, place: place}
		s.sessions[id] = one
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	one.at = opened{cwd, team.File, team.Lead.Name}
	return one, nil
}

// session returns an open session.
func (s *server) session(id acp.SessionId) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one, ok := s.sessions[id]; ok {
		return one, nil
	}
	return nil, refusal("there is no session %q; open it with session/new or session/load", id)
}

// Prompt implements acp.Agent.
func (s *server) Prompt(ctx context.Context, r acp.PromptRequest) (acp.PromptResponse, error) {
	one, err := s.session(r.SessionId)
	if err != nil {
		return acp.PromptResponse{}, err
	}
	text, err := promptText(r.Prompt)
	if err != nil {
		return acp.PromptResponse{}, err
	}
	if text == "" {
		return acp.PromptResponse{}, refusal("the prompt has no text")
	}
	// The spec may have changed, and what it would run may not be trusted any more.
	if one, err = s.open(ctx, one.opened().cwd, one.id); err != nil {
		return acp.PromptResponse{}, err
	}
	reason, err := one.prompt(ctx, text)
	if err != nil {
		return acp.PromptResponse{}, refusal("%v", err)
	}
	return acp.PromptResponse{StopReason: reason}, nil
}

// Cancel implements acp.Agent. It returns at once, and the prompt when all members are held.
func (s *server) Cancel(_ context.Context, r acp.CancelNotification) error {
	one, err := s.session(r.SessionId)
	if err != nil {
		return err
	}
	one.cancel(errCancelled)
	return nil
}

// promptText returns the text of a prompt. A client sends only text and links, because
// Initialize promises nothing else.
func promptText(blocks []acp.ContentBlock) (string, error) {
	var parts []string
	for _, b := range blocks {
		switch {
		case b.Text != nil:
			parts = append(parts, b.Text.Text)
		case b.ResourceLink != nil:
			link, err := linkText(b.ResourceLink.Uri)
			if err != nil {
				return "", err
			}
			parts = append(parts, link)
		}
	}
	return strings.TrimSpace(strings.Join(parts, "")), nil
}

// linkText returns a link as members can use it: the path of a file, or the URI. It refuses what
// would lead them astray: a file of another machine, and characters that begin a new line.
func linkText(uri string) (string, error) {
	text := uri
	if u, err := url.Parse(uri); err == nil && u.Scheme == "file" {
		if u.Host != "" && u.Host != "localhost" {
			return "", refusal("the link %q is to a file of another machine, %s", uri, u.Host)
		}
		text = cmp.Or(u.Path, uri)
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		return "", refusal("the link %q has characters that no name of a file should have", uri)
	}
	return text, nil
}

// refusal is an error with a text for the user. Clients show the message of an error, but
// rarely its data, where the library puts the texts of other errors.
func refusal(format string, args ...any) error {
	return &acp.RequestError{Code: acp.NewInvalidRequest(nil).Code, Message: fmt.Sprintf(format, args...)}
}

// Authenticate implements acp.Agent.
func (s *server) Authenticate(context.Context, acp.AuthenticateRequest) (acp.AuthenticateResponse, error) {
	return acp.AuthenticateResponse{}, nil // there is nothing to log in to
}

// The rest of acp.Agent is for what Initialize does not promise.

// CloseSession implements acp.Agent.
func (s *server) CloseSession(context.Context, acp.CloseSessionRequest) (acp.CloseSessionResponse, error) {
	return acp.CloseSessionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionClose)
}

// ListSessions implements acp.Agent.
func (s *server) ListSessions(context.Context, acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	return acp.ListSessionsResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionList)
}

// SetSessionMode implements acp.Agent.
func (s *server) SetSessionMode(context.Context, acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	return acp.SetSessionModeResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionSetMode)
}

// SetSessionConfigOption implements acp.Agent.
func (s *server) SetSessionConfigOption(
	context.Context, acp.SetSessionConfigOptionRequest,
) (acp.SetSessionConfigOptionResponse, error) {
	return acp.SetSessionConfigOptionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionSetConfigOption)
}
