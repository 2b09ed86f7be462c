package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/coveyteam/covey/hooks/texts"
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
	Manual      bool   // only people may load it
}

// Skills are the skills of a member, its helpers included, and those that it has loaded.
// That list outlives the process, because the hooks in a loaded skill's head apply for the
// rest of the session, which may continue in another process. Loaded and Command may be called
// from any goroutine; nil has no skills.
type Skills struct {
	known   []Skill
	session string
	file    string // of the list

	mu     sync.Mutex
	loaded []string
}

// loadedSkill is one line of the file with what sessions have loaded. Lines are only added, each
// in one write, so that a kill loses none that was there.
type loadedSkill struct {
	Session string `json:"session"`
	Skill   string `json:"skill"`
}

// NewSkills returns the skills of a session, with those that an earlier process has loaded in
// it: file keeps them, and is made when it is needed. One that cannot be read counts as
// empty.
func NewSkills(known []Skill, session, file string) *Skills {
	s := &Skills{known: known, session: session, file: file}
	data, err := os.ReadFile(file)
	if err != nil {
		return s
	}
	for line := range strings.Lines(string(data)) {
		var l loadedSkill
		if json.Unmarshal([]byte(line), &l) == nil && l.Session == session { // else it is torn, or another session's
			s.loaded = append(s.loaded, l.Skill)
		}
	}
	return s
}

// Loaded reports whether the session has loaded a skill.
func (s *Skills) Loaded(name string) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.loaded, name)
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

// tool returns the tool. It only reads, so it needs no permission: what the skill tells
// the model to do needs its own.
func (s *Skills) tool() agent.Tool {
	spec := agent.Spec{Name: SkillTool, ReadOnly: true, Description: s.describe()}
	about := map[string]string{
		"skill": "The name of the skill",
		"args":  "What the skill is to be applied to, if it says that it takes arguments",
	}
	return NewTyped(spec, about, nil, s.load)
}

// describe returns the description of the tool: what it does, and the skills, of which the
// last ones have only their names if the list becomes too long.
func (s *Skills) describe() string {
	var text strings.Builder
	text.WriteString("Loads a skill: instructions for one kind of work, with files that belong to them. If one of these " +
		"fits what you are about to do, load it first and follow it:")
	for _, k := range s.offered() {
		line := "\n- " + k.Name
		if about := texts.Preview(strings.Join(strings.Fields(k.Description), " "), maxSkillLine); about != "" &&
			text.Len()+len(about) < maxSkillList {
			line += ": " + about
		}
		text.WriteString(line)
	}
	return text.String()
}

// load returns the text of a skill. The file is read anew, as instructions are, so a
// member gets what is there now.
func (s *Skills) load(_ context.Context, in skillInput) agent.ToolResult {
	var names []string
	for _, k := range s.offered() {
		names = append(names, k.Name)
	}
	if !slices.Contains(names, in.Skill) {
		return agent.Failed("Skill: there is no skill %.60q; there are %s", in.Skill, strings.Join(names, ", "))
	}
	c, err := s.Command(in.Skill)
	if err != nil {
		return agent.Failed("Skill: %s cannot be loaded: %v", in.Skill, err)
	}
	return Success(c.Expand(in.Args), skillOutput{true, in.Skill})
}

// offered returns the skills that a model may load.
func (s *Skills) offered() []Skill {
	return slices.DeleteFunc(slices.Clone(s.known), func(k Skill) bool { return k.Manual })
}

// ErrNoSkill is returned by Skills.Command for a name that no skill has.
var ErrNoSkill = errors.New("there is no such skill")

// Command loads a skill, as when a person types /NAME, and returns its text as a prompt for
// arguments. The skill counts as loaded from then on.
func (s *Skills) Command(name string) (c workspace.PromptCommand, err error) {
	if s == nil {
		return c, ErrNoSkill
	}
	i := slices.IndexFunc(s.known, func(k Skill) bool { return k.Name == name })
	if i < 0 {
		return c, ErrNoSkill
	}
	text, err := workspace.ReadBody(s.known[i].File)
	if err != nil {
		return c, fmt.Errorf("read the skill: %w", err)
	}
	if err := s.recordLoaded(name); err != nil {
		return c, err
	}
	dir := filepath.Dir(s.known[i].File)
	text = strings.ReplaceAll(text, "${CLAUDE_SKILL_DIR}", dir)
	return workspace.PromptCommand{Source: "projectSettings", Text: fmt.Sprintf("Base directory for this skill: %s\n\n%s", dir, text)}, nil
}

// recordLoaded stores that a skill is loaded. If that fails the skill must not be used: after a
// restart its hooks, which may forbid something, would be missing.
func (s *Skills) recordLoaded(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.loaded, name) {
		return nil
	}
	// A newline before it, too, ends a line that a full disk has torn.
	if err := appendLine(s.file, "\n"+string(texts.Encode(loadedSkill{s.session, name}))+"\n", true); err != nil {
		return fmt.Errorf("note that it is loaded: %w", err)
	}
	s.loaded = append(s.loaded, name)
	return nil
}

// appendLine adds text to a file in one write, and makes the file if there is none. If synced, it
// is on disk then.
func appendLine(file, text string, synced bool) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if synced {
		err = errors.Join(err, f.Sync())
	}
	return errors.Join(err, f.Close())
}
