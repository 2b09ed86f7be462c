package orchestrator

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

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/wording"
	"github.com/coveyteam/covey/teammate/acp"
)

// launch is an agent's program as it was found, before anything starts.
type launch struct {
	argv    []string // the program's absolute path, and its arguments
	program program  // what is known of it; for one that has no preset, little
	preset  preset   // zero: none
	key     configs.EnvVar
}

// findPrograms finds the programs of all agents that members have, by the
// agents' names, and reads their keys. What is wrong with any of them is told
// at once: whoever installs one program wants to know of the others.
func findPrograms(team *configs.Team) (map[string]launch, error) {
	found := map[string]launch{}
	var errs []error
	for _, a := range thinkers(team) {
		if _, known := found[a.Name]; known || a.Kind != configs.ACP && a.Kind != configs.Command {
			continue
		}
		l, err := findProgram(a, team.Workspace)
		if err == nil {
			l.key, err = l.readKey(a)
		}
		if err == nil && a.Model.Script != "" && l.preset.name != "" && l.program.offline == nil {
			err = wording.Errorf(ErrSpec, "%s: it cannot think with a script; take `model` away from it", a.Name)
		}
		found[a.Name] = l
		errs = append(errs, err)
	}
	return found, errors.Join(errs...)
}

// findProgram finds one agent's program on the PATH that it would be started
// with.
func findProgram(a configs.Agent, workspace string) (launch, error) {
	env := environment(os.Environ())
	for _, v := range a.Env {
		env = append(env, v.Name+"="+v.Value)
	}
	look := func(name string) (string, error) { return lookIn(lastOf(env, "PATH"), workspace, name) }
	p, known := presetOf(a.Preset)
	if a.Preset != "" && !known {
		return launch{}, wording.Errorf(ErrSpec, "%s: there is no preset %q", a.Name, a.Preset)
	}
	if len(a.Command) == 0 {
		way, path, err := p.find(look)
		if err != nil {
			return launch{}, &missingProgram{err}
		}
		return launch{argv: append([]string{path}, way.args...), program: way, preset: p}, nil
	}
	path, err := look(a.Command[0])
	if err != nil {
		return launch{}, &missingProgram{fmt.Errorf("%s: its program %s is not installed: %w", a.Name, a.Command[0], err)}
	}
	l := launch{argv: append([]string{path}, a.Command[1:]...), preset: p, program: program{kind: a.Kind}}
	if known {
		l.program = p.behind(l.argv)
	} else if a.Kind == configs.ACP {
		l.program.systemBy, l.program.offline = acp.SystemInPrompt, offlineAnyhow
	} else {
		l.program.offline = offlineAnyhow
	}
	return l, nil
}

// missingProgram is an error of a program that is not there; its text says all.
type missingProgram struct{ error }

// Unwrap lets errors.Is find both kinds.
func (e *missingProgram) Unwrap() []error { return []error{ErrNoProgram, ErrSpec, e.error} }

// lookIn finds a program on a PATH, never in the current folder: agents write
// there. A name with a slash is a path, from the workspace on.
func lookIn(path, workspace, name string) (string, error) {
	if filepath.Base(name) != name {
		if !filepath.IsAbs(name) {
			name = filepath.Join(workspace, name)
		}
		found, err := exec.LookPath(name)
		var known *exec.Error // it would name the program once more
		if errors.As(err, &known) {
			err = known.Err
		}
		return found, err
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	return "", errors.New("it is not in PATH")
}

// behind is the program that a command of the spec's own runs: that of the
// package which one of its words lies in, else of its name, else the first.
func (p preset) behind(argv []string) program {
	var bins []program
	for _, word := range argv {
		name, version := packageOf(word)
		bin := filepath.Base(word)
		for _, way := range p.programs {
			switch {
			case way.isIn(name, version):
				return way
			case name != "" && way.pkg == name: // of an older version
				bin = way.bin
			case way.pkg == "" && way.bin == bin:
				bins = append(bins, way)
			}
		}
	}
	return append(bins, p.programs[0])[0]
}

// readKey is the API key of an agent that has one: the variable by which the
// program gets it, and its value.
func (l launch) readKey(a configs.Agent) (configs.EnvVar, error) {
	if a.Auth != configs.Key || a.Model.Script != "" { // a script asks for no key
		return configs.EnvVar{}, nil
	}
	names := slices.Clone(l.preset.keyVars)
	if a.KeyVar != "" {
		names = []string{a.KeyVar}
	}
	if len(names) == 0 {
		return configs.EnvVar{}, wording.Errorf(ErrSpec,
			"%s: which variable holds its API key? Write auth: {key: VARIABLE}", a.Name)
	}
	if a.KeyFile != "" {
		data, err := os.ReadFile(a.KeyFile)
		if err != nil {
			return configs.EnvVar{}, wording.Errorf(ErrSpec, "%s: its API key cannot be read: %v", a.Name, err)
		}
		key := string(bytes.TrimSpace(data))
		if key == "" || strings.ContainsAny(key, "\n\x00") {
			return configs.EnvVar{}, wording.Errorf(ErrSpec, "%s: %s must hold an API key and nothing else", a.Name, a.KeyFile)
		}
		return configs.EnvVar{Name: names[0], Value: key}, nil
	}
	for _, name := range names {
		if key := os.Getenv(name); key != "" {
			return configs.EnvVar{Name: name, Value: key}, nil
		}
	}
	return configs.EnvVar{}, wording.Errorf(ErrSpec,
		"%s: it is to use an API key, but %s is not set; set it, name a file (auth: {key: %s, file: PATH}), or write auth: login",
		a.Name, strings.Join(names, " or "), names[0])
}

// withPrograms is the team with its agents as the programs are that were found: a preset may have to do with one that does not speak ACP.
func withPrograms(team *configs.Team, found map[string]launch) *configs.Team {
	changed := *team
	changed.Teammates = slices.Clone(team.Teammates)
	set := func(m *configs.Member) {
		if l, ok := found[m.Agent.Name]; ok {
			m.Agent.Kind = cmp.Or(l.program.kind, m.Agent.Kind)
			m.Agent.TeamTools = l.program.connect != nil
		}
	}
	set(&changed.Lead)
	for i := range changed.Teammates {
		set(&changed.Teammates[i])
	}
	return &changed
}
