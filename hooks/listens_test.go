package hooks

import "testing"

// TestListens asks groups for tools as an event would.
func TestListens(t *testing.T) {
	for _, tc := range []struct {
		event         Event
		matcher, tool string
		want          bool
	}{
		{PreToolUse, "", "Bash", true},
		{PreToolUse, "*", "Bash", true},
		{PreToolUse, "Bash", "Bash", true},
		{PreToolUse, "Bash", "BashOutput", false},
		{PreToolUse, "Edit|Write", "Write", true},
		{PreToolUse, "Edit|Write", "Read", false},
		{PreToolUse, "mcp__.*", "mcp__github__push", true},
		{PermissionRequest, "^Web", "WebFetch", true},
		{PermissionRequest, "^Web", "Bash", false},
		{PreToolUse, "(", "Bash", true},
		{Stop, "Bash", "anything", true},
	} {
		if got := Listens(Group{Matcher: tc.matcher}, tc.event, tc.tool); got != tc.want {
			t.Errorf("%s with matcher %q listens to %s: %v, want %v", tc.event, tc.matcher, tc.tool, got, tc.want)
		}
	}
}
