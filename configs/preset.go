package configs

import (
	"slices"
)

// Preset names an agent program that covey knows how to start.
type Preset string

// The presets.
const (
	Claude   Preset = "claude"
	Codex    Preset = "codex"
	Gemini   Preset = "gemini"
	OpenCode Preset = "opencode"
	Copilot  Preset = "copilot"
	Qwen     Preset = "qwen"
)

// Presets returns the agents that need no entry under `agents`. A spec may use their names
// for agents of its own.
func Presets() []Preset { return []Preset{Claude, Codex, Gemini, OpenCode, Copilot, Qwen} }

// ReportsCost reports whether the program says what its requests cost.
func (p Preset) ReportsCost() bool { return p == Claude || p == OpenCode }

// presetNames returns the presets as words of the spec.
func presetNames() []string {
	names := make([]string, 0, len(Presets()))
	for _, p := range Presets() {
		names = append(names, string(p))
	}
	return names
}

// isPreset reports whether a name is that of a preset.
func isPreset(name string) bool { return slices.Contains(Presets(), Preset(name)) }
