package doctor

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/shell"
	"github.com/coveyteam/covey/hooks/texts"
)

// flaw is a problem of a hook, and what to do about it. The zero flaw is none.
type flaw struct {
	text, wayOut string
	mild         bool // a warning: it may work
}

// A shell line may do anything, so what a hook runs is certain only when it runs. So
// the line is parsed as the shell does it, and only commands that run unconditionally
// are checked, and of their words only those that no substitution can change.

// commandCheck checks a command hook before it runs.
type commandCheck struct {
	handler hooks.Handler
	source  settings.Source
	dir     string // where it runs
	project string
	// mayProvide names what may create a file that does not exist yet; nil: nothing
	// does.
	mayProvide func(path string) string
}

// newCommandCheck finds out where a hook runs.
func newCommandCheck(h runner.Configured, workspace string) commandCheck {
	s := commandCheck{handler: h.Handler, source: h.Source, dir: workspace, project: workspace}
	if h.Handler.Cwd != "" {
		if dir, ok := s.fill(h.Handler.Cwd); ok {
			s.dir = dir
			if !filepath.IsAbs(dir) {
				s.dir = filepath.Join(workspace, dir)
			}
		}
	}
	return s
}

// flaws returns the problems of what the hook runs. It checks only what is certain to
// run: a false alarm would be worse than none, because the author of a working hook
// would stop believing the doctor.
func (s commandCheck) flaws() []flaw {
	if s.handler.Args != nil {
		program, ok := s.fill(s.handler.Command)
		if !ok {
			return nil
		}
		var words []string
		for _, arg := range s.handler.Args {
			if arg, ok := s.fill(arg); ok {
				words = append(words, arg)
				continue
			}
			break
		}
		return s.program(append([]string{program}, words...))
	}
	switch s.handler.Shell {
	case "bash":
		if _, err := exec.LookPath("bash"); err != nil {
			return []flaw{{"there is no bash on the PATH", "install it, or leave shell out and write for /bin/sh", false}}
		}
	case "powershell":
		if _, err := exec.LookPath("pwsh"); err != nil {
			return []flaw{{"there is no pwsh on the PATH", "install PowerShell, or write the hook for /bin/sh", false}}
		}
		return nil // another language
	}
	line, err := shell.Read(s.handler.Command)
	if err != nil {
		return []flaw{{"the shell cannot read it: " + err.Error(), "correct the command line", false}}
	}
	if len(line.Functions) > 0 || slices.ContainsFunc(line.Sets, func(s shell.Set) bool { return s.Name == "PATH" }) {
		return nil // it brings programs of its own
	}
	var found []flaw
	for _, c := range line.Sure() {
		if len(c.Words) == 0 {
			continue // an assignment
		}
		words := s.words(c)
		if len(words) == 0 {
			break // it may end the line
		}
		found = append(found, s.program(words)...)
	}
	return found
}

// words returns the words of a command, as far as they are known before it runs.
func (s commandCheck) words(c shell.Command) []string {
	var words []string
	for _, word := range c.Words {
		texts := word.Expand(shell.Env{Values: func(name string) []string {
			if value, ok := s.variable(name); ok {
				return []string{value}
			}
			return nil
		}})
		if len(texts) != 1 || strings.ContainsAny(texts[0], string(shell.Unknown)+"*?[{~") && texts[0] != "[" {
			return words
		}
		words = append(words, texts[0])
	}
	return words
}

// variable returns the value of a variable that hooks have and that is known now.
func (s commandCheck) variable(name string) (string, bool) {
	switch name {
	case "CLAUDE_PROJECT_DIR", settings.ProjectVariable(s.handler.Dialect.Program):
		return s.project, true
	case "CLAUDE_PLUGIN_ROOT":
		return s.source.Root, s.source.Root != ""
	case "HOME":
		home, err := os.UserHomeDir()
		return home, err == nil
	}
	return "", false
}

// fill replaces known variables in a text without a shell. ok is false if it has
// others.
func (s commandCheck) fill(text string) (filled string, ok bool) {
	ok = true
	filled = os.Expand(text, func(name string) string {
		value, known := s.variable(name)
		ok = ok && known
		return value
	})
	return filled, ok
}

