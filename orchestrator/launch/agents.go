package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/acp"
	"github.com/coveyteam/covey/teammate/agent"
	shared "github.com/coveyteam/covey/teammate/program"
)

// versionTimeout bounds how long a program may take to print its version.
const versionTimeout = 5 * time.Second

// LoginState describes whether the login of an agent program was found.
type LoginState string

// The login states. covey checks only whether files and variables exist, never their
// content, so a login may have expired.
const (
	LoginYes     LoginState = "yes"     // the files of a login exist
	LoginKey     LoginState = "key"     // an API key is set, which `auth: key` uses
	LoginNo      LoginState = "no"      // neither exists
	LoginUnknown LoginState = "unknown" // covey cannot see where it keeps its login
	LoginNone    LoginState = "-"       // it needs none
)

// AgentInfo is what is known of an agent on this machine.
type AgentInfo struct {
	Name    string            `json:"name"`
	Kind    configs.AgentKind `json:"kind"`
	Preset  configs.Preset    `json:"preset,omitempty"`
	Spec    bool              `json:"spec,omitempty"`    // the spec has it under `agents`
	Members []string          `json:"members,omitempty"` // members of the spec that use it
	Path    string            `json:"path,omitempty"`    // path of its program; empty: not installed, or not needed
	Package string            `json:"package,omitempty"` // npm package of the program
	Version string            `json:"version,omitempty"` // version of the program; empty: unknown
	Login   LoginState        `json:"login"`
	LoginBy string            `json:"login_by"` // how Login was determined, or how to log in
	Install string            `json:"install,omitempty"`
	Node    string            `json:"node,omitempty"` // the first version of Node.js that can run what Install installs
	Honours Honours           `json:"honours"`

	launch Found
	agent  configs.Agent
}

// Installed reports whether the agent can be started.
func (a AgentInfo) Installed() bool { return a.Kind == configs.Builtin || a.Path != "" }

// Usable reports whether the agent is installed and no login is known to be missing.
func (a AgentInfo) Usable() bool { return a.Installed() && a.Login != LoginNo }

// HowToInstall returns the command that installs the program, and what it needs, for people.
func (a AgentInfo) HowToInstall() string { return howToInstall(a.Install, a.Node) }

// howToInstall is HowToInstall for the command and the version of Node.js.
func howToInstall(command, node string) string {
	if node == "" {
		return "`" + command + "`"
	}
	return "`" + command + "` (needs Node " + node + " or newer)"
}

// Older says, for people, that the installed program is older than the one that was measured; empty:
// it is not, or its version is not known.
func (a AgentInfo) Older() string {
	way := a.launch.program
	measured := way.honours.Version[strings.LastIndexByte(way.honours.Version, ' ')+1:]
	// The version of a program that starts the agent, such as node, says nothing.
	if a.Version == "" || filepath.Base(a.Path) != way.bin ||
		slices.Compare(versionNumbers(a.Version), versionNumbers(measured)) >= 0 {
		return ""
	}
	return "older than " + way.honours.Version + ", with which covey was measured, and may support less than covey agents says"
}

// ToNewest returns how to get the newest version of an installed program, for people.
func (a AgentInfo) ToNewest() string {
	if a.Kind != configs.ACP { // Install is for the adapter
		return "install its newest version"
	}
	return a.HowToInstall() + " installs the newest"
}

// Outdated returns a warning for each program of a team that is older than the measured one. It asks
// programs for their versions where their packages do not tell.
func Outdated(ctx context.Context, team *configs.Team) []string {
	// A command of the spec may need the variables of its entry, and does not expect to be run.
	known := slices.DeleteFunc(UsedAgents(team), func(a AgentInfo) bool { return a.Version == "" && len(a.agent.Command) > 0 })
	var warnings []string
	for _, a := range AskVersions(ctx, known) {
		if older := a.Older(); older != "" {
			warnings = append(warnings, fmt.Sprintf("%s of %s: version %s is %s; %s", a.Path, strings.Join(a.Members, ", "),
				a.Version, older, a.ToNewest()))
		}
	}
	return warnings
}

// Agents lists the builtin agent, all presets and the agents of a team; team may be
// nil. It asks all installed programs for their versions at the same time, for at most
// 5 seconds.
func Agents(ctx context.Context, team *configs.Team) []AgentInfo {
	list := []AgentInfo{{
		Name: string(configs.Builtin), Kind: configs.Builtin, Login: LoginNone,
		LoginBy: "it is part of covey, and thinks with the model that the spec names", Honours: builtinHonours(),
	}}
	for _, name := range configs.Presets() {
		info, _ := PresetInfo(configs.Preset(name))
		list = append(list, info)
	}
	list = append(list, specAgents(team)...)
	if team != nil {
		for i := range list {
			list[i].Members = membersWith(team, list[i].Name)
		}
	}
	return AskVersions(ctx, list)
}

