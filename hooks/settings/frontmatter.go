package settings

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/notation"
)

// ReadFront reads the hooks in the head of a Markdown file: those of an agent
// (.claude/agents) or of a skill (SKILL.md). A file without hooks is valid.
// Restrictions and permissions are not read.
func ReadFront(path string, read ReadFile) (File, []error) {
	data, err := read(path)
	if err != nil {
		return broken(path, notation.Cause(err))
	}
	head, _ := SplitHead(unixText(data))
	if !strings.Contains(head, "hooks") {
		return File{Hooks: hooks.Settings{}}, nil
	}
	root, ok := yaml.ParseHead(head)
	if !ok {
		return broken(path, "its head is not YAML that covey reads, and may have hooks")
	}
	section := root.Lookup("hooks")
	if section == nil {
		return File{Hooks: hooks.Settings{}}, nil
	}
	raw, err := json.Marshal(map[string]any{"hooks": section.Plain()})
	if err != nil {
		return broken(path, fmt.Sprintf("hooks in its head: %v", err))
	}
	return parse(path, raw, false)
}

// broken returns a file that cannot be used, and why.
func broken(path, why string) (File, []error) {
	return File{Broken: true}, []error{&Flaw{File: path, Text: "the file cannot be used: " + why, Refused: true}}
}
