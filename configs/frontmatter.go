package configs

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/lexer"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

// readFront reads the hooks in the head of a Markdown file: those of an agent
// (.claude/agents) or of a skill (SKILL.md). A file without any is no mistake.
// Restrictions and permissions have no place there.
func readFront(path string, read ReadFile) (settings.File, []error) {
	data, err := read(path)
	if err != nil {
		return settings.File{Broken: true},
			[]error{fmt.Errorf("%s: %s; hooks in its head do not run", path, cause(err))}
	}
	text := strings.ReplaceAll(strings.TrimPrefix(string(data), "\ufeff"), "\r\n", "\n")
	head, _ := splitHead(text)
	if !strings.Contains(head, "hooks") {
		return settings.File{Hooks: hooks.Settings{}}, nil
	}
	root, ok := parseHead(head)
	if !ok {
		return settings.File{Broken: true},
			[]error{fmt.Errorf("%s: its head is not YAML that covey reads: hooks in it do not run", path)}
	}
	section := root.lookup("hooks")
	if section == nil {
		return settings.File{Hooks: hooks.Settings{}}, nil
	}
	raw, err := json.Marshal(map[string]any{"hooks": section.plain()})
	if err != nil {
		return settings.File{Broken: true}, []error{fmt.Errorf("%s: hooks in its head: %w", path, err)}
	}
	// The name must not end like a file of another form.
	return settings.Parse(path, raw)
}

// parseHead reads the YAML of a head; ok is false if it is no mapping.
func parseHead(head string) (root *node, ok bool) {
	src, _, message := newSource("", []byte(head))
	if message != "" {
		return nil, false
	}
	tokens := lexer.Tokenize(src.text)
	if len(guard(src, tokens)) > 0 {
		return nil, false
	}
	root, problems := parseYAML(src, tokens)
	if len(problems) > 0 || root == nil || root.kind != kindMapping {
		return nil, false
	}
	return root, true
}

// plain is the node as encoding/json knows values. Of two keys with one name the
// last counts, as in JSON.
func (n *node) plain() any {
	switch n.kind {
	case kindBool:
		return n.yes
	case kindWhole:
		return n.whole
	case kindNumber:
		return n.real
	case kindText:
		return n.text
	case kindList:
		items := make([]any, len(n.items))
		for i, item := range n.items {
			items[i] = item.plain()
		}
		return items
	case kindMapping:
		fields := make(map[string]any, len(n.pairs))
		for _, p := range n.pairs {
			fields[p.key.text] = p.value.plain()
		}
		return fields
	}
	return nil
}