// program checks a program with its arguments.
func (s commandCheck) program(words []string) []flaw {
	program := words[0]
	if s.handler.Args == nil && shell.IsBuiltin(program) {
		return nil
	}
	path, bad := s.find(program)
	if bad.text != "" {
		return []flaw{bad}
	}
	if script, ok := s.scriptOf(words); ok {
		if _, err := texts.ReadStart(script, 4096); err != nil {
			if by := s.provider(script); by != "" {
				return []flaw{{fmt.Sprintf("%s is to run %s, which is not there yet", program, script),
					"see that " + by + " creates it", true}}
			}
			return []flaw{{fmt.Sprintf("%s is to run %s, which is not there", program, script),
				"write the script's path", false}}
		}
		return scriptFlaws(script, true, false)
	}
	if strings.Contains(program, "/") {
		return scriptFlaws(path, false, s.handler.Args != nil)
	}
	return nil
}

// find looks for a program as a hook would. Relative paths are relative to the folder
// in which the hook runs.
//
// A missing file that something may still create is only a warning.
func (s commandCheck) find(program string) (path string, bad flaw) {
	wayOut := "write the program's path, install it, or chmod +x it"
	if !strings.Contains(program, "/") {
		path, err := exec.LookPath(program)
		if err != nil {
			return "", flaw{program + " is not on the PATH", wayOut, false}
		}
		return path, flaw{}
	}
	path = program
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.dir, path)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil && s.provider(path) != "":
		return path, flaw{program + " is not there yet", "see that " + s.provider(path) + " creates it", true}
	case err != nil:
		return path, flaw{program + " is not there", wayOut, false}
	case info.IsDir():
		return path, flaw{program + " is a folder", wayOut, false}
	case info.Mode()&0o111 == 0:
		return path, flaw{program + " is not executable", "chmod +x " + path, false}
	}
	return path, flaw{}
}

// provider names what may create a file that does not exist yet; empty: nothing does.
func (s commandCheck) provider(path string) string {
	if s.mayProvide == nil {
		return ""
	}
	return s.mayProvide(path)
}

// scriptOf returns the script that an interpreter runs, if that is certain.
func (s commandCheck) scriptOf(words []string) (script string, ok bool) {
	loads := shell.Args(words).Commands[0].Loads()
	if len(loads) == 0 || loads[0] != (shell.Load{Word: 1, Kind: shell.Script}) {
		return "", false
	}
	script = words[1]
	if !filepath.IsAbs(script) {
		script = filepath.Join(s.dir, script)
	}
	return script, true
}

// scriptFlaws returns the problems of a script's text. given says that an interpreter
// gets it as an argument, so that its first line does not count; strict, that no
// shell runs a script without one.
func scriptFlaws(path string, given, strict bool) []flaw {
	head, err := texts.ReadStart(path, 4096)
	if err != nil || len(head) == 0 || bytes.IndexByte(head, 0) >= 0 {
		return nil // a binary, or not readable
	}
	first, _, _ := bytes.Cut(head, []byte("\n"))
	crlf := bytes.HasSuffix(first, []byte("\r"))
	interpreter, hasBang := strings.CutPrefix(strings.TrimSpace(string(first)), "#!")
	switch {
	// The kernel takes the carriage return as a part of the interpreter's name, and
	// the shell takes it as a part of each command.
	// Python accepts any line ends, except on the line that names the interpreter.
	case crlf && (interpreter != "" || filepath.Ext(path) != ".py"):
		return []flaw{{path + " has the line ends of Windows (CRLF)", "sed -i 's/\\r$//' " + path, false}}
	case given:
		return nil
	case !hasBang && strict:
		return []flaw{{path + " has no first line like #!/bin/sh, so it cannot be run without a shell",
			"write #!/bin/sh, or whatever runs it, as its first line", false}}
	case !hasBang:
		return []flaw{{path + " has no first line like #!/bin/sh: /bin/sh runs it, whatever it is written in",
			"write #!/bin/sh, or whatever runs it, as its first line", true}}
	}
	return interpreterFlaws(path, strings.Fields(interpreter))
}

// interpreterFlaws returns the problems of the interpreter that a script names.
func interpreterFlaws(path string, words []string) []flaw {
	if len(words) == 0 {
		return []flaw{{path + " names no interpreter after #!", "write #!/bin/sh, or whatever runs it", false}}
	}
	name := words[0]
	if filepath.Base(name) == "env" {
		rest := slices.DeleteFunc(slices.Clone(words[1:]), func(w string) bool {
			return strings.HasPrefix(w, "-") || strings.Contains(w, "=")
		})
		if len(rest) == 0 {
			return nil
		}
		name = rest[0]
	}
	if _, err := exec.LookPath(name); err != nil {
		return []flaw{{fmt.Sprintf("%s needs %s, which is not installed", path, name),
			"install it, or name another interpreter in the script's first line", false}}
	}
	return nil
}
