package configs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
)

// Helper is a kind of helper that a workspace describes in .claude/agents: what
// members can let work for them by the tool Agent.
type Helper struct {
	Name        string
	Description string   // when to use it
	Prompt      string   // its instructions
	Tools       []string // nil: all that its member has
	Model       string   // a name; empty: that of its member
	MaxTurns    int      // passes; 0: no limit of its own
	File        string   // where it stands
}

// maxHelpers bounds the files that are read: a model is told of all of them.
const maxHelpers = 200

// Helpers lists the kinds of helpers that the workspace describes now, by the
// names of their files. A file that cannot be read describes none, and of two
// with one name the first counts: such files are written for other programs,
// which are lenient.
func (t *Team) Helpers() []Helper {
	// Glob skips what it cannot look into, and fails for bad patterns only.
	files, _ := filepath.Glob(filepath.Join(globEscape(t.Workspace), ".claude", "agents", "*.md"))
	slices.Sort(files)
	var all []Helper
	for _, file := range files[:min(len(files), maxHelpers)] {
		h, ok := readHelper(file)
		if ok && !slices.ContainsFunc(all, func(other Helper) bool { return other.Name == h.Name }) {
			all = append(all, h)
		}
	}
	return all
}

// lendsHelpers reports whether some member can let helpers work: without one, the
// workspace's agent files are another program's matter.
func (t *Team) lendsHelpers() bool {
	return slices.ContainsFunc(t.Members(), func(m Member) bool {
		return !m.Agent.foreign() && (m.Tools == nil || slices.Contains(m.Tools, "Agent"))
	})
}

// globEscape is path as a pattern that only itself matches.
func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// readHelper reads one agent file.
func readHelper(path string) (h Helper, ok bool) {
	// A named pipe would make a member wait for ever.
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return h, false
	}
	data, fault := readPrompt(path)
	if fault != "" {
		return h, false
	}
	head, body := splitHead(data)
	h = Helper{
		Name: strings.TrimSuffix(filepath.Base(path), ".md"), Prompt: strings.TrimSpace(body), File: path,
	}
	if head == "" {
		return h, false // a text that describes no agent, such as a README
	}
	root, ok := yaml.ParseHead(head)
	if !ok {
		return h, false
	}
	if name := root.TextOf("name"); name != "" {
		h.Name = name
	}
	h.Description, h.Model, h.Tools = root.TextOf("description"), root.TextOf("model"), headTools(root.Lookup("tools"))
	if h.Model == "inherit" {
		h.Model = ""
	}
	if n := root.Lookup("maxTurns"); n != nil && n.Kind == yaml.Whole && n.Whole > 0 {
		h.MaxTurns = int(n.Whole)
	}
	return h, true
}
