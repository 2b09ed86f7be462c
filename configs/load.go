package configs

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/texts"
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
	// Managed are the folders of an administrator whose policies hold, whatever the spec extends
	// (settings.ManagedFolders); nil: none.
	Managed []string
	// Node reads the spec of a team that another host runs: files that only that host needs may be missing.
	Node bool
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
	files, err := readSpecFiles(path)
	if err != nil {
		return nil, err
	}
	return files.team(opts)
}

// readSpecFiles reads the files of a spec.
func readSpecFiles(path string) (specFiles, error) {
	data, err := yaml.ReadFile(path)
	if err != nil {
		return specFiles{}, fmt.Errorf("configs: %w", err)
	}
	over, err := yaml.ReadOverride(path)
	if err != nil {
		return specFiles{}, fmt.Errorf("configs: the local override: %w", err)
	}
	return specFiles{name: path, spec: data, over: over}, nil
}

// Parse reads a spec from data. name appears in messages, and relative paths in the spec
// start at its folder; the file itself need not exist. A spec with mistakes yields Errors.
func Parse(name string, data []byte) (*Team, error) { return ParseWith(name, data, Options{}) }

// ParseWith is Parse with options.
func ParseWith(name string, data []byte, opts Options) (*Team, error) {
	return specFiles{name: name, spec: data}.team(opts)
}

// ParsePart reads a spec that is a mapping inside of another document. file is the path of that document:
// relative paths in the spec start at its folder. A spec with mistakes yields Errors, with their places in
// the document.
func ParsePart(file string, doc *yaml.Document, root *yaml.Node, opts Options) (*Team, error) {
	part := *doc
	part.Root, part.Problems = root, nil
	files := yaml.Files{Decoder: &yaml.Decoder{Document: &part}, Dir: filepath.Dir(file)}
	return (&resolver{Files: files, opts: opts, file: file, writable: proc.Writable}).load()
}

// specFiles are the contents of a spec's files.
type specFiles struct {
	name string // of the spec
	spec []byte
	over []byte // the local override; nil if there is none
}

// resolver parses the files.
func (w specFiles) resolver(opts Options) (*resolver, error) {
	file, err := filepath.Abs(w.name)
	if err != nil {
		return nil, fmt.Errorf("configs: %w", err)
	}
	d := yaml.NewDecoder(w.name, w.spec)
	r := &resolver{Files: yaml.Files{Decoder: d, Dir: filepath.Dir(file)}, opts: opts, file: file, writable: proc.Writable}
	if w.over != nil {
		d.Override(yaml.OverridePath(w.name), w.over, "extends") // else anybody could take off the policy
		r.over = yaml.OverridePath(file)
	}
	return r, nil
}

// team makes a Team of the files.
func (w specFiles) team(opts Options) (*Team, error) {
	r, err := w.resolver(opts)
	if err != nil {
		return nil, err
	}
	return r.load()
}

// load makes a Team of the spec, unless it has mistakes.
func (r *resolver) load() (*Team, error) {
	team := resolve(r)
	if len(r.Problems) > 0 {
		if team != nil && r.opts.Incomplete != nil {
			r.opts.Incomplete(team)
		}
		return nil, Errors(yaml.SortProblems(r.Problems))
	}
	team.Warnings = yaml.SortProblems(r.Warnings)
	return team, nil
}

// resolve decodes the tree of a spec and makes a Team of it. The Team is nil if the tree
// has no usable root.
func resolve(r *resolver) *Team {
	if r.Root == nil {
		return nil
	}
	spec := teamSpec{}
	spec.defaults.Limits = defaultLimits()
	r.Object(nil, r.Root, spec.fields())
	if r.Root.Kind != yaml.MappingKind || !r.required(spec.requires) {
		return nil
	}
	r.prompts, r.places = map[string]prompt{}, map[string]yaml.Problem{}
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
	gate    Gateway                 // of the team
	// confined is the sandbox of the team; a member may have more only if wider is set.
	confined Sandbox
	wider    bool
	// writable reports why files cannot be created in a folder. Tests replace it, because
	// root may write everywhere.
	writable func(dir string) error
}

// requirement matches one part of `requires`, such as >=0.1: how to compare, and with which
// version. Missing numbers are 0.
var requirement = texts.Pattern(`^(>=|<=|>|<|=)v?(\d+(?:\.\d+){0,2}(?:-[0-9A-Za-z.-]+)?)$`)

