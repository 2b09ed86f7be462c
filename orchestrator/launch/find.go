package launch

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/acp"
)

// ErrNoProgram is wrapped, along with configs.ErrSpec, when the program of an agent is
// not installed.
var ErrNoProgram = errors.New("the program of an agent is not installed")

// ErrNoAgentKey: this machine has no API key for an agent program that is to use one.
var ErrNoAgentKey = errors.New("there is no API key for an agent")

// Found is the program of an agent as it is installed on this machine.
type Found struct {
	argv    []string // the program's absolute path, and its arguments
	program program  // description of the program; mostly zero without a preset
	preset  preset   // zero: none
	key     configs.EnvVar
}

// Find finds the programs of all agents that members use, keyed by agent name, and
// reads their API keys. Its error joins the problems of all of them. An agent that names no program,
// because its part of the spec was refused, is left out.
func Find(team *configs.Team) (map[string]Found, error) {
	all := map[string]Found{}
	var errs []error
	for _, a := range AgentsInUse(team) {
		_, known := all[a.Name]
		if known || a.Kind != configs.ACP && a.Kind != configs.Command || a.Preset == "" && len(a.Command) == 0 {
			continue
		}
		l, err := findProgram(a, team.Workspace)
		if err == nil {
			l.key, err = l.readKey(a)
		}
		if err == nil && a.Model.Script != "" && l.preset.name != "" && l.program.offline == nil {
			err = texts.Errorf(configs.ErrSpec, "%s: its program cannot run a script; remove its `model`", a.Name)
		}
		if err == nil {
			err = l.oldEnough(team, a)
		}
		all[a.Name] = l
		errs = append(errs, team.Placed(a.Name, err))
	}
	return all, errors.Join(errs...)
}

// oldEnough returns an error if a policy demands a later version of the program.
func (l Found) oldEnough(team *configs.Team, a configs.Agent) error {
	for _, p := range team.Policies {
		least, demanded := p.AgentVersions[string(a.Preset)]
		if !demanded {
			continue
		}
		_, version := packageOf(l.argv[0])
		if semver.Compare("v"+version, "v"+least) < 0 { // also if the version is unknown
			return texts.Errorf(configs.ErrSpec, "%s: the policy %s demands %s>=%s, and the version of %s is %s; %s installs the newest",
				a.Name, p.Where, a.Preset, least, l.argv[0], cmp.Or(version, "not known"), howToInstall(l.preset.install, l.preset.node))
		}
	}
	return nil
}

// AgentsInUse returns the agents of all members, in the order of the members. An agent may occur
// more than once.
func AgentsInUse(team *configs.Team) []configs.Agent {
	var list []configs.Agent
	for m := range team.EachAndTemplates() {
		list = append(list, team.AgentsOf(*m)...)
	}
	return list
}

// findProgram finds one agent's program in the PATH that it will run with.
func findProgram(a configs.Agent, workspace string) (Found, error) {
	env := append(Environment(os.Environ()), pairs(a.Env)...)
	look := func(name string) (string, error) { return lookIn(env, workspace, name) }
	p, known := presetOf(a.Preset)
	if a.Preset != "" && !known {
		return Found{}, texts.Errorf(configs.ErrSpec, "%s: there is no preset %q", a.Name, a.Preset)
	}
	if len(a.Command) == 0 {
		way, path, err := p.find(look)
		if err != nil {
			return Found{}, &missingProgram{err}
		}
		return Found{argv: append([]string{path}, way.args...), program: way, preset: p}, nil
	}
	path, err := look(a.Command[0])
	if err != nil {
		return Found{}, &missingProgram{fmt.Errorf("%s: its program %s is not installed: %w", a.Name, a.Command[0], err)}
	}
	l := Found{argv: append([]string{path}, a.Command[1:]...), preset: p, program: program{kind: a.Kind}}
	if known {
		l.program = p.programOf(l.argv)
	} else if a.Kind == configs.ACP {
		l.program.systemBy, l.program.offline, l.program.gateway = acp.SystemInPrompt, offlineUnknown, gatewayUnknown
	} else {
		l.program.offline, l.program.gateway = offlineUnknown, gatewayUnknown
	}
	return l, nil
}

// FindServers reports programs of the spec's MCP servers that are not installed. Without it the team would
// start, and only the journal would say that some tools will never come.
func FindServers(team *configs.Team) error {
	var errs []error
	for _, s := range team.MCPServers {
		if len(s.Command) == 0 {
			continue
		}
		env := Environment(os.Environ())
		for name, value := range s.Env {
			env = append(env, name+"="+value)
		}
		if _, err := lookIn(env, team.Workspace, s.Command[0]); err != nil {
			errs = append(errs, team.PlacedServer(s.Name, &missingProgram{fmt.Errorf("MCP server %s: its program %s is not "+
				"installed: %w; install it, or correct mcp_servers", s.Name, s.Command[0], err)}))
		}
	}
	return errors.Join(errs...)
}

