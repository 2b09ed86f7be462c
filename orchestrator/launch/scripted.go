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

// errClosed is for programs that start while the team ends.
var errClosed = errors.New("the team is ending")

// modelServer plays scripts to those agent programs of a team that are to think
// with one: one server on loopback for all of them, opened when the first of
// them needs it. Each has a key of its own, from which its script follows. The
// zero value serves nobody yet.
type modelServer struct {
	mu      sync.Mutex
	closed  bool
	server  *script.Server // nil: nobody has needed one
	url     string
	stop    context.CancelFunc
	serving sync.WaitGroup
}

// admit opens the server to one more agent: its URL, and the key that gets it
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
	// Programs look at the form of a key before they use it; this one passes as
	// any vendor's.
	key = "sk-covey-" + rand.Text() + rand.Text()
	m.server.Admit(key, s)
	return m.url, key, nil
}

// open begins to serve, unless the server does; m.mu is held.
func (m *modelServer) open(ctx context.Context, log *slog.Logger) error {
	if m.server != nil {
		return nil
	}
	server, err := script.NewServer(nil, &script.ServerOptions{Later: true})
	if err != nil {
		return err
	}
	l, err := script.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	// It ends with the crew, after the programs: one that is told to stop must not
	// take the end of its model for an error first.
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

// offlineAnyhow is for programs that covey knows nothing of: the variables by
// which most of them find the model APIs, and a home without settings and
// logins of the user's.
func offlineAnyhow(o *offer, url, key, home string) error {
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

// home is a folder in which an agent program finds nothing of the user's. It
// stays from run to run: the program keeps its sessions there.
func home(place state.Place, member string) (string, error) {
	dir := filepath.Join(place.Scratch(), member+".home")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("home of an agent program: %w", err)
	}
	return dir, nil
}
