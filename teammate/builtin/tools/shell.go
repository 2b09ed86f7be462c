package tools

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxInline is the length of the longest command that is handed to the shell
// as an argument, in bytes; Linux takes 128 KiB at most.
const maxInline = 64 << 10

// The parts of a script stand on one line, so that the shell counts a command's
// lines from 1, and has read what follows the command before the command can
// upset its parser by an open quote.
const (
	// reportCwd writes the shell's directory to a file.
	reportCwd = `__covey_cwd() { command pwd -P >|%[1]s; } 2>/dev/null; `
	// exitBash makes bash report however it ends: the EXIT trap does not run if
	// the command sets one of its own, so `exit` reports as well. Only `set -e`
	// together with such a trap goes unseen. Other shells cannot replace `exit`.
	exitBash = `exit() { ` +
		`{ local __covey_status=$?; set +x; } 2>/dev/null; ` +
		`[[ $BASHPID == "$$" ]] && __covey_cwd; ` +
		`builtin exit "${@:-$__covey_status}"; }; `
	// runCommand evaluates the command, so that messages of the shell name no
	// file that nobody has written. Traces of `set -x` show nothing of the rest.
	runCommand = `trap '{ set +x; } 2>/dev/null; __covey_cwd' EXIT; %[1]seval %[2]s; ` +
		`{ __covey_status=$?; set +x; } 2>/dev/null; __covey_cwd; command exit $__covey_status`
)

// script is a command made ready for the shell, with the files it needs.
type script struct {
	text  string
	file  string // holds a long command; empty: the command stands in text
	cwd   string // file that holds the shell's last directory
	shell string
}

// shell makes scripts of commands.
type shell struct {
	path    string // of bash, or of sh where there is no bash
	folder  string // for the files of scripts
	envFile string // Env.EnvFile
}

// newShell returns the shell of this system.
func newShell(env *Env) shell {
	s := shell{path: "/bin/bash", folder: env.OutputDir, envFile: env.EnvFile}
	if _, err := os.Stat(s.path); err != nil {
		s.path = "/bin/sh"
	}
	return s
}

// script makes command ready. Whoever calls it removes the files again.
func (sh shell) script(command string, follow bool) (*script, error) {
	// A command in the background moves nobody, so its directory is not asked
	// for; a short one then needs no files at all.
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
		body = `"$(cat ` + quote(s.file) + `)"`
	}
	env := ""
	if sh.envFile != "" {
		env = fmt.Sprintf("if [ -f %[1]s ]; then . %[1]s; fi; ", quote(sh.envFile))
	}
	if !follow {
		s.text = env + "eval " + body
		return s, nil
	}
	// One file serves all commands, since they come one at a time: making one
	// takes longer than running a small command. It is emptied first, so that an
	// earlier answer is not taken for this one's.
	s.cwd = filepath.Join(sh.folder, "cwd")
	if err := os.WriteFile(s.cwd, nil, 0o600); err != nil {
		s.remove()
		return nil, err
	}
	report := fmt.Sprintf(reportCwd, quote(s.cwd))
	if sh.isBash() {
		report += exitBash
	}
	s.text = report + fmt.Sprintf(runCommand, env, body)
	return s, nil
}

// args is the command line that runs the script.
func (s *script) args() []string { return []string{s.shell, "-c", s.text} }

// directory is where the shell was when it ended; empty: it did not say.
func (s *script) directory() string {
	data, err := os.ReadFile(s.cwd)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(data), "\n")
}

// remove removes the file of a long command. Removing twice is fine.
func (s *script) remove() {
	if s.file != "" {
		_ = os.Remove(s.file)
	}
}

// isBash reports whether the shell has bash's functions and quotes.
func (sh shell) isBash() bool { return strings.HasSuffix(sh.path, "bash") }

// literal is a command as one word. For bash it is a word on one line, so that
// the line numbers of its messages are those of the command.
func (sh shell) literal(command string) string {
	if !sh.isBash() {
		return quote(command)
	}
	return "$'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`).Replace(command) + "'"
}

// quote is s as one word of any shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// silent are the commands that print nothing when they do their work, so that
// no output is no news.
var silent = map[string]bool{
	"cd": true, "chgrp": true, "chmod": true, "chown": true, "cp": true, "export": true, "ln": true,
	"mkdir": true, "mv": true, "rm": true, "rmdir": true, "touch": true, "unset": true, "wait": true,
}

// expectsNoOutput reports whether every part of a command is silent. It looks at
// first words only; a command that it takes wrongly is shown like any other.
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
