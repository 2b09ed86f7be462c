// Package cli is what all commands of covey share: streams and global flags, the team and
// the spec that are meant, consent to run what a spec brings, errors of usage and exit
// codes, completion. It makes no promise of compatibility to programs outside of covey.
package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs/hookfiles"
)

// Env holds what all commands share: the streams and the global flags. There is
// one per run of the program and nothing else is shared, so that tests can run
// the program many times in one process.
type Env struct {
	In  io.Reader
	Out *term.Screen
	Err *term.Screen

	Dir  string // -C: where to look for specs and teams; default the current folder
	Team string // --team: a team's name, instead of the one that belongs to dir

	Version string   // of this program
	Managed []string // folders of managed settings; no flag and no variable changes them
}

// New returns the program on three streams. Which of them are terminals is
// found out here, once: a command must not change its ways in the middle
// because a stream was redirected meanwhile.
func New(stdin io.Reader, stdout, stderr io.Writer, version string) *Env {
	return &Env{In: stdin, Out: term.NewScreen(stdout), Err: term.NewScreen(stderr), Version: version, Managed: hookfiles.ManagedFolders()}
}

// Path is p as seen from the folder that -C names. Nothing here changes the
// process's own folder: that would also move what was opened or named by a path
// before.
func (e *Env) Path(p string) string {
	if e.Dir == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(e.Dir, p)
}

// Folder is the folder that -C names, or the current one, and there. It is
// checked before anything is looked up in it, because a team that is "not
// found" from a folder that does not exist would send people the wrong way.
func (e *Env) Folder() (string, error) {
	dir, err := filepath.Abs(e.Path("."))
	if err != nil {
		return "", err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return "", Usagef("-C %s: there is no such folder", e.Dir)
	}
	if !info.IsDir() {
		return "", Usagef("-C %s is not a folder", e.Dir)
	}
	return dir, nil
}

// NoArgs refuses arguments, and names the nearest command where one was meant.
// A mistyped command looks like an argument of the command above it, so this is
// where most typing mistakes end up.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !cmd.HasSubCommands() {
		return Usagef("%s takes no arguments, but got %q", cmd.CommandPath(), args[0])
	}
	hint := fmt.Sprintf("%s --help lists the commands", cmd.CommandPath())
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf("did you mean %q?", cmd.CommandPath()+" "+near[0])
	}
	return Usagef("%s has no command %q; %s", cmd.CommandPath(), args[0], hint)
}

// ArgCount wants between lo and hi arguments; names says what they are. hi
// below zero means any number. One argument too many is mostly a text that was
// not put in quotes, so that is what the error says.
func ArgCount(lo, hi int, names string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < lo:
			return Usagef("%s needs %s; see %q", cmd.CommandPath(), names, cmd.CommandPath()+" --help")
		case hi >= 0 && len(args) > hi:
			return Usagef("%s takes %s, but got %q, too; put text of several words in quotes",
				cmd.CommandPath(), names, args[hi])
		}
		return nil
	}
}

// JSONFlag adds --json. Every command that prints has it, with the same words,
// so that scripts need not look it up.
func JSONFlag(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "json", false, "print JSON")
}

// Interactive reports whether a person can be asked: a terminal gives the answer, and
// another one, or the same, shows the question.
func (e *Env) Interactive() bool { return term.IsTerminal(e.In) && e.Err.TTY() }

// Ask shows a question on stderr and reads the answer, one line without blanks around
// it. An answer that does not come is an error.
func (e *Env) Ask(question string) (string, error) {
	e.Err.Printf("%s", question)
	answer, err := bufio.NewReader(e.In).ReadString('\n')
	return strings.TrimSpace(answer), err
}

// Agreed asks a question that only a clear Yes agrees to: an empty answer and a typing
// mistake are a No.
func (e *Env) Agreed(question string) bool {
	answer, err := e.Ask(question + " [y/N] ")
	return err == nil && isYes(answer)
}

// TextOf is the text that arguments give: their words, or what stdin has.
// Several words need no quotes; what is not UTF-8 is repaired here, where the
// person who sent it can still see it. An empty text is refused: it would wake
// a member for nothing. missing is what the caller reads then.
func (e *Env) TextOf(args []string, missing string) (string, error) {
	text := strings.Join(args, " ")
	if text == "-" {
		data, err := io.ReadAll(e.In)
		if err != nil {
			return "", err
		}
		text = string(data)
	}
	if strings.TrimSpace(text) == "" {
		return "", Usagef("%s", missing)
	}
	return strings.ToValidUTF8(text, "\ufffd"), nil
}
