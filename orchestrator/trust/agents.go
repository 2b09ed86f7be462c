package trust

import (
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/configs/shell"
)

// agent lists an agent program: its command line, the files that it names, and the variables that
// the spec sets for it. Agents that ship with covey, and those of the calling program, are not
// listed.
func (l *lister) agent(a configs.Agent) {
	if a.Kind != configs.ACP && a.Kind != configs.Command {
		return
	}
	l.add(Run{Kind: Agent, Command: commandLine(a)})
	l.brought(l.team.Place().Words(slices.Concat(a.Command, a.Resume), ""))
	l.environ(a.Name, a.Env)
}

// environ lists the variables that the spec sets for a program, and the files that they name.
func (l *lister) environ(program string, env []configs.EnvVar) {
	if len(env) > 0 {
		l.add(Run{Kind: Env, Command: program + ": " + variables(env)})
	}
	for _, v := range env {
		if v.File == "" { // the file holds only a value
			l.loaded(v)
		}
	}
}

// teamwork lists the commands that set up working copies and judge merges.
func (l *lister) teamwork() {
	for _, h := range l.team.Merge.Gates {
		l.handler(Gate, "", h)
	}
	for _, command := range l.team.Worktree.Setup {
		l.add(Run{Kind: Setup, Command: command})
		l.brought(l.team.Place().Line(command, ""))
	}
	for _, n := range l.team.Notify {
		l.notify(n)
	}
	if url := l.team.Web.PublicURL; url != "" {
		l.add(Run{Kind: Notify, Command: "links that answer questions, at " + url})
	}
}

// notify lists where the notices of a rule go.
func (l *lister) notify(n configs.Notify) {
	switch {
	case n.Webhook != "":
		l.add(Run{Kind: Notify, Command: n.Webhook + " with the secret in " + n.SecretFile})
	case len(n.Command) > 0:
		words := make([]string, len(n.Command))
		for i, word := range n.Command {
			words[i] = quoteArg(word)
		}
		l.add(Run{Kind: Notify, Command: strings.Join(words, " ")})
		l.brought(l.team.Place().Words(n.Command, ""))
	}
}

// commandLine returns the spec's command or a preset's name, with all else that decides what runs.
func commandLine(a configs.Agent) string {
	words := make([]string, 0, len(a.Command)+1)
	for _, word := range a.Command {
		words = append(words, quoteArg(word))
	}
	if len(words) == 0 {
		words = append(words, string(a.Preset))
	}
	line := strings.Join(words, " ")
	if a.Resume != nil {
		line += " (to resume:"
		for _, word := range a.Resume {
			line += " " + quoteArg(word)
		}
		line += ")"
	}
	if a.NativeHooks {
		line += " (with its own hooks)"
	}
	return line
}

// variables lists only names, because values may be secrets. For a value that refers to covey's own
// variables it lists those, because they leave covey with it.
func variables(env []configs.EnvVar) string {
	shown := make([]string, 0, len(env))
	for _, v := range env {
		name := v.Name
		if v.File != "" {
			name += " from " + strings.TrimPrefix(v.Text, "file: ")
		}
		if from := v.Refers(); len(from) > 0 {
			name += " from $" + strings.Join(from, ", $")
		}
		shown = append(shown, name)
	}
	return strings.Join(shown, ", ")
}

// loaded lists files of the workspace that a variable makes programs load. Values of other
// variables are searched only for programs.
func (l *lister) loaded(v configs.EnvVar) {
	words := strings.FieldsFunc(v.Text, func(r rune) bool { return strings.ContainsRune(" \t\n:;,=", r) })
	for _, word := range words {
		path, ok := l.team.Place().Own(word, "")
		if ok && (isLoader(v.Name) || shell.IsProgram(path)) {
			l.add(Run{Kind: RunFile, Path: path})
		}
	}
}

// isLoader reports whether a variable names code that programs load before their
// own.
func isLoader(variable string) bool {
	switch variable {
	case "LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "ENV", "NODE_OPTIONS", "PYTHONSTARTUP",
		"PERL5OPT", "RUBYOPT":
		return true
	}
	return false
}
