package launch

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coveyteam/covey/configs"
)

// versionWithin is how long a program may take to say its version.
const versionWithin = 5 * time.Second

// LoginState says whether an agent program can reach its vendor.
type LoginState string

// The states. covey looks whether files and variables are there, never what is
// in them: what they hold may have run out.
const (
	LoginYes     LoginState = "yes"     // the files of a login are there
	LoginKey     LoginState = "key"     // an API key is set, which `auth: key` uses
	LoginNo      LoginState = "no"      // neither is there
	LoginUnknown LoginState = "unknown" // it keeps its login where covey cannot look
	LoginNone    LoginState = "-"       // it needs none
)

// AgentInfo is what is known of an agent on this machine.
type AgentInfo struct {
	Name    string            `json:"name"`
	Kind    configs.AgentKind `json:"kind"`
	Preset  configs.Preset    `json:"preset,omitempty"`
	Spec    bool              `json:"spec,omitempty"`    // the spec has it under `agents`
	Members []string          `json:"members,omitempty"` // of the spec, that have it
	Path    string            `json:"path,omitempty"`    // of its program; empty: not installed, or it needs none
	Package string            `json:"package,omitempty"` // that the program belongs to
	Version string            `json:"version,omitempty"` // of the program; empty: it does not say
	Login   LoginState        `json:"login"`
	LoginBy string            `json:"login_by"` // what Login was seen by, or how to log in
	Install string            `json:"install,omitempty"`
	Honours Honours           `json:"honours"`

	launch Found
	agent  configs.Agent
}

// Installed reports whether it can be started at all.
func (a AgentInfo) Installed() bool { return a.Kind == configs.Builtin || a.Path != "" }

// Usable reports whether it could work now, as far as can be seen.
func (a AgentInfo) Usable() bool { return a.Installed() && a.Login != LoginNo }

// Agents lists the builtin agent, all presets and the agents of a team; team
// may be nil. Programs that are installed are asked for their version, all at
// once, for 5 seconds at most.
func Agents(ctx context.Context, team *configs.Team) []AgentInfo {
	list := []AgentInfo{{
		Name: string(configs.Builtin), Kind: configs.Builtin, Login: LoginNone,
		LoginBy: "it is part of covey, and thinks with the model that the spec names", Honours: builtinHonours(),
	}}
	for _, name := range PresetNames() {
		info, _ := PresetInfo(configs.Preset(name))
		list = append(list, info)
	}
	list = append(list, specAgents(team)...)
	if team != nil {
		for i := range list {
			list[i].Members = membersWith(team, list[i].Name)
		}
	}
	var asked sync.WaitGroup
	for i := range list {
		if list[i].Path != "" && list[i].Version == "" {
			asked.Go(func() { list[i].Version = versionOf(ctx, list[i].Path) })
		}
	}
	asked.Wait()
	return list
}

// InstalledPresets are the presets whose programs are there, those that are
// logged in first. Nothing is started.
func InstalledPresets() []AgentInfo {
	var in, rest []AgentInfo
	for _, name := range PresetNames() {
		switch a, _ := PresetInfo(configs.Preset(name)); {
		case !a.Installed():
		case a.Login == LoginYes:
			in = append(in, a)
		default:
			rest = append(rest, a)
		}
	}
	return append(in, rest...)
}

