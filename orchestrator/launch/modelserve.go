package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/coveyteam/covey/hooks/notation"
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
		return notation.Errorf(ErrModelServer, "%v", err)
	}
	server, err := script.NewServer(scripts, nil)
	if err != nil {
		return notation.Errorf(ErrModelServer, "%v", err)
	}
	l, err := script.Listen(ctx, m.Addr)
	if err != nil {
		return notation.Errorf(ErrModelServer, "%v", err)
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
