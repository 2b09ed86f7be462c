package trust

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// Kind describes what a Run is.
type Kind string

// The kinds of runs.
const (
	Spec     Kind = "spec"     // the spec itself
	Settings Kind = "settings" // a settings file
	Script   Kind = "script"   // a script that is played as a model
	// ModelHost is a host that gets the team's conversations, other than the provider's own,
	// and the file with its key.
	ModelHost Kind = "model"
	Hook      Kind = "hook"   // the command of a hook
	Gate      Kind = "gate"   // the command of a gate
	Agent     Kind = "agent"  // an agent program: its command line, or the preset's name
	Env       Kind = "env"    // the variables that the spec sets for an agent program, by name
	RunFile   Kind = "file"   // a file that a command names
	Folder    Kind = "folder" // a folder from which a command runs a file that covey cannot determine
	Plugin    Kind = "plugin" // the folder of a plugin, with all files in it
	Server    Kind = "server" // an MCP server of the spec or of a plugin: its command line or URL
	Head      Kind = "head"   // an agent's file, or a skill's, with hooks or a memory outside of the workspace in its front matter
	Setup     Kind = "setup"  // a command that sets a working copy up
	// Notify is where notices go: a command, a URL with the file of its secret, or the host to
	// which the links in them lead.
	Notify Kind = "notify"
	Filter Kind = "filter" // a git filter of the repository's configuration: its command lines
	// Prices is a file of prices. It runs nothing, so only CheckAt lists it.
	Prices Kind = "prices"
	// Template is a template from which the lead may add teammates. It runs nothing that is not
	// listed besides.
	Template Kind = "template"
	// Policy is a policy that the spec extends, with the digest of its content.
	Policy Kind = "policy"
)

// Run is one thing that the team would run: a command, or a file whose content decides what runs.
// Trust covers all of them.
type Run struct {
	Kind    Kind        `json:"kind"`
	Event   hooks.Event `json:"event,omitempty"`   // of a hook or gate
	Command string      `json:"command,omitempty"` // of a hook, gate or agent with its arguments; the names of variables
	Path    string      `json:"path,omitempty"`    // absolute, of a file
}

// RunsOf lists what the team would run, each once, in an order that depends only on the spec and
// the settings files. Files are named, not read, except settings files, whose hooks are listed too.
//
// A file that a command names is listed if it is in the workspace or next to the spec and looks
// like a program: it is executable, begins with "#!", or is passed to an interpreter. If the name
// contains a part that covey cannot expand, the folder before that part is listed, with all its
// files. What such a program starts in turn cannot be listed, nor what a command such as `go test`,
// or an agent program through its own settings, finds in the workspace.
func RunsOf(t *configs.Team) []Run {
	l := lister{team: t}
	l.add(Run{Kind: Spec, Path: t.File})
	if t.Override != "" {
		l.add(Run{Kind: Spec, Path: t.Override})
	}
	for _, p := range t.Policies {
		if !p.Managed { // an administrator's needs no trust
			l.add(Run{Kind: Policy, Command: p.String()})
		}
		l.settings(Hook, p.Hooks)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Models)) {
		l.script(t.Models[name])
	}
	for _, name := range slices.Sorted(maps.Keys(t.Agents)) {
		l.script(t.Agents[name].Model)
		l.agent(t.Agents[name])
	}
	for m := range t.EachAndTemplates() {
		l.script(m.Agent.Model)
		l.agent(m.Agent)
	}
	for _, one := range t.Templates {
		l.add(Run{Kind: Template, Command: fmt.Sprintf("%s: the lead may add %d teammates", one.Name, one.Max)})
	}
	for _, s := range t.MCPServers {
		l.server(s.Server)
		l.environ(s.Name, s.Environ)
	}
	l.settings(Hook, t.Hooks)
	l.settings(Gate, t.Gates)
	l.teamwork()
	for _, path := range t.Settings {
		l.add(Run{Kind: Settings, Path: path})
		file, _ := settings.ReadSettings(path, settings.Read) // Sources warns of its problems
		l.settings(Hook, file.Hooks)
	}
	for _, root := range t.Plugins {
		l.plugin(root)
	}
	for m := range t.EachAndTemplates() {
		if m.PromptFile == "" {
			continue
		}
		if file, _ := settings.ReadFront(m.PromptFile, settings.Read); len(file.Hooks) > 0 || file.Broken ||
			filepath.IsAbs(m.Memory) { // its head says where the member may write
			l.add(Run{Kind: Head, Path: m.PromptFile})
			l.settings(Hook, file.Hooks)
		}
	}
	l.helpers()
	l.skills()
	return l.runs
}

// helpers lists the agent files of the workspace that have hooks.
func (l *lister) helpers() {
	for _, h := range l.team.Helpers() {
		if h.Plugin {
			continue // in the plugin's folder, and without hooks
		}
		if file, _ := settings.ReadFront(h.File, settings.Read); len(file.Hooks) > 0 || file.Broken {
			l.add(Run{Kind: Head, Path: h.File})
			l.settings(Hook, file.Hooks.ForHelper())
		}
	}
}

