package rules

// PatchTool is the tool with which Codex changes files.
const PatchTool = "apply_patch"

// formerNames returns other names under which matchers know a tool: its former name, and for
// tools that change files Codex's patch.
func formerNames(tool string) []string {
	switch tool {
	case "Agent":
		return []string{"Task"}
	case "Edit", "Write", "MultiEdit", "NotebookEdit":
		return []string{PatchTool}
	}
	return nil
}
