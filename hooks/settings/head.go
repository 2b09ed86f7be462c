package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
)

// maxPrompt is the size of the largest prompt file, in bytes: more than any
// model takes as instructions.
const maxPrompt = 1 << 20

// ReadPrompt reads a prompt file. The message completes "the prompt file …"; it is
// empty if the file can be used.
func ReadPrompt(path string) (data, message string) {
	raw, err := texts.ReadFile(path, maxPrompt)
	switch {
	case errors.Is(err, texts.ErrTooLarge):
		return "", "is larger than 1 MiB; shorten it"
	case err != nil:
		return "", "cannot be read (" + texts.Cause(err) + "); correct the path"
	case !utf8.Valid(raw) || bytes.IndexByte(raw, 0) >= 0:
		return "", "is not UTF-8 text; save it as UTF-8"
	}
	return unixText(raw), ""
}

// unixText returns text without a byte order mark, with lines that end in "\n".
func unixText(raw []byte) string {
	return strings.ReplaceAll(strings.TrimPrefix(string(raw), "\ufeff"), "\r\n", "\n")
}

// SplitHead splits a Markdown file into its head, which is the YAML between two lines
// of three dashes at its top, and the rest.
func SplitHead(data string) (head, body string) {
	rest, found := strings.CutPrefix(data, "---\n")
	if !found {
		return "", data
	}
	if strings.HasPrefix(rest, "---\n") {
		return "", rest[len("---\n"):]
	}
	head, body, found = strings.Cut(rest, "\n---\n")
	if !found {
		if head, found = strings.CutSuffix(rest, "\n---"); !found {
			return "", data
		}
	}
	return head, body
}

// HeadTools reads a list of tools: a text such as `Read, Edit`, or a YAML list. It
// returns nil for all tools: a star, or an empty text.
func HeadTools(n *yaml.Node) []string {
	var tools []string
	switch {
	case n == nil:
	case n.Kind == yaml.TextKind:
		for name := range strings.SplitSeq(n.Text, ",") {
			tools = append(tools, strings.TrimSpace(name))
		}
	case n.Kind == yaml.ListKind:
		for _, item := range n.Items {
			tools = append(tools, strings.TrimSpace(item.Text))
		}
	}
	if len(tools) == 1 && (tools[0] == "*" || tools[0] == "") {
		return nil
	}
	return tools
}

// ReadFront reads the hooks in the head of a Markdown file: those of an agent
// (.claude/agents) or of a skill (SKILL.md). A file without hooks is valid.
// Restrictions and permissions are not read.
func ReadFront(path string, read ReadFile) (File, []error) {
	data, err := read(path)
	if err != nil {
		return broken(path, texts.Cause(err))
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
