package configs

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed starter/*.tmpl
var starterFiles embed.FS

// starter is what the templates of `covey init` are filled with.
type starter struct {
	Name    string // the team's, in quotes if YAML needs them
	Scripts string // folder of the scripts, relative to the spec
	Test    string // the test command; empty: none found
	Found   string // what gave it away
	Program string // set if the test command's program is not installed
}

// The templates lie in starter/. They are what a newcomer reads first, so they
// say what each part is for, in the words of DESIGN 1, and promise nothing that
// this version does not do.

// Starter makes a spec for dir that runs at once and offline: its members play
// scripts, which are in files by their paths relative to dir, and its gate is
// the test command that dir seems to have. It writes nothing. It fails if dir
// cannot be read.
func Starter(dir string) (spec []byte, files map[string][]byte, err error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("configs: %w", err)
	}
	if _, err := os.ReadDir(abs); err != nil {
		return nil, nil, fmt.Errorf("configs: %w; name a folder to write the spec for", err)
	}
	s := starter{Name: yamlText(defaultName(abs)), Scripts: freeFolder(abs)}
	s.Test, s.Found, s.Program = testCommand(abs)
	templates, err := template.ParseFS(starterFiles, "starter/*.tmpl")
	if err != nil {
		return nil, nil, fmt.Errorf("configs: %w", err)
	}
	out := map[string][]byte{"team.yaml": nil, "lead.yaml": nil, "worker.yaml": nil}
	for name := range out {
		var b strings.Builder
		if err := templates.ExecuteTemplate(&b, name+".tmpl", s); err != nil {
			return nil, nil, fmt.Errorf("configs: %w", err)
		}
		out[name] = []byte(b.String())
	}
	return out["team.yaml"], map[string][]byte{
		filepath.Join(s.Scripts, "lead.yaml"):   out["lead.yaml"],
		filepath.Join(s.Scripts, "worker.yaml"): out["worker.yaml"],
	}, nil
}

// yamlText writes a name so that YAML reads it as text: 007 and true need quotes.
func yamlText(name string) string {
	if d := newDecoder("", []byte(name)); d.root != nil && d.root.kind == kindText {
		return name
	}
	return fmt.Sprintf("%q", name)
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
