package view

import (
	"strings"

	"github.com/coveyteam/covey/cmd/covey/term"
)

// DesktopNotice returns the sequence with which a terminal shows a notice on its desktop: OSC
// 777 where the environment names a terminal that knows it, else OSC 9, which most others know.
// A terminal that knows neither ignores it. getenv is os.Getenv.
//
// Inside tmux the sequence is wrapped, and tmux passes it on if its option allow-passthrough is
// on.
func DesktopNotice(getenv func(string) string, title, text string) string {
	const escape, bell = "\x1b", "\x07"
	// A semicolon ends the title, and 9;4 would set a progress bar.
	title = strings.ReplaceAll(term.PlainLine(title), ";", ",")
	sequence := escape + "]9;" + title + ": " + term.PlainLine(text) + bell
	name := getenv("TERM")
	if getenv("VTE_VERSION") != "" || strings.HasPrefix(name, "foot") || strings.HasPrefix(name, "rxvt") {
		sequence = escape + "]777;notify;" + title + ";" + term.PlainLine(text) + bell
	}
	if getenv("TMUX") != "" {
		return escape + "Ptmux;" + strings.ReplaceAll(sequence, escape, escape+escape) + escape + `\`
	}
	return sequence
}
