package configs

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/proc"
)

// Options extend what a spec may refer to. The zero value is that of the command line.
type Options struct {
	// Given are names of agents that the calling program provides. A member that names
	// one gets an Agent of kind Given. An entry under `agents` takes precedence over a
	// given agent of its name, and that over a preset.
	Given []string
	// Version is that of the running covey, for `requires`. A version that is not the
	// number of a release, such as that of a development build, meets all of them.
	Version string
	// Lookup returns the variables that values of `env` name; nil means os.LookupEnv.
	Lookup func(name string) (string, bool)
	// Incomplete gets what could be read of a spec with mistakes, in which others may be found, such as
	// programs that are not installed; nil means nobody.
	Incomplete func(*Team)
}

// Load reads the spec at path. A spec with mistakes yields Errors; a file that does not
// exist yields an error that matches fs.ErrNotExist.
func Load(path string) (*Team, error) { return LoadWith(path, Options{}) }

// LoadWith is Load with options. A local override next to the spec (yaml.OverridePath) is merged
// into it: mappings are merged, all other values replaced.
func LoadWith(path string, opts Options) (*Team, error) {
	data, err := yaml.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("configs: %w", err)
	}
	over, err := yaml.ReadOverride(path)
	if err != nil {
		return nil, fmt.Errorf("configs: the local override: %w", err)
	}
	return specFiles{name: path, spec: data, over: over}.team(opts)
}

// Parse reads a spec from data. name appears in messages, and relative paths in the spec
// start at its folder; the file itself need not exist. A spec with mistakes yields Errors.
func Parse(name string, data []byte) (*Team, error) { return ParseWith(name, data, Options{}) }

// ParseWith is Parse with options.
func ParseWith(name string, data []byte, opts Options) (*Team, error) {
	return specFiles{name: name, spec: data}.team(opts)
}

// specFiles are the contents of a spec's files.
type specFiles struct {
	name string // of the spec
	spec []byte
	over []byte // the local override; nil if there is none
}

// team makes a Team of the files.
func (w specFiles) team(opts Options) (*Team, error) {
	file, err := filepath.Abs(w.name)
	if err != nil {
		return nil, fmt.Errorf("configs: %w", err)
	}
	d := yaml.NewDecoder(w.name, w.spec)
	r := &resolver{Files: yaml.Files{Decoder: d}, opts: opts, file: file, writable: proc.Writable}
	if w.over != nil {
		d.Override(yaml.OverridePath(w.name), w.over)
		r.over = yaml.OverridePath(file)
	}
	team := resolve(r)
	if len(d.Problems) > 0 {
		if team != nil && opts.Incomplete != nil {
			opts.Incomplete(team)
		}
		return nil, Errors(yaml.SortProblems(d.Problems))
	}
	team.Warnings = yaml.SortProblems(d.Warnings)
	return team, nil
}

// resolve decodes the tree of a spec and makes a Team of it. The Team is nil if the tree
// has no usable root.
func resolve(r *resolver) *Team {
	if r.Root == nil {
		return nil
	}
	var spec teamSpec
	r.Object(nil, r.Root, spec.fields())
	if r.Root.Kind != yaml.MappingKind || !r.required(spec.requires) {
		return nil
	}
	r.Dir, r.prompts, r.places = filepath.Dir(r.file), map[string]prompt{}, map[string]yaml.Problem{}
	r.lookup = r.opts.Lookup
	if r.lookup == nil {
		r.lookup = os.LookupEnv
	}
	team := r.team(&spec)
	if team != nil && !released(r.opts.Version) {
		team.Unchecked = spec.requires.V
	}
	return team
}

// place records where the spec names the program of an agent or a server, the first time.
func (r *resolver) place(key string, at *yaml.Node) {
	if _, known := r.places[key]; !known && at != nil {
		r.places[key] = r.Problem(at.At, "")
	}
}

// resolver makes a Team of a decoded spec: it follows references, checks files and fills in
// defaults. It continues after a mistake, so that all are found.
//
// A value that the decoder has refused has a position and no value. The resolver treats it
// as given and does not check it further, so that one slip does not cause follow-up
// messages.
type resolver struct {
	yaml.Files
	opts Options
	file string // absolute path of the spec
	over string // absolute path of its local override; empty if there is none

	lookup   func(name string) (string, bool)
	expanded int // length of all values of variables so far, in bytes

	models  map[string]Model
	prompts map[string]prompt // by path, because many members may inherit one file
	agents  map[string]Agent
	mcp     []MCPServer
	places  map[string]yaml.Problem // Team.places
	mode    PermissionMode          // of the settings files; empty if they set none
	// writable reports why files cannot be created in a folder. Tests replace it, because
	// root may write everywhere.
	writable func(dir string) error
}
