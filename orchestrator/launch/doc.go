// Package launch starts the agent programs of a team's members. It contains the
// presets, finds an agent's program on this machine, says which of covey's rules it can
// enforce with it, and runs it for a member. It is internal to covey: other programs
// must not rely on it.
//
// A preset is a function that describes a program (preset*.go), its entry in the list
// of presets (preset.go), and its name in configs.Presets.
package launch
