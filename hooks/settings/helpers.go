package settings

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
)

// Helper is a kind of subagent that a workspace describes in .claude/agents. Members start
// one with the tool Agent.
type Helper struct {
	Name        string
	Description string   // when to use it
	Prompt      string   // its instructions
	Tools       []string // nil means all tools of its member
	Model       string   // empty means its member's
	MaxTurns    int      // maximum number of passes; 0 means the default
	File        string   // path of the agent file
}

// maxHelpers is the maximum number of files that are read, because all helpers are
// listed to models.
const maxHelpers = 200

// globEscape returns the pattern that matches path only.
func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// readHelper reads one agent file.
func readHelper(path string) (h Helper, ok bool) {
	data, fault := ReadPrompt(path)
	if fault != "" {
		return h, false
	}
	head, body := SplitHead(data)
	h = Helper{
		Name: strings.TrimSuffix(filepath.Base(path), ".md"), Prompt: strings.TrimSpace(body), File: path,
	}
	if head == "" {
		return h, false // a file that describes no agent, such as a README
	}
	root, ok := yaml.ParseHead(head)
	if !ok {
		return h, false
	}
	if name := root.TextOf("name"); name != "" {
		h.Name = name
	}
	h.Description, h.Model, h.Tools = root.TextOf("description"), root.TextOf("model"), HeadTools(root.Lookup("tools"))
	if h.Model == "inherit" {
		h.Model = ""
	}
	if n := root.Lookup("maxTurns"); n != nil && n.Kind == yaml.WholeKind && n.Whole > 0 {
		h.MaxTurns = int(n.Whole)
	}
	return h, true
}

// Helpers lists the kinds of helpers that a workspace describes, in the order of their
// files. Files that cannot be read are skipped, and of two with one name the first
// counts, because other programs are as lenient with such files.
func Helpers(workspace string) []Helper {
	// Glob skips folders that it cannot read, and fails for bad patterns only.
	files, _ := filepath.Glob(filepath.Join(globEscape(workspace), ".claude", "agents", "*.md"))
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
