package script

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// MaxRequest is the size of the largest request that a Server reads, in bytes.
// Agents send the whole conversation each time, tool results included.
const MaxRequest = 64 << 20

// ServerOptions tune a Server. The zero value is right for all but tests.
type ServerOptions struct {
	// Now is the time that answers say they were made at; nil: time.Now.
	Now func() time.Time
	// AllowEmpty says that the server may begin without scripts: Admit brings them.
	AllowEmpty bool
}

// Server plays scripts to agent programs over HTTP. It speaks Anthropic
// Messages, OpenAI Chat Completions and Responses, and Gemini generateContent,
// streaming or not, so any of these programs runs offline.
//
// Which step answers is decided by the conversation that a request carries (see
// replay), not by what was asked before. So a request may be sent again, titles
// and summaries asked for on the side use up no step, and a server that was
// started again goes on where it was.
type Server struct {
	scripts map[string]*Script // by bearer or model
	now     func() time.Time

	mu       sync.Mutex
	admitted map[string]*Script // by bearer, beside scripts; guarded by mu

	// Answers are numbered after the time at which the server began: an agent
	// that is resumed takes two answers of one id for the same.
	began  string
	count  atomic.Int64
	unseen unseen
	bodies bodies
	mux    *http.ServeMux
}

// NewServer returns a server for scripts, of which there must be one at least
// unless opts say Later. Their keys are bearers (API keys) or models: a request gets the script of its
// bearer, else that of its model, else the only one.
func NewServer(scripts map[string]*Script, opts *ServerOptions) (*Server, error) {
	if len(scripts) == 0 && (opts == nil || !opts.AllowEmpty) {
		return nil, errors.New("script: a model server needs a script; name one at least")
	}
	s := &Server{
		scripts: maps.Clone(scripts), now: time.Now, mux: http.NewServeMux(), admitted: map[string]*Script{},
	}
	if opts != nil && opts.Now != nil {
		s.now = opts.Now
	}
	s.began = strconv.FormatInt(s.now().UnixMilli(), 36)
	s.routes()
	return s, nil
}

// Admit lets whoever sends key as its bearer have script from now on. Such keys
// are secrets between the server and one agent: no list of models and no error
// shows them. It may be called at any time, from any goroutine.
func (s *Server) Admit(key string, script *Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.admitted[key] = script
}

// routes leads each path to its API. OpenAI's are there with and without /v1:
// programs differ in whether their base URL has it.
func (s *Server) routes() {
	s.mux.Handle("POST /v1/messages", s.api(anthropic{}))
	s.mux.HandleFunc("POST /v1/messages/count_tokens", s.countTokens)
	for _, base := range []string{"/v1", ""} {
		s.mux.Handle("POST "+base+"/chat/completions", s.api(chat{}))
		s.mux.Handle("POST "+base+"/responses", s.api(responses{}))
		s.mux.HandleFunc("GET "+base+"/models", s.listModels)
		s.mux.HandleFunc("GET "+base+"/models/{model...}", s.showModel)
	}
	s.mux.HandleFunc("GET /v1beta/models", s.listGeminiModels)
	s.mux.HandleFunc("POST /{version}/models/{action}", s.gemini)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, http.StatusNotFound, openaiFault("not_found_error", fmt.Sprintf(
			"%s %s is not served here; the APIs are /v1/messages, /v1/chat/completions, /v1/responses and "+
				"/v1beta/models/MODEL:generateContent", r.Method, r.URL.Path)))
	})
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Serve answers requests on l until ctx ends, which also ends the requests that
// are under way. It answers no web page (403). It closes l, and nothing runs any more when it returns; the
// error is nil if ctx was the reason.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler:     ownOnly(s),
		BaseContext: func(net.Listener) context.Context { return ctx },
		// No limit on writing: a step's delay may be as long as it likes.
		ReadHeaderTimeout: 10 * time.Second,
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		// Requests end by their context; what then still hangs is cut off.
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if server.Shutdown(last) != nil {
			_ = server.Close()
		}
	})
	err := server.Serve(l)
	if stop() { // it ended by itself
		_ = server.Close()
		return fmt.Errorf("script: model server: %w", err)
	}
	<-ended
	return nil
}

// Listen opens a port for a Server. Only addresses of this machine itself are
// taken: whoever reaches the server makes agents run what its scripts say.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("script: %q is no address; write 127.0.0.1:PORT, with port 0 for any", addr)
	}
	if host == "localhost" {
		host = "127.0.0.1" // whatever the resolver thinks of it
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("script: %s is not a loopback address; the model server has no other: write 127.0.0.1:%s",
			addr, port)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("script: model server: %w", err)
	}
	return l, nil
}

// scriptFor is the script that serves x, and the name by which it was found.
// The bearer comes first: each member can have one of its own, while the
// model's name may be the agent's choice.
func (s *Server) scriptFor(x *exchange) (string, *Script, error) {
	s.mu.Lock()
	admitted := s.admitted[x.key]
	s.mu.Unlock()
	if admitted != nil {
		return x.key, admitted, nil
	}
	if len(s.scripts) == 0 {
		return "", nil, errNoKey
	}
	for _, name := range []string{x.key, x.model} {
		if script := s.scripts[name]; script != nil {
			return name, script, nil
		}
	}
	if len(s.scripts) == 1 {
		for name, script := range s.scripts {
			return name, script, nil
		}
	}
	return "", nil, fmt.Errorf("no script for this API key, nor for model %q; send one of %s as the key or the model",
		x.model, strings.Join(s.models(), ", "))
}

// models are the names of all scripts, sorted. They are listed in errors and in
// /models; sorted, so that both are the same each time.
func (s *Server) models() []string { return slices.Sorted(maps.Keys(s.scripts)) }
