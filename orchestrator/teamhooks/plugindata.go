package teamhooks

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/state"
)

// pluginData returns the data folder (CLAUDE_PLUGIN_DATA) of the plugin in a folder. It
// is in covey's state, because the plugin's folder may be read-only and is trusted as it
// is. It belongs to that folder, whatever names other plugins have. pluginData creates
// nothing.
func pluginData(home, name, root string) (string, error) {
	real, err := state.RealPath(root)
	if err != nil {
		return "", fmt.Errorf("plugin %s: %w", name, err)
	}
	return filepath.Join(home, "plugins", name+"-"+texts.Digest(real)[:8]), nil
}

// PreparePlugins sets and creates the data folders of plugins below a state home
// (StateHome), private to this user. Their hooks need it to run.
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
			return fmt.Errorf("data folder of plugin %s: %w", s.Name, err)
		}
		s.Data = data
	}
	return nil
}
