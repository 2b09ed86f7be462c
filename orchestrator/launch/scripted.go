package launch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/teammate/script"
)

// errClosed is the error for programs that start while the team ends.
var errClosed = errors.New("the team is ending")

// modelServer serves scripts as models to the agent programs of a team: one server on
// loopback for all of them, opened when the first of them needs it. Each program has
// its own key, which selects its script. The zero value is ready to use.
type modelServer struct {
	mu      sync.Mutex
	closed  bool
	server  *script.Server // nil: not needed so far
	url     string
	stop    context.CancelFunc
	serving sync.WaitGroup
}

// admit registers one more agent: it returns the server's URL and the key that selects
// this script.
func (m *modelServer) admit(ctx context.Context, s *script.Script, log *slog.Logger) (url, key string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return "", "", errClosed
	}
	if err := m.open(ctx, log); err != nil {
		return "", "", err
	}
	// Programs check the format of a key before they use it; this one is valid for all
	// vendors.
	key = "sk-covey-" + rand.Text() + rand.Text()
	m.server.Admit(key, s)
	return m.url, key, nil
}

// open starts the server unless it runs; m.mu is held.
func (m *modelServer) open(ctx context.Context, log *slog.Logger) error {
	if m.server != nil {
		return nil
	}
	server, err := script.NewServer(nil, &script.ServerOptions{AllowEmpty: true})
	if err != nil {
		return err
	}
	l, err := script.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	// It ends with the crew, after the programs: a program that is told to stop must
	// not see its model disappear first.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	m.server, m.url, m.stop = server, "http://"+l.Addr().String(), stop
	m.serving.Go(func() {
		if err := server.Serve(serving, l); err != nil {
			log.Error("scripts are no longer served to agent programs", "err", err)
		}
	})
	return nil
}

// close ends the server. It may be called more than once.
func (m *modelServer) close() {
	m.mu.Lock()
	m.closed = true
	stop := m.stop
	m.mu.Unlock()
	if stop != nil {
		stop()
	}
	m.serving.Wait()
}

// offlineUnknown is offline for programs without a preset: it sets the variables that
// most of them read for the model APIs, and a home directory without the user's
// settings and logins.
func offlineUnknown(o *offer, url, key, home string) error {
	for _, v := range [][2]string{
		{"HOME", home},
		{"ANTHROPIC_BASE_URL", url}, {"ANTHROPIC_API_KEY", key},
		{"OPENAI_BASE_URL", url + "/v1"}, {"OPENAI_API_KEY", key},
		{"GOOGLE_GEMINI_BASE_URL", url}, {"GEMINI_API_KEY", key},
	} {
		o.set(v[0], v[1])
	}
	return nil
}

// home returns a home directory for an agent program that contains nothing of the
// user's. It persists between runs, because the program keeps its sessions there.
func home(place state.Place, member string) (string, error) {
	dir := filepath.Join(place.Scratch(), member+".home")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("create the home of an agent program: %w", err)
	}
	return dir, nil
}
