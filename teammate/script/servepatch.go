package script

import (
	"encoding/json"
	"strings"

	"github.com/coveyteam/covey/hooks/notation"
)

// patchTool is the tool that Codex changes files with. It takes a text: patches
// of a form of its own.
const patchTool = "apply_patch"

// asPatch is a call of the builtin agent's Edit or Write as a patch, in the
// form that offers of patchTool take. It knows whole lines only: an old_string
// that is a part of a line is found by no Codex, which then says so. Calls that
// hold no path stay as they are.
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
		b.WriteString("*** Add File: " + in.Path + "\n") // it takes the place of a file that is there
		patchLines(&b, "+", in.Content)
	} else {
		b.WriteString("*** Update File: " + in.Path + "\n@@\n")
		patchLines(&b, "-", in.Old)
		patchLines(&b, "+", in.New)
	}
	b.WriteString("*** End Patch\n")
	return notation.Encode(map[string]string{"input": b.String()})
}

// patchLines writes each line of text behind mark. Text without a line end at
// its end has its last line all the same.
func patchLines(b *strings.Builder, mark, text string) {
	for line := range strings.Lines(text) {
		b.WriteString(mark + strings.TrimSuffix(line, "\n") + "\n")
	}
}
