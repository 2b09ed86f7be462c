// Package cli is what all commands of covey share: streams and global flags, the
// selected team and spec, consent to run what a spec contains, usage errors and exit
// codes, completion. It makes no promise of compatibility to programs outside covey.
package cli

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/texts"
)

// Env holds what all commands share: the streams and the global flags. There is one
// per run of the program and no other shared state, so that tests can run the program
// many times in one process.
type Env struct {
	In  io.Reader
	Out *term.Screen
	Err *term.Screen

	Dir  string // -C: the folder for specs and teams; default: the current one
	Team string // --team: a team's name, instead of the team of Dir
	Spec string // --spec: the spec, instead of the one that Team or Dir selects

	Version string   // of this program
	Managed []string // folders of managed settings; no flag or variable changes them

	Crash *CrashWatch // of this process; nil in tests
}

// New returns the program on three streams. It checks once which of them are
// terminals, so that a command does not change its behaviour halfway.
func New(stdin io.Reader, stdout, stderr io.Writer, version string) *Env {
	return &Env{In: stdin, Out: term.NewScreen(stdout), Err: term.NewScreen(stderr), Version: version, Managed: settings.ManagedFolders()}
}

// Path returns p relative to the folder of -C. The process's own folder is not
// changed, because that would affect paths that were opened or named before.
func (e *Env) Path(p string) string {
	if e.Dir == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(e.Dir, p)
}

// Folder returns the absolute path of the folder of -C, or of the current one. It
// checks that the folder exists, because "team not found" would be misleading
// otherwise.
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

// Shown returns a path as it is shown: relative to the folder of -C if it is in it.
func (e *Env) Shown(path string) string {
	dir, _ := e.Folder() // without one, the whole path
	return Below(dir, path)
}

// Below returns a path relative to a folder if it is in it.
func Below(dir, path string) string {
	if below, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(below) {
		return below
	}
	return path
}

// SameFile reports whether two paths lead to one file or folder. A path that leads nowhere is none.
func SameFile(a, b string) bool {
	one, errA := os.Stat(a)
	two, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(one, two)
}

// NoArgs rejects arguments. A mistyped subcommand looks like an argument, so it
// suggests the nearest command.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !cmd.HasSubCommands() {
		return Usagef("%s takes no arguments, but got %q", cmd.CommandPath(), args[0])
	}
	hint := fmt.Sprintf("%s --help lists the commands", cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		name := cmp.Or(texts.Nearest(args[0], near, 2), near[0]) // near is in the order of the commands
		hint = fmt.Sprintf("did you mean %q?", cmd.CommandPath()+" "+name)
	}
	return Usagef("%s has no command %q; %s", cmd.CommandPath(), args[0], hint)
}

// ArgCount accepts between lo and hi arguments; names describes them. hi below zero
// means any number. An extra argument is mostly a text without quotes, so the error
// says that.
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

// JSONFlag adds --json, which every command that prints has.
func JSONFlag(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "json", false, "print JSON")
}

// Interactive reports whether the operator can be asked: standard input and standard
// error are terminals.
func (e *Env) Interactive() bool { return term.IsTerminal(e.In) && e.Err.TTY() }

// Ask prints a question on stderr and reads the answer, one line without surrounding
// blanks. End of input is an error.
func (e *Env) Ask(question string) (string, error) {
	e.Err.Printf("%s", question)
	answer, err := bufio.NewReader(e.In).ReadString('\n')
	return strings.TrimSpace(answer), err
}

// Agreed asks a question and reports whether the answer is clearly yes.
func (e *Env) Agreed(question string) bool {
	answer, err := e.Ask(question + " [y/N] ")
	return err == nil && isYes(answer)
}

// TextOf returns the text of the arguments, joined by blanks, or of stdin for "-".
// Invalid UTF-8 is replaced. An empty text is an error, with the text missing,
// because it would wake a member for nothing.
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

// Page returns the address of a page of docs/, such as errors.md#git, because who has only the
// program has no docs/. A release has the pages of its tag; other builds have those of main.
func Page(version, page string) string {
	tag := "main"
	if semver.IsValid(version) && !module.IsPseudoVersion(version) && semver.Build(version) == "" {
		tag = version
	}
	return "https://github.com/coveyteam/covey/blob/" + tag + "/docs/" + page
}

// Page returns the address of a page of docs/ for this program.
func (e *Env) Page(page string) string { return Page(e.Version, page) }
