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
		return File{Broken: true},
			[]error{fmt.Errorf("%s: %s; hooks in its head do not run", path, notation.Cause(err))}
	}
	head, _ := SplitHead(unixText(data))
	if !strings.Contains(head, "hooks") {
		return File{Hooks: hooks.Settings{}}, nil
	}
	root, ok := yaml.ParseHead(head)
	if !ok {
		return File{Broken: true},
			[]error{fmt.Errorf("%s: its head is not YAML that covey reads: hooks in it do not run", path)}
	}
	section := root.Lookup("hooks")
	if section == nil {
		return File{Hooks: hooks.Settings{}}, nil
	}
	raw, err := json.Marshal(map[string]any{"hooks": section.Plain()})
	if err != nil {
		return File{Broken: true}, []error{fmt.Errorf("%s: hooks in its head: %w", path, err)}
	}
	return Parse(path, raw)
}
