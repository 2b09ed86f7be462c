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

// Presets returns the names of the agents that need no entry under `agents`. A spec may use them for
// agents of its own.
func Presets() []string {
	return []string{string(Claude), string(Codex), string(Gemini), string(OpenCode), string(Copilot), string(Qwen)}
}

// ReportsCost reports whether the program says what its requests cost.
func (p Preset) ReportsCost() bool { return p == Claude || p == OpenCode }

// isPreset reports whether a name is that of a preset.
func isPreset(name string) bool { return slices.Contains(Presets(), name) }
