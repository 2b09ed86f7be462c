package launch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/teammate/script"
)

// ErrModelServer is wrapped by errors of ServeModels if the server does not start, as
// for an invalid script or address.
var ErrModelServer = errors.New("the model server does not start")

// ModelServer configures a scripted model server.
type ModelServer struct {
	// Scripts are script files, each as PATH or NAME=PATH. NAME is the API key or the
	// model that selects the script; default: the file's name without its extension.
	Scripts []string
	// Addr is the loopback address to serve on; port 0 stands for any free port.
	Addr string
	// Out gets one line when the server is ready: its URL.
	Out io.Writer
}

// ServeModels serves scripts as models to agent programs over the model APIs, on
// loopback, until ctx ends; its error is nil then.
func ServeModels(ctx context.Context, m ModelServer) error {
	// Check everything before the port is open, so that a printed URL is usable.
	scripts, err := namedScripts(m.Scripts)
	if err != nil {
		return texts.Errorf(ErrModelServer, "%v", err)
	}
	server, err := script.NewServer(scripts, nil)
	if err != nil {
		return texts.Errorf(ErrModelServer, "%v", err)
	}
	l, err := script.Listen(ctx, m.Addr)
	if err != nil {
		return texts.Errorf(ErrModelServer, "%v", err)
	}
	if _, err := fmt.Fprintf(m.Out, "http://%s\n", l.Addr()); err != nil {
		return errors.Join(err, l.Close()) // without the URL the server is useless
	}
	return server.Serve(ctx, l)
}

// namedScripts reads all scripts. Its error joins the mistakes of all of them.
func namedScripts(list []string) (map[string]*script.Script, error) {
	scripts := map[string]*script.Script{}
	var mistakes []error
	for _, item := range list {
		// A path that itself holds a = needs a NAME before it.
		name, path, named := strings.Cut(item, "=")
		if !named {
			path = item
			name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		}
		s, err := script.Load(path)
		switch {
		case err != nil:
			mistakes = append(mistakes, err)
		case name == "":
			mistakes = append(mistakes, fmt.Errorf("%q has no name before the =; write NAME=PATH", item))
		case scripts[name] != nil:
			mistakes = append(mistakes, fmt.Errorf("two scripts are called %s; write NAME=%s for one of them", name, path))
		default:
			scripts[name] = s
		}
	}
	return scripts, errors.Join(mistakes...)
}

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
	o.set("HOME", home)
	return gatewayUnknown(o, url, key)
}

// gatewayUnknown is gateway for programs without a preset.
func gatewayUnknown(o *offer, url, key string) error {
	for _, v := range [][2]string{
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
