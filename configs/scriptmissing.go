package configs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/shell"
	"github.com/coveyteam/covey/hooks/texts"
)

// MissingProgram is a program of a shell line that cannot run.
type MissingProgram struct {
	Word   string // as in the line, without quotes
	Path   string // where it should be; empty if it is looked up in PATH
	Fault  string // "is not there"
	WayOut string
}

// Lacks returns the programs of a line that /bin/sh could not run in the workspace.
// It returns only programs without which the line is sure to fail, and runs nothing
// to find out.
func (p ScriptPlace) Lacks(line string) []MissingProgram {
	read, err := shell.Read(line)
	if err != nil {
		return nil
	}
	found := programs{
		reader: p.newReader(read, p.Workspace),
		path:   filepath.SplitList(os.Getenv("PATH")), known: map[string]bool{},
	}
	found.prepare()
	for _, c := range read.Sure() {
		found.command(c)
	}
	return found.found
}

// programs finds the missing programs of one line.
type programs struct {
	*reader
	path  []string        // folders; empty if the value of PATH is not known
	known map[string]bool // functions of the line, and programs that it checks for itself
	found []MissingProgram
}

// prepare collects what applies to the whole line.
func (p *programs) prepare() {
	for _, name := range p.line.Functions {
		p.known[name] = true
	}
	for _, c := range p.line.Of(shell.Written) {
		words := c.Literals()
		if len(words) > 1 && slices.Contains([]string{"command", "type", "hash", "which"}, words[0]) {
			for _, word := range words[1:] {
				p.known[word] = p.known[word] || words[0] != "command" || slices.Contains(words, "-v")
			}
		}
		if slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "PATH=") }) {
			p.path = nil
		}
	}
	if slices.ContainsFunc(p.line.Sets, func(s shell.Set) bool { return s.Name == "PATH" }) {
		p.path = nil
	}
}

// command checks the program of a command, and the program that this one starts.
func (p *programs) command(c shell.Command) {
	for _, s := range c.Sets {
		p.set(s)
	}
	dirs := p.folders(c.Folder)
	for i, word := range c.Words {
		meanings := p.meanings(word)
		first := meanings[0]
		switch {
		case i > 0 && strings.HasPrefix(first, "-"):
			return // it is not known whether the next word is its value
		case i > 0 && beforeProgram(first):
			continue
		}
		p.program(meanings, dirs)
		if !startsHere(first) {
			return
		}
	}
}

// beforeProgram reports whether an argument of a program that starts another is none of that
// one: an assignment for env, or a duration for timeout.
func beforeProgram(word string) bool {
	return strings.Contains(word, "=") || strings.ContainsAny(word, "0123456789") && strings.Trim(word, "0123456789.smhd") == ""
}

// startsHere reports whether a program runs another one that its arguments name, and finds it
// as the shell would.
func startsHere(word string) bool {
	switch word {
	case "env", "timeout", "nice", "nohup", "exec", "command", "time", "setsid":
		return true
	}
	return false
}

// program records a program as missing if none of the meanings of its word can run.
func (p *programs) program(meanings, dirs []string) {
	var missing *MissingProgram
	for _, word := range meanings {
		if word != "[" && word != "[[" && strings.ContainsAny(word, string(shell.Unknown)+"*?[{~") ||
			shell.IsBuiltin(word) || p.known[word] {
			return
		}
		l := p.lookUp(word, dirs)
		if l == nil {
			return
		}
		if missing == nil {
			missing = l
		}
	}
	if missing != nil && !slices.Contains(p.found, *missing) {
		p.found = append(p.found, *missing)
	}
}

// lookUp looks for a program as the shell would. It returns nil if the program can
// run or if that is not known.
func (p *programs) lookUp(word string, dirs []string) *MissingProgram {
	if !strings.Contains(word, "/") {
		if len(p.path) == 0 {
			return nil
		}
		for _, dir := range p.path {
			// An empty entry means the current directory.
			if programFault(filepath.Join(texts.Absolute(p.place.Workspace, dir), word)) == "" {
				return nil
			}
		}
		return &MissingProgram{Word: word, Fault: "is not on the PATH", WayOut: "install it, or correct the command"}
	}
	var found *MissingProgram
	for _, dir := range dirs {
		path := texts.Absolute(dir, word)
		fault := programFault(path)
		switch {
		case fault == "" || unknown(path):
			return nil
		case found != nil && found.Fault != notThere:
			continue // a file that exists but cannot run is the more likely one
		}
		found = &MissingProgram{Word: word, Path: path, Fault: fault}
		switch fault {
		case notThere:
			found.WayOut = "create " + path + ", or correct the path, which starts at the workspace"
		case notExecutable:
			found.WayOut = "run chmod +x on it, or put its interpreter before it"
		default:
			found.WayOut = "name a file"
		}
	}
	return found
}

// The possible faults of a program's file.
const (
	notThere      = "is not there"
	notExecutable = "may not be executed"
)

// programFault returns why a file cannot run, or "".
func programFault(path string) string {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return notThere
	case info.IsDir():
		return "is a folder"
	case info.Mode()&0o111 == 0:
		return notExecutable
	}
	return ""
}