// required checks `requires`: all of its parts, separated by blanks or commas, must hold. It
// compares releases only. A build from a commit between two releases may have what the spec
// needs or not, and whoever builds covey knows that better than its number.
//
// It reports whether the running covey meets them. If not, that is the only problem of the
// spec: what an older covey says about the rest, such as unknown keys, would only mislead.
func (r *resolver) required(v yaml.Value[string]) (met bool) {
	ours := canonical(r.opts.Version)
	for _, part := range strings.FieldsFunc(v.V, func(c rune) bool { return c == ',' || c == ' ' }) {
		m := requirement().FindStringSubmatch(part)
		if m == nil || !semver.IsValid("v"+m[2]) {
			r.Fail(v.At.At, "requires must be versions of covey such as \">=0.1\" or \">=0.1 <2\"; %s is none",
				yaml.Quote(part))
			return true
		}
		if released(r.opts.Version) && !compares(semver.Compare(ours, "v"+m[2]), m[1]) {
			r.Problems = nil
			r.Fail(v.At.At, "this spec requires covey %s, and this is covey %s; use a covey that fits, "+
				"or change requires", v.V, r.opts.Version)
			return false
		}
	}
	return true
}

// canonical returns a version as package semver writes it.
func canonical(version string) string { return "v" + strings.TrimPrefix(version, "v") }

// released reports whether a version is that of a release.
func released(version string) bool {
	v := canonical(version)
	return semver.IsValid(v) && !module.IsPseudoVersion(v)
}

// compares reports whether the result of a comparison fits an operator.
func compares(result int, operator string) bool {
	switch operator {
	case ">=":
		return result >= 0
	case "<=":
		return result <= 0
	case ">":
		return result > 0
	case "<":
		return result < 0
	}
	return result == 0
}

// workspaceDir resolves the team's workspace, and keeps it for resolving programs if it can
// be used.
func (r *resolver) workspaceDir(v yaml.Value[string]) string {
	if !v.Given() {
		// A mistake about a folder that the spec does not name has no position of its own.
		v = yaml.Value[string]{V: ".", At: r.Root}
	}
	dir, usable := r.Folder(v, "workspace")
	if usable {
		r.Workspace = dir
		if err := r.writable(dir); err != nil {
			r.Fail(v.At.At, "the workspace %s cannot be written to (%s); change its permissions, "+
				"or name another folder", yaml.Quote(v.V), texts.Cause(err))
		}
	}
	return dir
}

// reportRefused reports warnings that keep a file of hooks from being used.
func (r *resolver) reportRefused(v yaml.Value[string], warnings []error) {
	for _, err := range settings.Refused(warnings) {
		r.Fail(v.At.At, "%v", err)
	}
}

// trimPackage returns an error's text without the prefix of package hooks.
func trimPackage(err error) string {
	return strings.TrimPrefix(err.Error(), "hooks: ")
}

// Errors are all mistakes of one spec, sorted by position.
type Errors = yaml.Errors

// Placed is an error about a program that the spec names, such as one that is not installed.
type Placed struct {
	Problem yaml.Problem // the error with its place in the spec
	err     error
}

// Error returns the error without its place.
func (p *Placed) Error() string { return p.err.Error() }

// Unwrap returns the error.
func (p *Placed) Unwrap() error { return p.err }

// serverKey is what Team.Placed knows an MCP server by. No agent has such a name.
const serverKey = "mcp_servers."

// Placed returns an error about the program of an agent as a *Placed, unless the spec has no place for it.
func (t *Team) Placed(agent string, err error) error {
	place, ok := t.places[agent]
	if !ok || err == nil {
		return err
	}
	place.Message = err.Error()
	return &Placed{place, err}
}

// PlacedServer is Placed for the program of an MCP server.
func (t *Team) PlacedServer(server string, err error) error { return t.Placed(serverKey+server, err) }

// ErrSpec is wrapped by errors for mistakes in a spec, or in the files that it names, that
// only show when the team starts, such as a program that is not installed. covey exits
// with code 2 for them.
var ErrSpec = errors.New("the spec cannot run")

//go:embed team.schema.json
var schemaFile []byte

// Schema returns the JSON Schema (draft 2020-12) of the spec, for editors. It is the file
// team.schema.json, which `go generate` makes from the tables that Parse uses.
func Schema() []byte { return append([]byte(nil), schemaFile...) }
