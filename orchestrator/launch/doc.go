// Package launch starts the programs that think for a team's members. It knows the
// presets, finds an agent's program on this machine, says how far covey's rules hold
// with it, and runs it for a member. It is covey's own and makes no promise to other
// programs.
//
// A preset is a function that describes the program (preset*.go), its place in the list
// of presets (preset.go), and its name in configs.Presets.
package launch
