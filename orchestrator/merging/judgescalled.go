package merging

import (
	"cmp"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/shell"
	"github.com/coveyteam/covey/hooks/texts"
)

// What a gate runs is followed from its command line to the targets of a Makefile, the scripts of a
// package.json and the shell scripts that it names, and from there to what these call, no further:
// what a project tests is called from there, too, and is not what judges it.

// maxCalled bounds the files and targets that are found.
const maxCalled = 200

// follow adds what a line calls. The line stands in the folder from, or in a gate if first is true: then
// its targets are followed, too. line may be nil.
func (j *judges) follow(workspace, from string, line *shell.Line, first bool) {
	if line == nil {
		return
	}
	for _, c := range line.Commands {
		if c.Guessed || len(c.Words) == 0 || len(j.Files) > maxCalled || len(j.Targets) > maxCalled {
			continue
		}
		if !first {
			j.addCalled(workspace, from, c)
			if name := c.Program(); name != "" {
				j.Programs = append(j.Programs, name)
			}
		}
		runs := ""
		switch words := c.Literals(); c.Program() {
		case "make", "gmake":
			makefile := cmp.Or(readIn(workspace, "GNUmakefile"), readIn(workspace, "makefile"), readIn(workspace, "Makefile"))
			runs = j.addTargets(makefile, named(words[1:]))
		case "npm", "pnpm", "yarn", "bun":
			runs = j.addScripts(readIn(workspace, "package.json"), named(words[1:]))
		}
		if first {
			read, err := shell.ReadSh(runs)
			if err == nil {
				j.follow(workspace, "", read, false)
			}
		}
	}
}

// named returns the words of a command that are no options and set no variables.
func named(words []string) []string {
	return slices.DeleteFunc(words, func(w string) bool { return w == "" || w[0] == '-' || strings.Contains(w, "=") })
}

// addCalled adds the files that a command in a script runs, and the folder of go run.
func (j *judges) addCalled(workspace, from string, c shell.Command) {
	words := c.Literals()
	var names []string
	for _, w := range scriptsOf(&shell.Line{Commands: []shell.Command{c}}) {
		names = append(names, w.Value)
	}
	for _, l := range c.Loads() {
		if module := strings.ReplaceAll(words[l.Word], ".", "/"); l.Kind == shell.Module && module != "" {
			names = append(names, module+".py", module)
		}
	}
	if len(words) > 2 && c.Program() == "go" && words[1] == "run" {
		names = append(names, named(words[2:])...)
	}
	for _, name := range names {
		for _, at := range []string{path.Clean(name), path.Join(from, name)} {
			if _, err := os.Stat(filepath.Join(workspace, filepath.FromSlash(at))); err == nil && !isProduct(at) {
				j.add(workspace, filepath.Join(workspace, filepath.FromSlash(at)))
				break
			}
		}
	}
}

// isProduct reports whether a file is in a folder where projects have what is judged, and not what judges it:
// a script may call the program that it tests.
func isProduct(file string) bool {
	first, _, _ := strings.Cut(file, "/")
	return slices.Contains([]string{".", "cmd", "src", "lib", "app", "bin", "dist", "build", "node_modules", "examples"}, first)
}

// makeRule matches the beginning of a rule of a Makefile.
var makeRule = texts.Pattern(`^([\w./%-]+(?:[ \t]+[\w./%-]+)*)[ \t]*::?([^=:][^#;]*)?(?:;(.*))?(?:#.*)?$`)

// addTargets adds the targets of a Makefile, or its first one, with those that they need, and returns their
// commands.
func (j *judges) addTargets(makefile string, wanted []string) string {
	type rule struct {
		names, needs []string
		commands     string
	}
	var rules []rule
	for line := range strings.Lines(strings.ReplaceAll(makefile, "\\\n", " ")) {
		line = strings.TrimRight(line, "\r\n")
		if command, ok := strings.CutPrefix(line, "\t"); ok {
			if len(rules) > 0 {
				command = strings.TrimLeft(command, "@-+ ")
				rules[len(rules)-1].commands += strings.NewReplacer("$(MAKE)", "make", "${MAKE}", "make", "$$", "$").Replace(command) + "\n"
			}
		} else if found := makeRule().FindStringSubmatch(line); found != nil {
			rules = append(rules, rule{strings.Fields(found[1]), strings.Fields(found[2]), found[3] + "\n"})
		}
	}
	if i := slices.IndexFunc(rules, func(r rule) bool { return r.names[0][0] != '.' }); len(wanted) == 0 && i >= 0 {
		wanted = rules[i].names[:1]
	}
	commands, seen := "", map[string]bool{}
	for i := 0; i < len(wanted) && i < maxCalled; i++ {
		if seen[wanted[i]] {
			continue
		}
		seen[wanted[i]] = true
		j.addTarget(wanted[i])
		for _, r := range rules {
			if slices.Contains(r.names, wanted[i]) {
				commands += r.commands
				wanted = append(wanted, r.needs...)
			}
		}
	}
	return commands
}

