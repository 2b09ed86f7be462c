package orchestrator

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/testkit"
)

// TestUnreadablePermissions: a team does not start while nobody can tell what its
// settings were to forbid, and says which entry that is.
func TestUnreadablePermissions(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), t.TempDir()
	testkit.Put(t, dir, "team.yaml", testkit.SoloSpec+"settings: [settings.json]\n")
	testkit.Put(t, dir, "lead.yaml", "steps: [{say: hello}]\n")
	load := func() *configs.Team {
		team, err := configs.Load(filepath.Join(dir, "team.yaml"))
		testkit.Must(t, err)
		return team
	}
	for text, want := range map[string]string{
		`{"permissions": {"deny": ["*"]}}`: "permissions.deny[0]", `{"permissions": {"ask": 7}}`: "permissions.ask", `{"permissions": []}`: "permissions",
	} {
		testkit.Put(t, dir, "settings.json", text)
		if _, err := New(load(), Options{StateHome: home}); !errors.Is(err, configs.ErrSpec) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	testkit.Put(t, dir, "settings.json", `{"permissions": {"deny": ["Bash(git push"]}}`)
	o, err := New(load(), Options{StateHome: home})
	if err != nil {
		t.Fatal(err)
	}
	if deny := o.hooks().Settings.Deny; len(deny) != 1 || deny[0] != "Bash" {
		t.Errorf("deny %q", deny)
	}
}
