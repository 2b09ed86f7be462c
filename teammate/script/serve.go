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

// MaxRequest is the maximum size of a request, in bytes. Agents send the whole
// conversation each time, tool results included.
const MaxRequest = 64 << 20

// ServerOptions configure a Server.
type ServerOptions struct {
	// Now returns the creation time of answers; nil means time.Now.
	Now func() time.Time
	// AllowEmpty allows a server without scripts; Admit adds them later.
	AllowEmpty bool
}

// Server plays scripts to agent programs over HTTP. It serves Anthropic Messages,
// OpenAI Chat Completions and Responses, and Gemini generateContent, streaming or
// not, so that programs for any of these APIs run offline.
//
// The conversation in a request determines which step answers (see replay), not the
// requests before it. So a request may be repeated, side requests for titles and
// summaries use up no step, and a restarted server continues where it was.
type Server struct {
	scripts map[string]*Script // by bearer or model
	now     func() time.Time

	mu       sync.Mutex
	admitted map[string]*Script // by bearer, in addition to scripts; guarded by mu

	// Answer ids begin with the start time of the server, because a resumed agent
	// treats two answers with the same id as one.
	began  string
	count  atomic.Int64
	unseen unseen
	bodies bodies
	mux    *http.ServeMux
}

// NewServer returns a server for scripts. There must be at least one unless
// opts.AllowEmpty is set. The keys of scripts are bearers (API keys) or models: a
// request gets the script of its bearer, or else that of its model, or else the
// only script.
func NewServer(scripts map[string]*Script, opts *ServerOptions) (*Server, error) {
	if len(scripts) == 0 && (opts == nil || !opts.AllowEmpty) {
		return nil, errors.New("script: a model server needs a script; name at least one")
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

// Admit assigns a script to the bearer key. Such keys are secrets between the
// server and one agent: no list of models and no error shows them. Admit may be
// called at any time, from any goroutine.
func (s *Server) Admit(key string, script *Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.admitted[key] = script
}

// routes registers the paths of the APIs. OpenAI's paths work with and without /v1,
// because programs differ in whether their base URL includes it.
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

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Serve answers requests on l until ctx ends, which also ends the requests in
// progress. It refuses requests of web pages with 403. It closes l, and all its
// goroutines have ended when it returns. The error is nil if ctx ended.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler:     OwnOnly(s),
		BaseContext: func(net.Listener) context.Context { return ctx },
		// There is no write timeout, because a step's delay may have any length.
		ReadHeaderTimeout: 10 * time.Second,
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		// Requests end with their context; the rest is cut off after a second.
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if server.Shutdown(last) != nil {
			_ = server.Close()
		}
	})
	err := server.Serve(l)
	if stop() { // Serve failed before ctx ended
		_ = server.Close()
		return fmt.Errorf("script: model server: %w", err)
	}
	<-ended
	return nil
}

// Listen opens a port for a Server. It accepts only loopback addresses, because a
// client of the server makes agents run what its scripts say.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("script: %q is not an address; write 127.0.0.1:PORT, with port 0 for any", addr)
	}
	if host == "localhost" {
		host = "127.0.0.1" // without asking the resolver
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("script: %s is not a loopback address; write 127.0.0.1:%s", addr, port)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("script: model server: %w", err)
	}
	return l, nil
}

// scriptFor returns the script that serves x, and the name by which it was found.
// The bearer takes precedence, because each member can have its own, while the
// agent may choose the model's name.
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

// models returns the names of all scripts, sorted, so that errors and /models are
// the same each time.
func (s *Server) models() []string { return slices.Sorted(maps.Keys(s.scripts)) }
