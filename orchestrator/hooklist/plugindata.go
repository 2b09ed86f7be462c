package hooklist

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/state"
)

// pluginData is where the plugin in a folder keeps what it wants to find again
// (CLAUDE_PLUGIN_DATA): below covey's state, because the plugin's own folder may be
// read-only and is trusted as it is. It belongs to that folder alone, whatever
// other plugins call themselves. pluginData makes nothing.
func pluginData(home, name, root string) (string, error) {
	real, err := state.RealPath(root)
	if err != nil {
		return "", fmt.Errorf("plugin %s: %w", name, err)
	}
	sum := sha256.Sum256([]byte(real))
	return filepath.Join(home, "plugins", name+"-"+hex.EncodeToString(sum[:4])), nil
}

// PreparePlugins gives the layers of plugins the place for what they keep, below a
// state home (StateHome), and makes it, private to this user. Their hooks may then run.
func PreparePlugins(home string, sources []settings.Source) error {
	for i := range sources {
		s := &sources[i]
		if s.Root == "" {
			continue
		}
		data, err := pluginData(home, s.Name, s.Root)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(data, 0o700); err != nil {
			return fmt.Errorf("a place for what plugin %s keeps: %w", s.Name, err)
		}
		s.Data = data
	}
	return nil
}