// AskVersions asks the installed programs of a list for the versions that are not known, all at the same
// time, for at most 5 seconds, and returns the list with them.
func AskVersions(ctx context.Context, list []AgentInfo) []AgentInfo {
	var asked sync.WaitGroup
	for i := range list {
		if list[i].Path != "" && list[i].Version == "" {
			asked.Go(func() { list[i].Version = versionOf(ctx, list[i].Path) })
		}
	}
	asked.Wait()
	return list
}

// InstalledPresets returns the presets whose programs are installed, those with a login
// first. It starts no program.
func InstalledPresets() []AgentInfo {
	var in, rest []AgentInfo
	for _, name := range configs.Presets() {
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

// UsedAgents returns the agent programs of a team's members and of what these may fall back to, each
// once, in the order of the members. It starts no program.
func UsedAgents(team *configs.Team) []AgentInfo {
	var list []AgentInfo
	for m := range team.EachAndTemplates() {
		for _, a := range team.AgentsOf(*m) {
			if a.Kind == configs.Builtin || a.Kind == configs.Given {
				continue
			}
			i := slices.IndexFunc(list, func(known AgentInfo) bool { return known.Name == AgentTitle(a) })
			if i < 0 {
				i, list = len(list), append(list, agentInfo(a, team.Workspace))
				list[i].Name = AgentTitle(a)
			}
			list[i].Members = append(list[i].Members, m.Name)
		}
	}
	return list
}

// specAgents returns the agents that a spec defines, in order.
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

// membersWith returns the members that use an agent. A member may name the builtin
// agent or leave its agent empty.
func membersWith(team *configs.Team, agent string) []string {
	var names []string
	for m := range team.EachAndTemplates() {
		if m.Agent.Name == agent || agent == string(configs.Builtin) && m.Agent.Kind == configs.Builtin {
			names = append(names, m.Name)
		}
	}
	return names
}

// agentInfo returns what is known of an agent program without starting it.
func agentInfo(a configs.Agent, workspace string) AgentInfo {
	info := AgentInfo{Name: a.Name, Kind: a.Kind, Preset: a.Preset, Honours: honoursOf(a, LookPath), agent: a}
	p, known := presetOf(a.Preset)
	info.Login, info.LoginBy = LoginUnknown, "only the program knows; covey agents --probe asks it"
	if known {
		info.Login, info.LoginBy = p.loginState(os.Getenv, fileThere)
		info.Install, info.Node = p.install, p.node
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

// LoginCommand returns the command with which you log in for a preset; empty if none is
// known.
func LoginCommand(name configs.Preset) string {
	p, _ := presetOf(name)
	return p.loginCommand(LookPath)
}

// KeyOf names what an agent program uses in place of a login, for people: a variable or a file. It is
// empty if the program logs in.
func KeyOf(a configs.Agent) string {
	p, _ := presetOf(a.Preset)
	if a.Auth != configs.Key {
		return p.loginByRoute(os.Getenv)
	}
	if key := cmp.Or(a.KeyFile, a.KeyVar); key != "" {
		return key
	}
	for _, name := range p.keyVars {
		if os.Getenv(name) != "" {
			return name
		}
	}
	return "its key"
}

// loginCommand returns the command to log in. Where only an adapter is installed, the program that logs
// in is run from its package.
func (p preset) loginCommand(look func(string) (string, error)) string {
	program, _, _ := strings.Cut(p.login, " ")
	if p.loginPkg == "" {
		return p.login
	}
	if _, err := look(program); err == nil {
		return p.login
	}
	if _, err := look("npx"); err != nil {
		return p.login
	}
	return "npx " + p.loginPkg + strings.TrimPrefix(p.login, program)
}

// loginState looks for the files and variables of a login.
func (p preset) loginState(env func(string) string, there func(string) bool) (LoginState, string) {
	if by := p.loginByRoute(env); by != "" {
		return LoginYes, by + " is set"
	}
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
	if p.login == "" {
		return LoginNo, "it has no login of its own; set " + p.keyVars[0] + " and write `auth: key`"
	}
	way := "log in with `" + p.loginCommand(LookPath) + "`"
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

// at returns the path of a login file and its form for people. path is empty where the
// user has no home directory.
func (f userFile) at(env func(string) string) (path, shown string) {
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

// fileThere reports whether there is a non-empty file.
func fileThere(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() > 0
}

// versionNumber finds the version in the output of a program.
var versionNumber = texts.Pattern(`\bv?(\d+\.\d+[\w.+-]*)`)

// versionOf runs a program to get its version, in an empty folder and without a
// terminal; empty if it printed none.
func versionOf(ctx context.Context, path string) string {
	dir, err := os.MkdirTemp("", "covey-version-")
	if err != nil {
		return ""
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Dir, cmd.Env = dir, Environment(os.Environ())
	endWithGroup(cmd)
	said, err := cmd.Output()
	if err != nil {
		return ""
	}
	if found := versionNumber().FindSubmatch(said); found != nil {
		return string(found[1])
	}
	return ""
}

// PresetInfo returns what is known of a preset's program without starting it; ok is
// false if there is no such preset.
func PresetInfo(name configs.Preset) (info AgentInfo, ok bool) {
	if _, ok := presetOf(name); !ok {
		return AgentInfo{}, false
	}
	return agentInfo(configs.Agent{Name: string(name), Kind: configs.ACP, Preset: name}, "."), true
}

// KeyOnly reports whether the program of a preset has no login of its own, so that it needs an API
// key (`auth: key`).
func KeyOnly(name configs.Preset) bool {
	p, ok := presetOf(name)
	return ok && p.keyOnly()
}

func (p preset) keyOnly() bool { return p.login == "" && len(p.keyVars) > 0 }

// probeTimeout bounds how long a program may take to open a session; slow ones take
// five seconds on a slow machine.
const probeTimeout = 30 * time.Second

// AgentProbe is the result of starting an agent program.
type AgentProbe struct {
	Agent   string        `json:"agent"`
	Ready   bool          `json:"ready"`             // it opened a session
	Problem string        `json:"problem,omitempty"` // why not
	Login   bool          `json:"login,omitempty"`   // it requires a login first
	Took    time.Duration `json:"took_ns"`
	Name    string        `json:"name,omitempty"` // the name that it reports
	Version string        `json:"version,omitempty"`
	HTTP    bool          `json:"mcp_http"`
	Load    bool          `json:"load"`
	Resume  bool          `json:"resume"`
	Steer   bool          `json:"steer"`
	Auth    []string      `json:"auth,omitempty"`  // its login methods
	Modes   []string      `json:"modes,omitempty"` // its session modes; a session starts in the first
}

// Probe starts the program of an agent that Agents or InstalledPresets listed, as for a
// member, opens an empty session in an empty folder, and ends it. It sends nothing to a
// model. Programs that do not speak ACP are not started.
func (a AgentInfo) Probe(ctx context.Context) AgentProbe {
	p := AgentProbe{Agent: a.Name}
	began := time.Now()
	about, err := a.probe(ctx)
	p.Took = time.Since(began)
	p.Name, p.Version = about.Name, about.Version
	p.HTTP, p.Load, p.Resume, p.Steer, p.Auth = about.HTTP, about.Load, about.Resume, about.Steer, about.Auth
	if about.Mode != "" {
		p.Modes = append([]string{about.Mode},
			slices.DeleteFunc(slices.Clone(about.Modes), func(m string) bool { return m == about.Mode })...)
	}
	if err != nil {
		var login *agent.LoginError
		p.Login = errors.As(err, &login)
		p.Problem = strings.TrimPrefix(err.Error(), "acp: ")
		return p
	}
	p.Ready = true
	return p
}

// probe starts the program.
func (a AgentInfo) probe(ctx context.Context) (acp.About, error) {
	switch {
	case a.Kind == configs.Builtin:
		return acp.About{}, errors.New("the builtin agent has no program")
	case a.Path == "" && a.Install == "":
		return acp.About{}, errors.New("its program is not installed")
	case a.Path == "":
		return acp.About{}, fmt.Errorf("it is not installed; %s installs it", a.HowToInstall())
	case a.Kind != configs.ACP:
		return acp.About{}, fmt.Errorf("%s does not speak ACP, so it cannot be probed", a.Path)
	}
	dir, err := os.MkdirTemp("", "covey-probe-")
	if err != nil {
		return acp.About{}, err
	}
	defer os.RemoveAll(dir)
	l := a.launch
	if l.key, err = l.readKey(a.agent); err != nil {
		return acp.About{}, err
	}
	start, err := l.probeOffer(dir, a.agent)
	if err != nil {
		return acp.About{}, err
	}
	return acp.Probe(ctx, acp.Options{
		Options: shared.Options{
			Command: append(l.argv[:1:1], start.args...), Env: start.env, Dir: start.workspace,
		},
		Meta: start.meta, Timeouts: acp.Timeouts{Start: probeTimeout},
	})
}

// probeOffer returns how to start a program without a member: its own settings are in
// dir, and it works in a folder below.
func (l Found) probeOffer(dir string, a configs.Agent) (*offer, error) {
	workspace, err := os.MkdirTemp(dir, "workspace")
	if err != nil {
		return nil, err
	}
	start := &offer{args: slices.Clone(l.argv[1:]), dir: dir, workspace: workspace}
	start.env = l.preset.environment(Environment(os.Environ()), os.Environ())
	return start, l.complete(start, a.Env, false)
}
