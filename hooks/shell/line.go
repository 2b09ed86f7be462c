// Package shell reads command lines of a shell without running anything: which simple
// commands are in a line, which others those start, what their words will be, and what
// only a shell can know. It is the only place in covey that parses such lines, and the
// only one that knows programs by how they treat their arguments: which start other
// programs, which run a file or code that they are given.
//
// Read never decides what a line may do: its readers do.
package shell

import (
	"errors"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// ErrUnreadable is why nothing is known of a command line.
var ErrUnreadable = errors.New("the command line cannot be read")

// Line is a command line that has been read.
type Line struct {
	Text     string
	Commands []Command // its simple commands, wherever they are, each before what it starts
	Folders  []Folder  // where they run; the first is that of the whole line
	Sets     []Set     // the variables that it sets, also those of loops
	Code     []string  // for interpreters of other languages: python -c '...'
	Reads    []Word    // files that redirects read
	Texts    []Word    // here-documents
	Values   []Word    // literal words, also those that variables get

	Functions []string // the functions that it defines

	Certain     bool   // a sequence of simple commands of plain words, and nothing else
	Doubt       string // the part that may contain a command that is not known; empty if none does
	Substitutes bool   // it contains $(), backticks or $VAR
	Nests       bool   // it is a compound command that contains $() or backticks
	Computes    bool   // it evaluates variables as arithmetic

	carries bool // it contains text that would run a command if it were evaluated
	started int  // the number of commands that others start
	file    *syntax.File
}

// Role is how a command comes into a line.
type Role uint8

// The roles of commands.
const (
	Written  Role = iota // it stands in the line itself
	Scripted             // it stands in a script that the line has as an argument: sh -c 'git push'
	Started              // another command starts it: sudo git push, find -exec git push ;
)

// Command is one simple command of a line.
type Command struct {
	Role   Role
	Words  []Word
	Source string // its words as written, separated by single blanks; for Started, of what starts it
	Folder int    // where it runs, by its index in Line.Folders
	Sets   []Set  // variables for it alone, also those that what starts it has

	// Guessed means that it is from an argument that may be a script or anything else.
	Guessed bool

	input string // what a here-document or here-string gives it to read
	given bool   // there is such an input
	call  *syntax.CallExpr
}

// Folder is where commands run after a cd.
type Folder struct {
	From int  // the folder before, by its index in Line.Folders
	To   Word // the argument of cd
}

// Set is a variable that gets a value.
type Set struct {
	Name  string
	Value Word
}

// Text returns the command as the shell will see it.
func (c Command) Text() string {
	values := make([]string, len(c.Words))
	for i, w := range c.Words {
		values[i] = w.Value
	}
	return strings.Join(values, " ")
}

// Program returns the name of the program that the command starts, without its folder;
// empty if it is not known.
func (c Command) Program() string {
	if len(c.Words) == 0 || !c.Words[0].Static {
		return ""
	}
	return path.Base(c.Words[0].Value)
}

// Of returns the commands of some roles, those of one role after another.
func (l *Line) Of(roles ...Role) []Command {
	var list []Command
	for _, role := range roles {
		for _, c := range l.Commands {
			if c.Role == role {
				list = append(list, c)
			}
		}
	}
	return list
}

// Literals returns the words of the command; those that are not literal are empty.
func (c Command) Literals() []string {
	words := make([]string, len(c.Words))
	for i, w := range c.Words {
		words[i] = w.Literal()
	}
	return words
}

// Resolve returns the folders of the line for one in which the whole line runs. join
// resolves the argument of a cd.
func (l *Line) Resolve(dir string, join func(dir string, to Word) string) []string {
	dirs := []string{dir}
	for _, f := range l.Folders[1:] {
		dirs = append(dirs, join(dirs[f.From], f.To))
	}
	return dirs
}

// Single returns the only command of a line that is one simple command and nothing else, without
// characters and quotes that shells read differently.
func (l *Line) Single() (c Command, ok bool) {
	if l.file == nil || len(l.file.Stmts) != 1 || len(l.file.Last) > 0 {
		return Command{}, false
	}
	stmt := l.file.Stmts[0]
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || len(call.Assigns) > 0 || !bare(stmt) ||
		strings.ContainsFunc(l.Text, isControl) || slices.ContainsFunc(call.Args, dollarQuoted) {
		return Command{}, false
	}
	return l.Commands[0], true
}

// ScriptOf returns the script of a command line of the form `bash -lc SCRIPT`.
func ScriptOf(args []string) (script string, ok bool) {
	if len(args) != 3 || args[1] != "-c" && args[1] != "-lc" ||
		!slices.Contains([]string{"sh", "bash", "zsh", "dash"}, path.Base(args[0])) {
		return "", false
	}
	return args[2], true
}
