package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/doctor"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/orchestrator/launch"
)

//go:embed starter
var templateFiles embed.FS

// starter is the data for the templates of `covey init`.
type starter struct {
	Name    string // name of the team, in quotes if YAML needs them
	Scripts string // folder of the scripts, relative to the spec
	Test    string // the test command; empty if none was found
	Found   string // the file by which the test command was found
	Program string // the program of the test command if it is not installed
	Setup   doctor.FoundSetup
	Gates   []string     // of tasks, as far as they can run here
	Lead    starterAgent // for agent programs and models only, like Mates
	Mates   []starterMate
	Keyed   []starterAgent // programs without a login, which need an API key
}

// starterAgent is who a member is: an agent program, or covey's own agent with a model.
type starterAgent string

// Line returns the agent's line in a member's part of the spec.
func (a starterAgent) Line() string {
	if a.isModel() {
		return "model: " + yamlText(string(a))
	}
	return "agent: " + string(a)
}

// Program reports whether the agent is a program, which a spec can configure under `agents`.
func (a starterAgent) Program() bool { return !a.isModel() }

// Page returns the address of a page of docs/.
func (starter) Page(page string) string { return cli.Page(thisBuild().Version, page) }

// isModel reports whether the agent is named as PROVIDER/MODEL.
func (a starterAgent) isModel() bool { return strings.Contains(string(a), "/") }

// starterMate is a teammate that is an agent program, or has a model.
type starterMate struct {
	Name  string
	Agent starterAgent
	Does  string // its description
}

// List joins words for a list in YAML or in a sentence.
func (starter) List(words []string) string { return strings.Join(words, ", ") }

// Tasks returns the gates of tasks as a list in YAML. What runs tests is also run on finished work without single changes of it.
func (s starter) Tasks() string {
	list := slices.Clone(s.Gates)
	for i, command := range list {
		if command == s.Test {
			list[i] = "{run: " + command + ", tests: true}"
		}
	}
	return s.List(list)
}

// Rule returns the permission rule that allows members to run the tests, in quotes.
func (s starter) Rule() string { return fmt.Sprintf("%q", "Bash("+s.Test+")") }

// The templates are in the folder starter. New users read them first, so they explain each
// part in the terms of the docs, and describe only what this version does.

// makeStarter returns a spec for dir that runs at once, and the files that it needs, by
// their paths relative to dir. agents are the names of presets, or PROVIDER/MODEL for covey's
// own agent: the first is the lead, the others are teammates; a single one is used for both.
// Without agents the team runs offline: its members play scripts, which are in files. A team
// of agent programs needs no files, but its programs must be logged in when it starts, and its
// models need their keys. The gate is the test command found in dir; a lock file there brings
// worktree.setup. It writes nothing, and dir need not exist. It fails if dir cannot be read or
// if a preset or a provider does not exist.
func makeStarter(ctx context.Context, dir string, agents []starterAgent) (spec []byte, files map[string][]byte, err error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("starter: %w", err)
	}
	if _, err := os.ReadDir(abs); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("starter: %w; name a folder to write the spec for", err)
	}
	s := starter{Name: yamlText(configs.DefaultName(abs)), Scripts: freeFolder(abs)}
	test := doctor.FindTest(ctx, abs)
	s.Test, s.Found, s.Program, s.Gates = test.Command, test.File, test.Missing, test.Gates()
	if test.Hook != "" {
		s.Found = strings.TrimPrefix(s.Found+" and the repository's pre-commit hook", " and ")
	}
	s.Setup = doctor.FindSetup(ctx, abs)
	if len(agents) == 0 {
		return s.scripted()
	}
	if err := s.addMembers(agents); err != nil {
		return nil, nil, err
	}
	out, err := s.fill("agents.yaml")
	return out["agents.yaml"], map[string][]byte{}, err
}

// scripted returns the starter whose members play scripts.
func (s *starter) scripted() (spec []byte, files map[string][]byte, err error) {
	out, err := s.fill("team.yaml", "lead.yaml", "worker.yaml")
	if err != nil {
		return nil, nil, err
	}
	return out["team.yaml"], map[string][]byte{
		filepath.Join(s.Scripts, "lead.yaml"):   out["lead.yaml"],
		filepath.Join(s.Scripts, "worker.yaml"): out["worker.yaml"],
	}, nil
}

// addMembers sets the members of the team. The first two teammates have roles that
// users are expected to change; the others are named after their programs.
func (s *starter) addMembers(agents []starterAgent) error {
	for _, agent := range agents {
		provider, model, isModel := strings.Cut(string(agent), "/")
		if isModel && (configs.Provider(provider).Home() == "" || model == "") {
			return fmt.Errorf("there is no model %q; name one as anthropic/NAME, openai/NAME or ollama/NAME", agent)
		}
		if !isModel && !slices.Contains(configs.Presets(), string(agent)) {
			return fmt.Errorf("configs: there is no preset %q; name one of %s", agent, strings.Join(configs.Presets(), ", "))
		}
	}
	mates := agents[1:]
	if len(mates) == 0 {
		mates = agents
	}
	s.Lead = agents[0]
	for _, agent := range agents {
		if launch.KeyOnly(configs.Preset(agent)) && !slices.Contains(s.Keyed, agent) {
			s.Keyed = append(s.Keyed, agent)
		}
	}
	for i, agent := range mates {
		mate := starterMate{Name: fmt.Sprintf("%s-%d", agent, i+1), Agent: agent, Does: "helps where there is work"}
		if agent.isModel() { // its name has characters that a member's cannot have
			mate.Name = fmt.Sprintf("helper-%d", i+1)
		}
		switch i {
		case 0:
			mate.Name, mate.Does = "builder", "makes the changes"
		case 1:
			mate.Name, mate.Does = "reviewer", "reads what was changed and tries it"
		}
		s.Mates = append(s.Mates, mate)
	}
	return nil
}

// fill executes templates and returns the results by name, without the extension.
func (s *starter) fill(names ...string) (map[string][]byte, error) {
	templates, err := template.ParseFS(templateFiles, "starter/*.tmpl")
	if err != nil {
		return nil, fmt.Errorf("starter: %w", err)
	}
	out := map[string][]byte{}
	for _, name := range names {
		var b strings.Builder
		if err := templates.ExecuteTemplate(&b, name+".tmpl", s); err != nil {
			return nil, fmt.Errorf("starter: %w", err)
		}
		out[name] = []byte(b.String())
	}
	return out, nil
}

// yamlText returns a name that YAML reads as text: 007 and true need quotes.
func yamlText(name string) string {
	if yaml.IsText(name) {
		return name
	}
	return fmt.Sprintf("%q", name)
}

// freeFolder returns a folder for the scripts that is not one of the project.
func freeFolder(dir string) string {
	const usual = "scripts"
	if _, err := os.Lstat(filepath.Join(dir, usual)); err == nil {
		return "covey-scripts"
	}
	return usual
}
