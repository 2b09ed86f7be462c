package settings

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/notation"
)

// Skill is a folder of instructions for one kind of work, which a model loads when it does
// that work. Its file SKILL.md has a head and the instructions; other files of the folder
// are only there to be read or run.
type Skill struct {
	Name        string // PLUGIN:NAME if a plugin brings it
	Description string // when to use it
	File        string // path of its SKILL.md
	// Manual says that only people may use it (disable-model-invocation), as /NAME.
	Manual bool
}

// maxSkills is the maximum number of skills that are read from one folder, because all are
// listed to models.
const maxSkills = 200

// Skills lists the skills of a workspace (.claude/skills) and of plugins, given by their
// folders, in that order. Of two with one name the first counts. A file that cannot be used is a warning and
// nothing else: other programs are as lenient, and work must not stop for it.
//
// A skill that lies elsewhere, behind a symbolic link, is left out, too: a workspace must
// not show models files that it does not contain.
func Skills(workspace string, plugins []string) (list []Skill, warnings []error) {
	add := func(root, folder, prefix string) {
		// Glob skips folders that it cannot read, and fails for bad patterns only.
		files, _ := filepath.Glob(filepath.Join(globEscape(filepath.Join(root, folder)), "*", "SKILL.md"))
		slices.Sort(files)
		for _, file := range files[:min(len(files), maxSkills)] {
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
		return s, fmt.Errorf("cannot be read: %s", notation.Cause(err))
	}
	home, err := filepath.EvalSymlinks(root)
	if err != nil {
		return s, fmt.Errorf("cannot be read: %s", notation.Cause(err))
	}
	if rel, err := filepath.Rel(home, real); err != nil || !filepath.IsLocal(rel) {
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
