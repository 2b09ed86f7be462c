package script

import (
	"encoding/json"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// patchTool is the tool with which Codex changes files. Its input is a text in
// Codex's patch format.
const patchTool = "apply_patch"

// asPatch converts a call of the builtin agent's Edit or Write to the input of
// patchTool. A patch consists of whole lines: if old_string is a part of a line,
// Codex reports that it was not found. Calls without a path are returned unchanged.
func asPatch(tool string, input json.RawMessage) json.RawMessage {
	var in struct {
		Path    string `json:"file_path"`
		Old     string `json:"old_string"`
		New     string `json:"new_string"`
		Content string `json:"content"`
	}
	if json.Unmarshal(input, &in) != nil || in.Path == "" {
		return input
	}
	var b strings.Builder
	b.WriteString("*** Begin Patch\n")
	if tool == "Write" {
		b.WriteString("*** Add File: " + in.Path + "\n") // replaces an existing file
		patchLines(&b, "+", in.Content)
	} else {
		b.WriteString("*** Update File: " + in.Path + "\n@@\n")
		patchLines(&b, "-", in.Old)
		patchLines(&b, "+", in.New)
	}
	b.WriteString("*** End Patch\n")
	return texts.Encode(map[string]string{"input": b.String()})
}

// patchLines writes each line of text with the prefix mark. It adds a missing line
// end.
func patchLines(b *strings.Builder, mark, text string) {
	for line := range strings.Lines(text) {
		b.WriteString(mark + strings.TrimSuffix(line, "\n") + "\n")
	}
}
