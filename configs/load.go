package configs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/coveyteam/covey/configs/schema"
	"github.com/coveyteam/covey/configs/yaml"
)

// Options say what a spec may count on besides what is in it. The zero value is
// that of the command line.
type Options struct {
	// Given are names of agents that the calling program brings along. A member
	// may name one as its agent and gets an Agent of kind Given. An entry under
	// `agents` comes before a given agent of its name, and that before a preset.
	Given []string
	// Lookup gives the variables that values of `env` name; nil: os.LookupEnv.
	Lookup func(name string) (string, bool)
}

// Load reads the spec at path. A spec with mistakes gives Errors; a file that
// is not there gives an error that matches fs.ErrNotExist.
func Load(path string) (*Team, error) { return LoadWith(path, Options{}) }

// LoadWith is Load for a program that brings agents along. A local override beside
// the spec (OverridePath) is laid over it: mappings are merged, all else replaced.
func LoadWith(path string, opts Options) (*Team, error) {
	data, err := readSpec(path)
	if err != nil {
		return nil, fmt.Errorf("configs: %w", err)
	}
	over, err := readOverride(path)
	if err != nil {
		return nil, fmt.Errorf("configs: the local override: %w", err)
	}
	return written{name: path, spec: data, over: over}.team(opts)
}

// Parse reads a spec from data. Its name stands in messages, and relative
// paths in the spec start at the folder of name; the file itself need not
// exist. A spec with mistakes gives Errors.
func Parse(name string, data []byte) (*Team, error) { return ParseWith(name, data, Options{}) }

// ParseWith is Parse for a program that brings agents along.
func ParseWith(name string, data []byte, opts Options) (*Team, error) {
	return written{name: name, spec: data}.team(opts)
}

// written is a spec as it is on disk.
type written struct {
	name string // of the spec
	spec []byte
	over []byte // the local override; nil: there is none
}

// team makes a Team of what was written.
func (w written) team(opts Options) (*Team, error) {
	file, err := filepath.Abs(w.name)
	if err != nil {
		return nil, fmt.Errorf("configs: %w", err)
	}
	d := schema.NewDecoder(w.name, w.spec)
	r := &resolver{Decoder: d, opts: opts, file: file, writable: writable}
	if w.over != nil {
		d.Override(OverridePath(w.name), w.over)
		r.over = OverridePath(file)
	}
	team := resolve(r)
	if len(d.Problems) > 0 {
		return nil, Errors(sortProblems(d.Problems))
	}
	team.Warnings = sortProblems(d.Warnings)
	return team, nil
}

// resolve decodes the tree of a spec and makes a Team of it. The Team is nil
// where the tree is too wrong to say more about it.
func resolve(r *resolver) *Team {
	if r.Root == nil {
		return nil
	}
	var spec teamSpec
	r.Object(nil, r.Root, spec.fields())
	if r.Root.Kind != yaml.Mapping {
		return nil
	}
	r.dir, r.prompts = filepath.Dir(r.file), map[string]prompt{}
	r.lookup = r.opts.Lookup
	if r.lookup == nil {
		r.lookup = os.LookupEnv
	}
	return r.team(&spec)
}

// readSpec reads one byte more than MaxSize at most, so that Parse can tell
// that the file is too large. It opens regular files only: a named pipe would
// make it wait for ever.
func readSpec(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w; `covey init` writes a spec that runs", err)
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder; name the spec file in it, such as %s",
			path, filepath.Join(path, "team.yaml"))
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file; write the spec to a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, yaml.MaxSize+1))
}

// OverridePath is where the local override of a spec lies: team.override.yaml
// beside team.yaml. It is for what one person or one machine wants otherwise.
func OverridePath(spec string) string {
	ext := filepath.Ext(spec)
	return strings.TrimSuffix(spec, ext) + ".override" + ext
}

// readOverride reads the local override of a spec; nil if there is none.
func readOverride(spec string) ([]byte, error) {
	data, err := readSpec(OverridePath(spec))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// resolver makes a Team of a decoded spec: it follows references, looks for
// files and fills in defaults. It goes on after mistakes, so that all are
// found; a Team that came with mistakes is thrown away.
//
// What decoding has refused has a place and no value. The resolver takes it
// for given and asks nothing more of it, so that one slip does not draw a tail
// of messages about what is missing.
type resolver struct {
	*schema.Decoder
	opts Options
	file string // absolute path of the spec
	over string // absolute path of its local override; empty: none
	dir  string // where relative paths start

	workspace string // absolute path; empty: it cannot be used, which has been said
	lookup    func(name string) (string, bool)
	expanded  int // length of all values of variables so far, in bytes

	models  map[string]Model
	prompts map[string]prompt // by path: many members may inherit one file
	agents  map[string]Agent
	// writable reports whether files can be made in a folder. Tests replace
	// it, because the superuser may write everywhere.
	writable func(dir string) error
}
