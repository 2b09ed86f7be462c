package orchestrator

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
)

// TestUnreadablePermissions: a team does not start while nobody can tell what its
// settings were to forbid, and says which entry that is.
func TestUnreadablePermissions(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), t.TempDir()
	put(t, dir, "team.yaml", soloSpec+"settings: [settings.json]\n")
	put(t, dir, "lead.yaml", "steps: [{say: hello}]\n")
	load := func() *configs.Team { return mustLoad(t, filepath.Join(dir, "team.yaml")) }
	for text, want := range map[string]string{
		`{"permissions": {"deny": ["*"]}}`: "permissions.deny[0]", `{"permissions": {"ask": 7}}`: "permissions.ask", `{"permissions": []}`: "permissions",
	} {
		put(t, dir, "settings.json", text)
		if _, err := New(load(), Options{StateHome: home}); !errors.Is(err, configs.ErrSpec) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	put(t, dir, "settings.json", `{"permissions": {"deny": ["Bash(git push"]}}`)
	o, err := New(load(), Options{StateHome: home})
	if err != nil {
		t.Fatal(err)
	}
	if deny := o.hooks().Settings.Deny; len(deny) != 1 || deny[0] != "Bash" {
		t.Errorf("deny %q", deny)
	}
}
