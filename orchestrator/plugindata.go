package orchestrator

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coveyteam/covey/hooks"
)

// PluginData is where the plugin in a folder keeps what it wants to find again
// (CLAUDE_PLUGIN_DATA): below covey's state, because the plugin's own folder may be
// read-only and is trusted as it is. It belongs to that folder alone, whatever
// other plugins call themselves. PluginData makes nothing.
func PluginData(name, root string) (string, error) {
	home, err := StateHome()
	if err != nil {
		return "", fmt.Errorf("a place for what plugin %s keeps: %w", name, err)
	}
	real, err := realPath(root)
	if err != nil {
		return "", fmt.Errorf("plugin %s: %w", name, err)
	}
	sum := sha256.Sum256([]byte(real))
	return filepath.Join(home, "plugins", name+"-"+hex.EncodeToString(sum[:4])), nil
}

// PreparePlugins gives the layers of plugins the place for what they keep, and
// makes it. Their hooks may then run.
func PreparePlugins(sources []hooks.Source) error {
	if err := fillData(sources); err != nil {
		return err
	}
	return makeData(sources)
}

// fillData gives the layers of plugins the place for what they keep.
func fillData(sources []hooks.Source) error {
	for i := range sources {
		if sources[i].Root == "" {
			continue
		}
		data, err := PluginData(sources[i].Name, sources[i].Root)
		if err != nil {
			return err
		}
		sources[i].Data = data
	}
	return nil
}

// makeData makes the folders in which plugins keep things, private to this user.
func makeData(sources []hooks.Source) error {
	for _, s := range sources {
		if s.Data == "" {
			continue
		}
		if err := os.MkdirAll(s.Data, 0o700); err != nil {
			return fmt.Errorf("a place for what plugin %s keeps: %w", s.Name, err)
		}
	}
	return nil
}
