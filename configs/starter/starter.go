// Package starter writes the spec that `covey init` begins a team with, and finds out
// how a folder's tests are run.
//
// It is part of package configs, and makes no promise of compatibility to programs
// outside covey.
package starter

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/configs/yaml"
)

//go:embed *.tmpl
var templateFiles embed.FS

// starter is what the templates of `covey init` are filled with.
type starter struct {
	Name    string         // the team's, in quotes if YAML needs them
	Scripts string         // folder of the scripts, relative to the spec
	Test    string         // the test command; empty: none found
	Found   string         // what gave it away
	Program string         // set if the test command's program is not installed
	Lead    configs.Preset // with agent programs only, as Mates
	Mates   []starterMate
}

// starterMate is a teammate on an agent program.
type starterMate struct {
	Name  string
	Agent configs.Preset
	Does  string // its description
}

// Rule is the permission rule that lets members run the tests, in quotes.
func (s starter) Rule() string { return fmt.Sprintf("%q", "Bash("+s.Test+")") }

// Options say what a starter is made of.
type Options struct {
	// Agents are the agent programs to use: the first leads, the others are
	// teammates; one alone is both. Empty: the members play scripts, offline.
	Agents []configs.Preset
}

// The templates lie in this folder. They are what a newcomer reads first, so they
// say what each part is for, in the words of DESIGN 1, and promise nothing that
// this version does not do.

// Make makes a spec for dir that runs at once. Without Options.Agents it runs
// offline: its members play scripts, which are in files by their paths relative to
// dir. A team on agent programs needs no files, and starting it needs the programs'
// logins. Its gate is the test command that dir seems to have. It writes nothing. It
// fails if dir cannot be read, and for a preset that there is not.
func Make(dir string, opts Options) (spec []byte, files map[string][]byte, err error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("configs: %w", err)
	}
	if _, err := os.ReadDir(abs); err != nil {
		return nil, nil, fmt.Errorf("configs: %w; name a folder to write the spec for", err)
	}
	s := starter{Name: yamlText(configs.DefaultName(abs)), Scripts: freeFolder(abs)}
	s.Test, s.Found, s.Program = testCommand(abs)
	if len(opts.Agents) == 0 {
		return s.scripted()
	}
	if err := s.staff(opts.Agents); err != nil {
		return nil, nil, err
	}
	out, err := s.fill("agents.yaml")
	return out["agents.yaml"], map[string][]byte{}, err
}

// scripted is the starter whose members play scripts.
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

// staff gives the team its members. What the first teammates do is there to be
// changed; who comes after them is named after its program.
func (s *starter) staff(agents []configs.Preset) error {
	for _, agent := range agents {
		if !slices.Contains(configs.Presets(), agent) {
			return fmt.Errorf("configs: there is no preset %q; name one of %s", agent, presetNames())
		}
	}
	mates := agents[1:]
	if len(mates) == 0 {
		mates = agents
	}
	s.Lead = agents[0]
	for i, agent := range mates {
		mate := starterMate{Name: fmt.Sprintf("%s-%d", agent, i+1), Agent: agent, Does: "helps where there is work"}
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

// fill fills templates and returns them by their names, without the ending.
func (s *starter) fill(names ...string) (map[string][]byte, error) {
	templates, err := template.ParseFS(templateFiles, "*.tmpl")
	if err != nil {
		return nil, fmt.Errorf("configs: %w", err)
	}
	out := map[string][]byte{}
	for _, name := range names {
		var b strings.Builder
		if err := templates.ExecuteTemplate(&b, name+".tmpl", s); err != nil {
			return nil, fmt.Errorf("configs: %w", err)
		}
		out[name] = []byte(b.String())
	}
	return out, nil
}

// yamlText writes a name so that YAML reads it as text: 007 and true need quotes.
func yamlText(name string) string {
	if yaml.IsText(name) {
		return name
	}
	return fmt.Sprintf("%q", name)
}

// presetNames lists the presets for people.
func presetNames() string {
	var names []string
	for _, p := range configs.Presets() {
		names = append(names, string(p))
	}
	return strings.Join(names, ", ")
}

// freeFolder is where the scripts go: a folder in which they overwrite nothing.
func freeFolder(dir string) string {
	const usual = "scripts"
	for _, file := range []string{"lead.yaml", "worker.yaml"} {
		if _, err := os.Lstat(filepath.Join(dir, usual, file)); err == nil {
			return "covey-scripts"
		}
	}
	return usual
}
