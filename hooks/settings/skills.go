package settings

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/texts"
)

// Skill is a folder of instructions for one kind of work, which a model loads when it does
// that work. Its file SKILL.md has a head and the instructions; other files of the folder
// are only there to be read or run.
type Skill struct {
	Name        string // PLUGIN:NAME if a plugin brings it
	Description string // when to use it
	File        string // path of its SKILL.md
	// Manual means that only people may use it (disable-model-invocation), as /NAME.
	Manual bool
}

// maxListed is the maximum number of skills or agents that are read from one folder, because all
// are listed to models.
const maxListed = 200

// below returns the files below a folder that match a pattern, in order.
func below(root string, pattern ...string) []string {
	escaped := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(root)
	// Glob skips folders that it cannot read, and fails for bad patterns only.
	files, _ := filepath.Glob(filepath.Join(append([]string{escaped}, pattern...)...))
	slices.Sort(files)
	return files[:min(len(files), maxListed)]
}

// Skills lists the skills of a workspace (.claude/skills) and of plugins, given by their
// folders, in that order. Of two with one name the first counts. A file that cannot be used is a warning and
// nothing else: other programs are as lenient, and work must not stop for it.
//
// A skill that lies elsewhere, behind a symbolic link, is left out, too: a workspace must
// not show models files that it does not contain.
func Skills(workspace string, plugins []string) (list []Skill, warnings []error) {
	add := func(root, folder, prefix string) {
		for _, file := range below(root, folder, "*", "SKILL.md") {
			s, err := readSkill(root, file)
			if err != nil {
				warnings = append(warnings, fmt.Errorf("the skill %s is left out: it %w", file, err))
				continue
			}
			s.Name = prefix + s.Name
			if !slices.ContainsFunc(list, func(other Skill) bool { return other.Name == s.Name }) {
				list = append(list, s)
			}
		}
	}
	add(workspace, filepath.Join(".claude", "skills"), "")
	for _, root := range plugins {
		p, _ := ReadPlugin(root, Read) // its own layer warns of its mistakes
		add(root, "skills", p.Name+":")
	}
	return list, warnings
}

// readSkill reads the head of one skill below root. The error completes "it …".
func readSkill(root, file string) (s Skill, err error) {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return s, fmt.Errorf("cannot be read: %s", texts.Cause(err))
	}
	home, err := filepath.EvalSymlinks(root)
	if err != nil {
		return s, fmt.Errorf("cannot be read: %s", texts.Cause(err))
	}
	if !texts.Within(home, real) {
		return s, fmt.Errorf("is a link to %s, which is outside %s", real, root)
	}
	data, fault := ReadPrompt(file)
	if fault != "" {
		return s, fmt.Errorf("%s", fault)
	}
	head, body := SplitHead(data)
	first, _, _ := strings.Cut(strings.TrimSpace(body), "\n")
	s = Skill{Name: filepath.Base(filepath.Dir(file)), Description: strings.TrimLeft(first, "# "), File: file}
	if head == "" {
		return s, nil
	}
	node, ok := yaml.ParseHead(head)
	if !ok {
		return s, fmt.Errorf("has a head that is not YAML; put texts with a colon in quotes")
	}
	if name := node.TextOf("name"); name != "" {
		s.Name = name
	}
	if text := node.TextOf("description"); text != "" {
		s.Description = text
	}
	manual := node.Lookup("disable-model-invocation")
	s.Manual = manual != nil && manual.Plain() == true
	return s, nil
}

// Helper is a kind of subagent that a workspace describes in .claude/agents, or a plugin in
// agents. Members start one with the tool Agent.
type Helper struct {
	Name        string   // PLUGIN:NAME if a plugin brings it
	Description string   // when to use it
	Prompt      string   // its instructions
	Tools       []string // nil means all tools of its member
	Model       string   // empty means its member's
	MaxTurns    int      // maximum number of passes; 0 means the default
	File        string   // path of the agent file
	Plugin      bool     // a plugin brings it
	Ignored     []string // if a plugin brings it: keys of its head without effect
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
	for _, key := range []string{"hooks", "mcpServers", "permissionMode", "permissions"} {
		if root.Lookup(key) != nil {
			h.Ignored = append(h.Ignored, key)
		}
	}
	return h, true
}

// Helpers lists the kinds of helpers that a workspace and plugins, given by their folders,
// describe, in the order of their files. Files that cannot be read are skipped, and of two with
// one name the first counts, because other programs are as lenient with such files.
func Helpers(workspace string, plugins []string) (all []Helper) {
	for _, file := range below(workspace, ".claude", "agents", "*.md") {
		if h, ok := readHelper(file); ok {
			all = append(all, h)
		}
	}
	for _, root := range plugins {
		p, _ := ReadPlugin(root, Read) // its own layer warns of its mistakes
		for _, file := range below(root, "agents", "*.md") {
			if h, ok := readHelper(file); ok {
				h.Name, h.Plugin = p.Name+":"+h.Name, true
				all = append(all, h)
			}
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(h Helper) bool {
		twice := seen[h.Name]
		seen[h.Name] = true
		return twice
	})
}
