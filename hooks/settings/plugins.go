package settings

import (
	"encoding/json"
	"strings"

	"github.com/coveyteam/covey/hooks/notation"
)

// pluginConfigs reads the options that the user has set for plugins, by plugin. The name of
// a plugin may be followed by an @ and its marketplace.
func (r *settingsReader) pluginConfigs(raw json.RawMessage) map[string]map[string]string {
	plugins, err := notation.Fields(raw)
	if err != nil {
		r.warn("pluginConfigs", "want an object of plugins, got %s", notation.Preview(string(raw), 40))
		return nil
	}
	out := map[string]map[string]string{}
	for _, p := range plugins {
		path := "pluginConfigs." + notation.Preview(p.Name, 60)
		var config struct {
			Options map[string]json.RawMessage `json:"options"`
		}
		if !r.into(path, p.Value, &config) {
			continue
		}
		name, _, _ := strings.Cut(p.Name, "@")
		if out[name] == nil {
			out[name] = map[string]string{}
		}
		for option, value := range config.Options {
			out[name][option] = OptionText(value)
		}
	}
	return out
}

// OptionText returns the value of a plugin's option as its hooks get it: a string as it is,
// any other value as JSON.
func OptionText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}
