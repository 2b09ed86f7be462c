package settings

import (
	"testing"

	"github.com/coveyteam/covey/hooks"
)

// TestListens matches groups with tools as an event does.
func TestListens(t *testing.T) {
	for _, tc := range []struct {
		event         hooks.Event
		matcher, tool string
		want          bool
	}{
		{hooks.PreToolUse, "", "Bash", true},
		{hooks.PreToolUse, "*", "Bash", true},
		{hooks.PreToolUse, "Bash", "Bash", true},
		{hooks.PreToolUse, "Bash", "BashOutput", false},
		{hooks.PreToolUse, "Edit|Write", "Write", true},
		{hooks.PreToolUse, "Edit|Write", "Read", false},
		{hooks.PreToolUse, "mcp__.*", "mcp__github__push", true},
		{hooks.PermissionRequest, "^Web", "WebFetch", true},
		{hooks.PermissionRequest, "^Web", "Bash", false},
		{hooks.PreToolUse, "(", "Bash", true},
		{hooks.Stop, "Bash", "anything", true},
	} {
		if got := Listens(hooks.Group{Matcher: tc.matcher}, tc.event, tc.tool); got != tc.want {
			t.Errorf("%s with matcher %q listens to %s: %v, want %v", tc.event, tc.matcher, tc.tool, got, tc.want)
		}
	}
}
