package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
)

// hooks checks that what hooks and gates run is there and may be run. A hook
// that is not there fails open, which is the trouble that is noticed last.
func (x *examination) hooks(team *configs.Team) []finding {
	sources, problems := team.Sources()
	var findings []finding
	for _, p := range problems {
		findings = append(findings, warn("hooks", p.Error(), "correct the settings file; this entry is left out"))
	}
	count := 0
	for _, h := range listHooks(sources) {
		count++
		if trouble := hookTrouble(h.handler, team.Workspace); trouble != "" {
			findings = append(findings, fail("hooks", fmt.Sprintf("%s hook of %s: %s", h.event, h.source, trouble),
				hookWayOut(h.handler)))
		}
	}
	if len(findings) == 0 {
		return []finding{ok("hooks", "%d hooks and gates, all there", count)}
	}
	return findings
}

// hookWayOut says what follows if nothing is done. Gates and hooks differ in
// that, and it decides how urgent the matter is.
func hookWayOut(h hooks.Handler) string {
	if h.Gate {
		return "a gate that cannot run refuses: write the program's path, install it, or chmod +x it"
	}
	return "a hook that cannot run lets everything pass: write the program's path, install it, or chmod +x it"
}

// hookTrouble says why a hook cannot run; empty: nothing speaks against it.
// Only the first word of a command line is looked at, and only if it stands for
// itself. A false alarm would be worse than none: whoever wrote a working hook
// would stop believing the doctor.
func hookTrouble(h hooks.Handler, workspace string) string {
	if h.Type != "command" || h.Policy != "" {
		return ""
	}
	program := h.Command
	if h.Args == nil {
		program, _, _ = strings.Cut(strings.TrimSpace(h.Command), " ")
		if strings.ContainsAny(program, "$`'\"\\|&;<>(){}*?[]#~=%!\n\t") || isBuiltin(program) {
			return ""
		}
	}
	return programTrouble(program, workspace)
}

// isBuiltin tells whether a shell knows the word without a program.
func isBuiltin(word string) bool {
	return slices.Contains([]string{
		"", ".", ":", "alias", "break", "case", "cd", "command", "continue", "eval", "exec", "exit", "export", "for", "if",
		"read", "readonly", "return", "set", "shift", "times", "trap", "umask", "unset", "until", "while", "type", "ulimit", "wait",
	}, word)
}

// programTrouble says why a program cannot be run from a workspace. A name
// without a slash is looked for on covey's own PATH. Relative paths are seen
// from the workspace, where hooks run.
func programTrouble(program, workspace string) string {
	if !strings.Contains(program, "/") {
		if _, err := exec.LookPath(program); err != nil {
			return program + " is not on the PATH"
		}
		return ""
	}
	path := program
	if !filepath.IsAbs(path) {
		path = filepath.Join(workspace, path)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return program + " is not there"
	case info.IsDir():
		return program + " is a folder"
	case info.Mode()&0o111 == 0:
		return program + " is not executable"
	}
	return ""
}
