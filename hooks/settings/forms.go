package settings

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
)

// The hook files of other agent programs differ a little from Claude Code's: VS Code and
// Copilot write a hook without a group around it, Copilot begins events with a small letter,
// all of them have commands for one operating system, and Codex also reads TOML. This file
// reads these forms and turns them into what a settings file would have said.

// bareHandler reports whether an entry of an event's list is a hook without a group around
// it. As in VS Code, it applies to everything then.
func bareHandler(fields []texts.Field) bool {
	bare := false
	for _, f := range fields {
		switch f.Name {
		case "hooks":
			return false
		case "type", "command", "url", "prompt", "windows", "linux", "osx", "bash", "powershell":
			bare = true
		}
	}
	return bare
}

// forms holds the fields of a hook that only other programs' files have.
type forms struct {
	windows, linux, osx, bash, powershell string
	timeoutSec                            float64
	failClosed                            bool
	ignored                               json.RawMessage // means nothing to covey
}

// field returns the address of the field of that JSON name in a program's files, or nil.
func (f *forms) field(p hooks.Program, name string) any {
	switch {
	case p == hooks.Cursor && name == "failClosed":
		return &f.failClosed
	// covey bounds how often a turn end is refused by itself.
	case p == hooks.Gemini && (name == "name" || name == "description"), p == hooks.Cursor && name == "loop_limit":
		return &f.ignored
	}
	switch name {
	case "windows", "commandWindows", "command_windows":
		return &f.windows
	case "linux":
		return &f.linux
	case "osx":
		return &f.osx
	case "bash":
		return &f.bash
	case "powershell":
		return &f.powershell
	case "timeoutSec":
		return &f.timeoutSec
	}
	return nil
}

// commandFor replaces the command by the one for an operating system, named as in Go, if
// there is one. A command for one system takes precedence over one for a shell.
func (f *forms) commandFor(system string, h *hooks.Handler) {
	own := map[string]string{"windows": f.windows, "linux": f.linux, "darwin": f.osx}[system]
	shell, command := "bash", f.bash
	if system == "windows" {
		shell, command = "powershell", f.powershell
	}
	switch {
	case own != "":
		h.Command = own
	case command != "":
		h.Command, h.Shell = command, shell
	}
	if h.Timeout == 0 {
		h.Timeout = f.timeoutSec
	}
}

// any reports whether the hook has a command for some system.
func (f *forms) any() bool { return f.windows+f.linux+f.osx+f.bash+f.powershell != "" }

// apply turns the hook into one for this system. It reports whether there is anything to
// run here.
func (f *forms) apply(r *settingsReader, path string, h *hooks.Handler, p hooks.Program) bool {
	f.commandFor(runtime.GOOS, h)
	if f.failClosed {
		h.OnFailure = "block"
	}
	if h.Type == "" && h.Command != "" && p != "" {
		h.Type = "command"
	}
	if strings.TrimSpace(h.Command) == "" && f.any() {
		r.warn(path, "the hook has no command for %s: it is left out", runtime.GOOS)
		return false
	}
	return true
}

// PickCommand returns the command of a hook on an operating system, named as in Go: the one
// for that system, or else the one for all.
func PickCommand(system, forAll, windows, linux, osx string) string {
	h := hooks.Handler{Command: forAll}
	(&forms{windows: windows, linux: linux, osx: osx}).commandFor(system, &h)
	return h.Command
}

// tomlHooks returns the tables `hooks` of a TOML file as JSON. It drops the other tables and
// Codex's own entries among the hooks.
func tomlHooks(data []byte) (raw []byte, err error) {
	defer func() {
		if cause := recover(); cause != nil { // a panic in the parser
			err = fmt.Errorf("the file cannot be read as TOML: %v", cause)
		}
	}()
	var file map[string]any
	if _, err := toml.Decode(string(data), &file); err != nil {
		return nil, err
	}
	given, there := file["hooks"]
	if !there {
		return []byte("{}"), nil
	}
	events, ok := given.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("hooks is not a table")
	}
	for _, name := range []string{"state", "managed_dir", "windows_managed_dir"} {
		delete(events, name)
	}
	return json.Marshal(map[string]any{"hooks": events})
}
