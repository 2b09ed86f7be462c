package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/workspace"
)

// SkillTool is the name of the tool that loads skills.
const SkillTool = "Skill"

// Limits of what a model is told of skills before it loads one. Every request carries it.
const (
	maxSkillLine = 250  // characters of one description
	maxSkillList = 8000 // characters of all names and descriptions
)

// Skill is a folder of instructions that a member can load.
type Skill struct {
	Name        string
	Description string
	File        string // absolute path of its SKILL.md
}

// skills are the skills of a member, its helpers included, and those that it has loaded.
// That list outlives the process, because the hooks in a loaded skill's head apply for the
// rest of the session, which may continue in another process.
type skills struct {
	known []Skill
	file  string // of the list

	mu     sync.Mutex
	loaded []string
}

// newSkills returns skills with those that an earlier process has loaded. A list that cannot
// be read counts as empty, as does a missing one.
func newSkills(env *Env) *skills {
	s := &skills{known: env.Skills, file: filepath.Join(env.OutputDir, "skills-loaded.json")}
	if data, err := os.ReadFile(s.file); err == nil {
		_ = json.Unmarshal(data, &s.loaded)
	}
	return s
}

// HasSkill reports whether the member has loaded a skill in this session.
func (t *Set) HasSkill(name string) bool {
	t.skills.mu.Lock()
	defer t.skills.mu.Unlock()
	return slices.Contains(t.skills.loaded, name)
}

// skillInput is the input of Skill.
type skillInput struct {
	Skill string `json:"skill"`
	Args  string `json:"args,omitempty"`
}

// skillOutput is Skill's tool_response.
type skillOutput struct {
	Success     bool   `json:"success"`
	CommandName string `json:"commandName"`
}

// skillTool returns the tool. It only reads, so it needs no permission: what the skill tells
// the model to do needs its own.
func (t *Set) skillTool() agent.Tool {
	spec := agent.Spec{Name: SkillTool, ReadOnly: true, Description: t.skills.describe()}
	about := map[string]string{
		"skill": "The name of the skill",
		"args":  "What the skill is to be applied to, if it says that it takes arguments",
	}
	return NewTyped(spec, about, nil, t.loadSkill)
}

// describe returns the description of the tool: what it does, and the skills, of which the
// last ones have only their names if the list becomes too long.
func (s *skills) describe() string {
	var text strings.Builder
	text.WriteString("Loads a skill: instructions for one kind of work, with files that belong to them. If one of these " +
		"fits what you are about to do, load it first and follow it:")
	for _, k := range s.known {
		line := "\n- " + k.Name
		if about := notation.Preview(strings.Join(strings.Fields(k.Description), " "), maxSkillLine); about != "" &&
			text.Len()+len(about) < maxSkillList {
			line += ": " + about
		}
		text.WriteString(line)
	}
	return text.String()
}

// loadSkill returns the text of a skill. The file is read anew, as instructions are, so a
// member gets what is there now.
func (t *Set) loadSkill(_ context.Context, in skillInput) agent.ToolResult {
	i := slices.IndexFunc(t.skills.known, func(k Skill) bool { return k.Name == in.Skill })
	if i < 0 {
		var names []string
		for _, k := range t.skills.known {
			names = append(names, k.Name)
		}
		return agent.Failed(fmt.Sprintf("Skill: there is no skill %.60q; there are %s", in.Skill, strings.Join(names, ", ")))
	}
	skill := t.skills.known[i]
	text, err := workspace.ReadBody(skill.File)
	if err != nil {
		return agent.Failed(fmt.Sprintf("Skill: %s cannot be loaded: %v", skill.Name, err))
	}
	if err := t.skills.note(&t.env, skill.Name); err != nil {
		return agent.Failed(fmt.Sprintf("Skill: %s cannot be loaded: %v", skill.Name, err))
	}
	dir := filepath.Dir(skill.File)
	text = strings.ReplaceAll(workspace.PromptCommand{Text: text}.Expand(in.Args), "${CLAUDE_SKILL_DIR}", dir)
	return Success(fmt.Sprintf("Base directory for this skill: %s\n\n%s", dir, text), skillOutput{true, skill.Name})
}

// note stores that a skill is loaded. If that fails the skill must not be used: after a
// restart its hooks, which may forbid something, would be missing.
func (s *skills) note(env *Env, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.loaded, name) {
		return nil
	}
	list := append(slices.Clone(s.loaded), name)
	if err := env.makeOutputDir(); err != nil {
		return err
	}
	if err := os.WriteFile(s.file, notation.Encode(list), 0o600); err != nil {
		return fmt.Errorf("note that it is loaded: %w", err)
	}
	s.loaded = list
	return nil
}