// specAgents are the agents that a spec names itself, in order.
func specAgents(team *configs.Team) []AgentInfo {
	if team == nil {
		return nil
	}
	var list []AgentInfo
	for _, a := range team.Agents {
		if a.Kind != configs.Builtin && a.Kind != configs.Given {
			info := agentInfo(a, team.Workspace)
			info.Spec = true
			list = append(list, info)
		}
	}
	slices.SortFunc(list, func(a, b AgentInfo) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// membersWith are the members that have an agent. Those of the builtin agent
// may call it by a name of the spec's, or by none.
func membersWith(team *configs.Team, agent string) []string {
	var names []string
	for _, m := range team.Members() {
		if m.Agent.Name == agent || agent == string(configs.Builtin) && m.Agent.Kind == configs.Builtin {
			names = append(names, m.Name)
		}
	}
	return names
}

// agentInfo is what can be seen of an agent program without starting it.
func agentInfo(a configs.Agent, workspace string) AgentInfo {
	info := AgentInfo{Name: a.Name, Kind: a.Kind, Preset: a.Preset, Honours: honoursOf(a, LookPath), agent: a}
	p, known := presetOf(a.Preset)
	info.Login, info.LoginBy = LoginUnknown, "only the program knows; covey agents --probe asks it"
	if known {
		info.Login, info.LoginBy = p.loginState(os.Getenv, fileThere)
		info.Install = p.install
	}
	if a.Model.Script != "" {
		info.Login, info.LoginBy = LoginNone, "it thinks with a script"
	}
	l, err := findProgram(a, workspace)
	if err != nil {
		return info
	}
	info.launch, info.Path = l, l.argv[0]
	info.Kind = l.Kind(a.Kind)
	info.Package, info.Version = packageOf(info.Path)
	return info
}

// LoginCommand is the command by which a user logs in for a preset; empty: none is known.
func LoginCommand(name configs.Preset) string {
	p, _ := presetOf(name)
	return p.login
}

// loginState looks for signs of a login.
func (p preset) loginState(env func(string) string, there func(string) bool) (LoginState, string) {
	var missing []string
	for _, f := range p.logins {
		path, shown := f.at(env)
		if path != "" && there(path) {
			return LoginYes, shown + " is there"
		}
		missing = append(missing, shown)
	}
	for _, name := range p.keyVars {
		if env(name) != "" {
			return LoginKey, name + " is set; `auth: key` uses it"
		}
	}
	way := "log in with `" + p.login + "`"
	if len(p.keyVars) > 0 {
		way += ", or set " + p.keyVars[0] + " and write `auth: key`"
	}
	switch {
	case len(missing) == 0:
		return LoginUnknown, "it keeps its login where covey does not look; " + way
	case p.sure && runtime.GOOS != "darwin":
		return LoginNo, "there is no " + strings.Join(missing, " and no ") + "; " + way
	}
	return LoginUnknown, "there is no " + strings.Join(missing,
		" and no ") + ", but it may keep its login elsewhere; " + way
}

// at is where a login's file lies, and how to write that for people. path is
// empty where the user has no home.
func (f loginFile) at(env func(string) string) (path, shown string) {
	if f.variable != "" {
		if dir := env(f.variable); dir != "" {
			path = filepath.Join(dir, f.path)
			return path, path
		}
	}
	shown = "~/" + filepath.ToSlash(filepath.Join(f.folder, f.path))
	if home := env("HOME"); home != "" {
		path = filepath.Join(home, f.folder, f.path)
	}
	return path, shown
}

// fileThere reports whether there is a file with something in it.
func fileThere(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() > 0
}

// versionNumber is what is taken from what a program says of its version.
var versionNumber = regexp.MustCompile(`\bv?(\d+\.\d+[\w.+-]*)`)

// versionOf asks a program for its version, in an empty folder and without a
// terminal. Empty: it did not say.
func versionOf(ctx context.Context, path string) string {
	dir, err := os.MkdirTemp("", "covey-version-")
	if err != nil {
		return ""
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(ctx, versionWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Dir, cmd.Env = dir, Environment(os.Environ())
	endWithGroup(cmd)
	said, err := cmd.Output()
	if err != nil {
		return ""
	}
	if found := versionNumber.FindSubmatch(said); found != nil {
		return string(found[1])
	}
	return ""
}

// PresetNames are the names of all presets.
func PresetNames() []string {
	var names []string
	for _, p := range presets() {
		names = append(names, string(p.name))
	}
	return names
}

// PresetInfo is what can be seen of a preset's program without starting it; ok
// is false if there is no such preset.
func PresetInfo(name configs.Preset) (info AgentInfo, ok bool) {
	if _, ok := presetOf(name); !ok {
		return AgentInfo{}, false
	}
	return agentInfo(configs.Agent{Name: string(name), Kind: configs.ACP, Preset: name}, "."), true
}