// skills lists the skills that have hooks.
func (l *lister) skills() {
	list, _ := l.team.Skills() // Sources warns of broken ones
	for _, s := range list {
		if slices.Contains(l.team.Settings, s.File) {
			continue // listed with the settings
		}
		if file, _ := settings.ReadFront(s.File, settings.Read); len(file.Hooks) > 0 || file.Broken {
			l.add(Run{Kind: Head, Path: s.File})
			l.settings(Hook, file.Hooks)
		}
	}
}

// plugin lists a plugin's folder, its hooks and its servers. The folder covers the
// files that they name.
func (l *lister) plugin(root string) {
	l.add(Run{Kind: Plugin, Path: root})
	p, _ := settings.ReadPlugin(root, settings.Read)
	l.settings(Hook, p.Hooks)
	for _, s := range p.Servers {
		l.server(s)
	}
}

// server lists an MCP server: its command line and the files that this names, or its URL and key.
func (l *lister) server(s settings.Server) {
	line := s.URL
	for i, word := range s.Command {
		if i > 0 {
			line += " "
		}
		line += quoteArg(word)
	}
	if s.KeyFile != "" {
		line += " with the key in " + s.KeyFile
	}
	l.add(Run{Kind: Server, Command: s.Name + ": " + line})
	l.brought(l.team.Place().Words(s.Command, s.Cwd))
}

// lister collects runs.
type lister struct {
	team *configs.Team
	runs []Run
}

// add adds a run unless it is listed already: one answer about trust covers it.
func (l *lister) add(r Run) {
	if !slices.Contains(l.runs, r) {
		l.runs = append(l.runs, r)
	}
}

// script lists a model's script, whose tool calls run like commands, or a real model's host
// and key.
func (l *lister) script(m configs.Model) {
	if m.Script != "" {
		l.add(Run{Kind: Script, Path: m.Script})
	}
	if m.Recording != "" {
		l.add(Run{Kind: Script, Path: m.Recording})
	}
	host := m.BaseURL
	if m.KeyFile != "" {
		host += " with the key in " + m.KeyFile
	}
	if m.NeedsTrust() {
		l.add(Run{Kind: ModelHost, Command: host})
	}
}

// settings lists the commands of a layer of hooks, by event.
func (l *lister) settings(kind Kind, s hooks.Settings) {
	for event, h := range s.Handlers() {
		l.handler(kind, event, h)
	}
}

// handler lists one hook's command and the programs that it names.
func (l *lister) handler(kind Kind, event hooks.Event, h hooks.Handler) {
	command := cmp.Or(h.Command, h.URL, h.Prompt)
	if h.Type == "mcp_tool" {
		command = h.Server + "/" + h.Tool // the server decides what runs
	}
	if command == "" { // a policy that ships with covey
		return
	}
	brings := l.team.Place().Line(h.Command, h.Cwd)
	if h.Args != nil {
		brings = l.team.Place().Words(append([]string{h.Command}, h.Args...), h.Cwd)
		for _, arg := range h.Args {
			command += " " + quoteArg(arg)
		}
	}
	l.add(Run{Kind: kind, Event: event, Command: command})
	l.brought(brings)
}

// brought lists the files and folders that a command names.
func (l *lister) brought(b configs.ScriptFiles) {
	for _, path := range b.Files {
		l.add(Run{Kind: RunFile, Path: path})
	}
	for _, path := range b.Folders {
		l.add(Run{Kind: Folder, Path: path})
	}
}

// quoteArg marks where an argument begins and ends.
func quoteArg(arg string) string {
	if arg != "" && !strings.ContainsAny(arg, " \t\n\"'\\") {
		return arg
	}
	return fmt.Sprintf("%q", arg)
}

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
// variables it lists those, because they are passed to the program.
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
		if ok && (isLoader(v.Name) || configs.IsProgram(path)) {
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

// FiltersOf returns the filters of the repository's own configuration that the spec
// names, as they are currently defined.
func FiltersOf(ctx context.Context, team *configs.Team) []worktree.Filter {
	return worktree.Git{}.FiltersIn(ctx, team.Workspace, team.Git.Filters)
}

// filterRuns returns these filters as things that the team would run.
func filterRuns(team *configs.Team) []Run {
	var out []Run
	for _, f := range FiltersOf(context.Background(), team) { // each call of git has its own time limit
		out = append(out, Run{Kind: Filter, Command: f.String()})
	}
	return out
}

// TrustedFilters returns those of FiltersOf that the user trusts: a member may have
// changed the configuration since the team started.
func TrustedFilters(ctx context.Context, team *configs.Team) []worktree.Filter {
	filters := FiltersOf(ctx, team)
	if len(filters) == 0 {
		return nil
	}
	key, err := keyOf(team)
	if err != nil {
		return nil
	}
	all, err := readTrust()
	if err != nil {
		return nil
	}
	trusted, _ := all.find(key)
	return slices.DeleteFunc(filters, func(f worktree.Filter) bool {
		run := Run{Kind: Filter, Command: f.String()}
		return !slices.ContainsFunc(trusted.Items, func(i Item) bool { return i.Run == run })
	})
}