// missingProgram is an error for a program that is not installed; its text is complete.
type missingProgram struct{ error }

// Unwrap lets errors.Is find both sentinels.
func (e *missingProgram) Unwrap() []error { return []error{ErrNoProgram, configs.ErrSpec, e.error} }

// lookIn finds a program in a PATH, but never in the current folder, where agents
// write. A name with a slash is a path relative to the workspace.
func lookIn(env []string, workspace, name string) (string, error) {
	if filepath.Base(name) != name {
		if !filepath.IsAbs(name) {
			name = filepath.Join(workspace, name)
		}
		found, err := exec.LookPath(name)
		var known *exec.Error // its text would repeat the program's name
		if errors.As(err, &known) {
			err = known.Err
		}
		return found, err
	}
	found, err := proc.LookPath(name, env)
	if err != nil {
		err = errors.New("not found in PATH")
	}
	return found, err
}

// programOf returns the program that a command of the spec runs: the one whose package
// contains one of the words, else the one with that name, else the first of the preset.
func (p preset) programOf(argv []string) program {
	var bins []program
	for _, word := range argv {
		name, version := packageOf(word)
		bin := filepath.Base(word)
		for _, way := range p.programs {
			switch {
			case way.isIn(name, version):
				return way
			case name != "" && way.pkg == name: // an older version
				bin = way.bin
			case way.pkg == "" && way.bin == bin:
				bins = append(bins, way)
			}
		}
	}
	return append(bins, p.programs[0])[0]
}

// Kind returns the kind of the found program, or own if it is unknown.
func (l Found) Kind(own configs.AgentKind) configs.AgentKind { return cmp.Or(l.program.kind, own) }

// readKey returns the API key of an agent that uses one, with the variable that passes
// it to the program.
func (l Found) readKey(a configs.Agent) (configs.EnvVar, error) {
	switch {
	case a.Model.Script != "": // a script needs no key
		return configs.EnvVar{}, nil
	case a.Auth != configs.Key && l.preset.login == "" && len(l.preset.keyVars) > 0:
		// The environment of such an agent lacks keys, because they may cost money.
		return configs.EnvVar{}, texts.Errorf(configs.ErrSpec,
			"%s: %s has no login of its own, only an API key; set %s and write auth: key", a.Name, l.preset.name, l.preset.keyVars[0])
	case a.Auth != configs.Key:
		return configs.EnvVar{}, nil
	}
	names := slices.Clone(l.preset.keyVars)
	if a.KeyVar != "" {
		names = []string{a.KeyVar}
	}
	if len(names) == 0 {
		return configs.EnvVar{}, texts.Errorf(configs.ErrSpec,
			"%s: the variable of its API key is not known; write auth: {key: VARIABLE}", a.Name)
	}
	if a.KeyFile != "" {
		data, err := os.ReadFile(a.KeyFile)
		if err != nil {
			return configs.EnvVar{}, texts.Errorf(ErrNoAgentKey, "%s: its API key cannot be read: %v", a.Name, err)
		}
		key := string(bytes.TrimSpace(data))
		if key == "" || strings.ContainsAny(key, "\n\x00") {
			return configs.EnvVar{}, texts.Errorf(configs.ErrSpec, "%s: %s must hold an API key and nothing else", a.Name, a.KeyFile)
		}
		return configs.EnvVar{Name: names[0], Value: key}, nil
	}
	for _, name := range names {
		if key := os.Getenv(name); key != "" {
			return configs.EnvVar{Name: name, Value: key}, nil
		}
	}
	return configs.EnvVar{}, texts.Errorf(ErrNoAgentKey,
		"%s: its API key %s is not set; set it, name a file (auth: {key: %s, file: PATH}), or write auth: login",
		a.Name, strings.Join(names, " or "), names[0])
}

// WithKinds returns the team with the kinds of its agents as found: the program of a
// preset may not speak ACP. It copies only a team that has such agents, because a copy of many
// members is large.
func WithKinds(team *configs.Team, programs map[string]Found) *configs.Team {
	if len(programs) == 0 {
		return team
	}
	changed := *team
	changed.Teammates, changed.Templates = slices.Clone(team.Teammates), slices.Clone(team.Templates)
	for m := range changed.EachAndTemplates() {
		if l, ok := programs[m.Agent.Name]; ok {
			m.Agent.Kind = l.Kind(m.Agent.Kind)
			m.Agent.TeamTools = l.program.connect != nil
		}
	}
	return &changed
}