func (j *judges) addTarget(name string) {
	if !slices.Contains(j.Targets, name) {
		j.Targets = append(j.Targets, name)
	}
}

// addScripts adds the scripts of a package.json that a command of npm or the like names, and returns their
// commands.
func (j *judges) addScripts(manifest string, wanted []string) string {
	var content struct {
		Scripts map[string]string `json:"scripts"`
	}
	if json.Unmarshal([]byte(manifest), &content) != nil {
		return ""
	}
	commands, seen := "", map[string]bool{}
	for i := 0; i < len(wanted) && i < maxCalled; i++ {
		name := wanted[i]
		if name == "t" {
			name = "test"
		}
		command, known := content.Scripts[name]
		if seen[name] || !known {
			continue
		}
		seen[name] = true
		j.addTarget(name)
		commands += command + "\n"
		wanted = append(wanted, "pre"+name, "post"+name)
		read, err := shell.ReadSh(command)
		if err != nil {
			continue
		}
		for _, c := range read.Commands {
			if slices.Contains([]string{"npm", "pnpm", "yarn", "bun"}, c.Program()) {
				wanted = append(wanted, named(c.Literals()[1:])...)
			}
		}
	}
	return commands
}

var (
	// ownFolder matches the ways in which a script names its folder.
	ownFolder = texts.Pattern(`\$\(\s*dirname\s+(?:--\s+)?"?\$(?:0|\{0\}|BASH_SOURCE|\{BASH_SOURCE(?:\[0\])?\})"?\s*\)|\$\{(?:0|BASH_SOURCE(?:\[0\])?)%/\*\}`)
	// goThere matches the name of a folder as what pwd prints there.
	goThere = texts.Pattern(`\$\(\s*cd\s+(?:--\s+)?"?([\w./-]+)"?(?:\s*>\s*/dev/null)?\s*(?:&&|;)\s*pwd(?:\s+-P)?\s*\)`)
	// fixed matches a variable with a path.
	fixed = texts.Pattern(`(?m)^\s*(?:readonly\s+|export\s+|local\s+)?([A-Za-z_]\w*)=["']?([\w./-]+)["']?\s*$`)
)

// scriptAt reads a shell script of the workspace; nil if it is none. Its own folder and variables with paths are
// replaced by what they stand for.
func scriptAt(workspace, file string) *shell.Line {
	text := readIn(workspace, file)
	first, _, _ := strings.Cut(text, "\n")
	if ext := path.Ext(file); ext != ".sh" && ext != ".bash" && !(strings.HasPrefix(first, "#!") && strings.Contains(first, "sh")) {
		return nil
	}
	text = ownFolder().ReplaceAllLiteralString(strings.ReplaceAll(text, "\r\n", "\n"), path.Dir(file))
	text = goThere().ReplaceAllString(text, "$1")
	for _, found := range fixed().FindAllStringSubmatch(text, 20) {
		text = strings.NewReplacer("${"+found[1]+"}", found[2], "$"+found[1]+"/", found[2]+"/").Replace(text)
	}
	line, err := shell.Read(text)
	if err != nil {
		return nil
	}
	return line
}

// maxScript bounds what is read of a file.
const maxScript = 64 << 10

// readIn returns the content of a file of the workspace; empty if there is none, or if it is too large.
func readIn(workspace, file string) string {
	data, err := texts.ReadIn(workspace, filepath.FromSlash(file), maxScript+1)
	if err != nil || len(data) > maxScript {
		return ""
	}
	return string(data)
}
