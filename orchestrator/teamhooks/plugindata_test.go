package teamhooks

import (
	"os"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/settings"
)

// TestPluginData: a plugin's data belongs to its folder, whatever names others have, and
// is private to this user.
func TestPluginData(t *testing.T) {
	home, one, two := t.TempDir(), t.TempDir(), t.TempDir()
	sources := []settings.Source{{Name: "p", Root: one}, {Name: "p", Root: two}, {Name: "settings.json"}}
	if err := PreparePlugins(home, sources); err != nil {
		t.Fatal(err)
	}
	if sources[0].Data == sources[1].Data || sources[2].Data != "" {
		t.Errorf("%+v", sources)
	}
	for _, s := range sources[:2] {
		info, err := os.Stat(s.Data)
		if err != nil || info.Mode().Perm() != 0o700 || !strings.HasPrefix(s.Data, home) {
			t.Errorf("%s: %v, %v", s.Data, info, err)
		}
	}
}
