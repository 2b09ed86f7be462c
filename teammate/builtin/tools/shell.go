package tools

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/coveyteam/covey/hooks/shell"
	"github.com/coveyteam/covey/hooks/texts"
)

// maxInline is the length in bytes of the longest command that the shell gets as an
// argument; Linux allows 128 KiB.
const maxInline = 64 << 10

// The parts of a script are on one line, so that the shell counts a command's lines from
// 1, and has parsed what follows the command before an open quote in the command can
// affect it.
const (
	// reportCwd writes the shell's directory to a file.
	reportCwd = `__covey_cwd() { command pwd -P >|%[1]s; } 2>/dev/null; `
	// exitBash makes bash report the directory on every exit: the EXIT trap does not run
	// if the command sets its own, so `exit` reports as well. Only `set -e` together with
	// such a trap is missed. Other shells cannot replace `exit`.
	exitBash = `exit() { ` +
		`{ local __covey_status=$?; set +x; } 2>/dev/null; ` +
		`[[ $BASHPID == "$$" ]] && __covey_cwd; ` +
		`builtin exit "${@:-$__covey_status}"; }; `
	// runCommand evaluates the command, so that messages of the shell do not name a file
	// that the model has not written. Traces of `set -x` do not show the rest.
	runCommand = `trap '{ set +x; } 2>/dev/null; __covey_cwd' EXIT; %[1]seval %[2]s; ` +
		`{ __covey_status=$?; set +x; } 2>/dev/null; __covey_cwd; command exit $__covey_status`
)

// script is a command prepared for the shell, with its files.
type script struct {
	text  string
	file  string // holds a long command; empty if the command is in text
	cwd   string // file that gets the shell's last directory
	shell string
}

// scripter makes scripts from commands.
type scripter struct {
	path    string // of bash, or of sh if there is no bash
	folder  string // for the files of scripts
	envFile string // Env.EnvFile
}

// newShell returns the shell of this system.
func newShell(env *Env) scripter {
	s := scripter{path: "/bin/bash", folder: env.OutputDir, envFile: env.EnvFile}
	if _, err := os.Stat(s.path); err != nil {
		s.path = "/bin/sh"
	}
	return s
}

// script prepares command. The caller removes its files with remove.
func (sh scripter) script(command string, follow bool) (*script, error) {
	// A background command does not move the member, so its directory is not reported;
	// a short one then needs no files.
	s := &script{shell: sh.path}
	body := sh.literal(command)
	if len(command) > maxInline {
		f, err := os.CreateTemp(sh.folder, "command-*.sh")
		if err != nil {
			return nil, err
		}
		s.file = f.Name()
		_, err = f.WriteString(command)
		if err = errors.Join(err, f.Close()); err != nil {
			s.remove()
			return nil, err
		}
		body = `"$(cat ` + shell.Quote(s.file) + `)"`
	}
	env := ""
	if sh.envFile != "" {
		env = fmt.Sprintf("if [ -f %[1]s ]; then . %[1]s; fi; ", shell.Quote(sh.envFile))
	}
	if !follow {
		s.text = env + "eval " + body
		return s, nil
	}
	// All commands share one file, because they run one at a time and making a file takes
	// longer than a small command. It is emptied first, so that an earlier result is not
	// taken for this one.
	s.cwd = filepath.Join(sh.folder, "cwd")
	if err := os.WriteFile(s.cwd, nil, 0o600); err != nil {
		s.remove()
		return nil, err
	}
	report := fmt.Sprintf(reportCwd, shell.Quote(s.cwd))
	if sh.isBash() {
		report += exitBash
	}
	s.text = report + fmt.Sprintf(runCommand, env, body)
	return s, nil
}

// args returns the command line that runs the script.
func (s *script) args() []string { return []string{s.shell, "-c", s.text} }

// directory returns the shell's last directory, or "" if it was not reported.
func (s *script) directory() string {
	const longest = 4096 // of a path; the command may have left anything there
	data, err := texts.ReadStart(s.cwd, longest)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(data), "\n")
}

// remove removes the file of a long command. It may be called twice.
func (s *script) remove() {
	if s.file != "" {
		_ = os.Remove(s.file)
	}
}

// isBash reports whether the shell has the functions and quotes of bash.
func (sh scripter) isBash() bool { return strings.HasSuffix(sh.path, "bash") }

// literal returns a command as one word. For bash the word is on one line, so that line
// numbers in messages are those of the command.
func (sh scripter) literal(command string) string {
	if !sh.isBash() {
		return shell.Quote(command)
	}
	return "$'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`).Replace(command) + "'"
}

// silent lists commands that print nothing when they succeed.
var silent = map[string]bool{
	"cd": true, "chgrp": true, "chmod": true, "chown": true, "cp": true, "export": true, "ln": true,
	"mkdir": true, "mv": true, "rm": true, "rmdir": true, "touch": true, "unset": true, "wait": true,
}

// expectsNoOutput reports whether every part of a command is silent. It checks only the
// first words; a wrong result affects only how the output is displayed.
func expectsNoOutput(command string) bool {
	parts := strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(";&|\n", r) })
	for _, part := range parts {
		words := strings.Fields(part)
		if len(words) > 0 && !silent[words[0]] {
			return false
		}
	}
	return len(parts) > 0
}
