// Package boxes decides what the programs of members and gates may access, and makes the boxes that
// hold them to it.
package boxes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/sandbox"
	"github.com/coveyteam/covey/hooks/sandbox/proxy"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/state"
)

// Deps are what Boxes need.
type Deps struct {
	Place   state.Place
	Bin     string // the path of the running covey
	Environ []string
	Team    func() *configs.Team // the current spec
	// CopyOf returns the root of a member's own working copy; empty: it works in the workspace.
	CopyOf  func(member string) (top string, inGit bool)
	Support func() sandbox.Support // what this system can hold
	Tell    func(member string, e events.Data)
}

// Boxes are the boxes of a team. All methods are safe for concurrent use.
type Boxes struct {
	deps  Deps
	proxy func() string // goProxy, which starts a process the first time

	mu      sync.Mutex
	members map[string]*Kit
	gits    map[gitOf]*sandbox.Box
}

// gitOf identifies the box of git in a working copy.
type gitOf struct {
	top     string
	network sandbox.Mode
}

// Kit is what a program gets to run in a box: the box, and variables that lead it to its folders. A
// nil Kit is no box.
type Kit struct {
	box     *sandbox.Box
	env     []string
	key     string               // of the spec, where a grant can be added
	program bool                 // it is that of an agent program
	hooks   func() (*Kit, error) // makes the one in which hooks of the member run, the first time
}

// Needs are what an agent program needs in its box besides what its member works with.
type Needs struct {
	Read, Write []string
	Environ     []string // its environment, whose PATH leads to programs
	Hosts       []string // where its model is, which joins the list of hosts
	// Listeners are addresses outside of the box that it must reach even if it has a network of its own.
	Listeners map[string]func(net.Listener)
}

// New returns the boxes of a team.
func New(deps Deps) *Boxes {
	return &Boxes{deps: deps, proxy: sync.OnceValue(func() string { return goProxy(deps.Environ) }), members: map[string]*Kit{}, gits: map[gitOf]*sandbox.Box{}}
}

// gatesFolder returns the folder of what the boxes of gates need.
func gatesFolder(place state.Place) string { return filepath.Join(place.Dir, "boxes", "_gates") }

// Sweep removes what gates of an earlier run were writing when it was killed, and where boxes of it had granted files below
// /tmp, because a grant that is withdrawn would leave an empty file. No box may be in use.
func (b *Boxes) Sweep() {
	sandbox.RemoveLayers(gatesFolder(b.deps.Place))
	temps, _ := filepath.Glob(filepath.Join(b.deps.Place.Dir, "boxes", "*", "tmp")) // the pattern is right
	for _, temp := range temps {
		removeMountPoints(temp, nil)
	}
}

// removeMountPoints removes what is empty in a folder that boxes show as /tmp, and is there outside of them. What leads to
// paths that are granted stays.
func removeMountPoints(temp string, granted []string) {
	needed := func(path string) bool {
		return slices.ContainsFunc(granted, func(dir string) bool { return texts.Within(path, dir) })
	}
	root, err := os.OpenRoot(temp) // the member may put a link into a path meanwhile
	if err != nil {
		return
	}
	defer root.Close()
	var points []string
	_ = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error { // what cannot be read stays
		if err != nil || path == "." {
			return nil
		}
		if exists("/tmp/"+path) || exists("/var/tmp/"+path) {
			if !needed("/tmp/"+path) && !needed("/var/tmp/"+path) {
				points = append(points, path)
			}
			return nil
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	for _, path := range slices.Backward(points) {
		if info, err := root.Lstat(path); err == nil && (info.IsDir() || info.Mode().IsRegular() && info.Size() == 0) {
			_ = root.Remove(path) // a folder that holds something stays
		}
	}
}

// Check returns why the sandboxes of a team cannot be held on a system; nil: they can. It makes no
// folders.
func Check(team *configs.Team, place state.Place, support func() sandbox.Support) error {
	var errs []error
	for m := range team.EachAndTemplates() {
		s := m.Sandbox
		if !s.On() {
			continue
		}
		for _, path := range s.Write {
			if texts.Within(place.Home(), path) || texts.Within(path, place.Home()) {
				errs = append(errs, fmt.Errorf("member %s: sandbox.write: %s is where covey keeps its state; name another folder", m.Name, path))
			}
		}
		own := m.Isolation == configs.InWorktree
		if !own && s.Level != sandbox.Best && texts.Within(team.Workspace, place.Home()) {
			errs = append(errs, fmt.Errorf("member %s: sandbox: level %s cannot be held, because it works in %s, where covey keeps its state; "+
				"set COVEY_STATE_HOME to another folder", m.Name, s.Level, team.Workspace))
		}
		var extras sandbox.Extras
		if isProgram(m.Agent) { // the team's tools are on one
			extras.Listeners = map[string]func(net.Listener){"127.0.0.1:0": nil}
		}
		if _, err := sandbox.New(policyOf(s, grantsOf(team.Workspace, own, place), place.Home()), support(), extras); err != nil {
			errs = append(errs, fmt.Errorf("member %s: %w; write level: best to run with what can be held", m.Name, err))
		}
	}
	if s := team.GateSandbox; s.On() {
		if _, err := sandbox.New(policyOf(s, grants{}, place.Home()), support(), sandbox.Extras{}); err != nil {
			errs = append(errs, fmt.Errorf("gates: %w; write level: best in gates.sandbox to run with what can be held", err))
		}
	}
	for _, s := range team.OwnSandboxes() {
		if !s.On() {
			continue
		}
		if _, err := sandbox.New(policyOf(s, grants{}, place.Home()), support(), sandbox.Extras{}); err != nil {
			errs = append(errs, fmt.Errorf("a gate or hook with a sandbox of its own: %w; write level: best there to run with what can be held", err))
		}
	}
	return errors.Join(errs...)
}

// Ready implements crew.Preparer: it makes the box of a member before its session begins.
func (b *Boxes) Ready(_ context.Context, m *members.Member) error {
	kit, err := b.member(m, Needs{})
	if kit == nil || err != nil {
		return err
	}
	if !isProgram(m.CurrentAgent()) { // Program makes that of its program
		b.deps.Tell(m.Name, kit.event(b.deps.Support()))
	}
	return nil
}

// Program makes the box of a member whose agent is a program, which is started with it; nil: it has none.
func (b *Boxes) Program(m *members.Member, n Needs) (*Kit, error) {
	kit, err := b.member(m, n)
	if kit == nil || err != nil {
		return nil, err
	}
	kit.program = true
	b.deps.Tell(m.Name, kit.event(b.deps.Support()))
	return kit, nil
}

// Builtin makes the box of a member anew if the last one was that of an agent program.
func (b *Boxes) Builtin(ctx context.Context, m *members.Member) error {
	if kit := b.Of(m.Name); kit == nil || !kit.program {
		return nil
	}
	return b.Ready(ctx, m)
}

// member makes the box of a member; nil: it has none.
func (b *Boxes) member(m *members.Member, n Needs) (*Kit, error) {
	s := m.Sandbox
	if !s.On() {
		b.renew(m.Name, nil)
		return nil, nil
	}
	if s.Network == sandbox.NetworkList {
		s.Hosts = slices.Concat(s.Hosts, n.Hosts)
	}
	top, _ := b.deps.CopyOf(m.Name)
	g := grantsOf(cmp.Or(top, m.Dir), top != "", b.deps.Place)
	if top == "" {
		g.narrow(m.Dir, m.Owns)
		g.protect(m.Dir, b.deps.Team().Protect)
	}
	own := filepath.Join(b.deps.Place.Scratch(), m.Name)
	g.read = append(g.read, own, b.envFile(m.Name), filepath.Join(b.deps.Place.Mail(), m.Name),
		filepath.Dir(b.deps.Place.MemberSocket(m.Name)))
	g.read = slices.Concat(g.read, n.Read, toolchains(n.Environ))
	g.write = append(g.write, filepath.Join(own, "cwd"), filepath.Join(b.deps.Place.Memory(), m.Name))
	g.write = append(g.write, n.Write...)
	key := "teammates." + m.Name + ".sandbox"
	if m.Lead {
		key = "lead.sandbox"
	}
	home, refused := filepath.Join(b.deps.Place.Dir, "boxes", m.Name), func(host string) {
		b.deps.Tell(m.Name, events.SandboxDenied{Path: host, Access: "connect to", Key: key + ".network"})
	}
	kit, err := b.kit(s, g, home, "cache", n.Listeners, refused)
	if err != nil {
		return nil, fmt.Errorf("its sandbox: %w", err)
	}
	kit.key = key
	kit.hooks = sync.OnceValues(func() (*Kit, error) {
		if err := b.makeEnvFile(m.Name); err != nil {
			return nil, err
		}
		g.write = append(g.write, b.envFile(m.Name))
		return b.kit(s, g, home, "cache", n.Listeners, refused)
	})
	b.renew(m.Name, kit)
	return kit, nil
}

// renew replaces the box of a member; nil: it has none any more. The spec may have withdrawn what the last one granted.
func (b *Boxes) renew(member string, kit *Kit) {
	b.mu.Lock()
	before := b.members[member]
	delete(b.members, member)
	var granted []string
	if kit != nil {
		b.members[member] = kit
		p := kit.box.Policy()
		granted = slices.Concat(p.Read, p.Write)
	}
	b.mu.Unlock()
	if before != nil {
		removeMountPoints(before.box.Policy().Temp, granted)
	}
}

// isProgram reports whether an agent is a program of somebody else's.
func isProgram(a configs.Agent) bool { return a.Kind == configs.ACP || a.Kind == configs.Command }

// Left implements crew.Leaver.
func (b *Boxes) Left(_ context.Context, member string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.members, member)
	return nil
}

// Of returns the box of a member; nil: it has none.
func (b *Boxes) Of(member string) *Kit {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.members[member]
}

// Setup returns the box of a command that sets up a working copy under a sandbox; nil: it has none. name is that of who works
// there, and line the command.
func (b *Boxes) Setup(s configs.Sandbox, name, dir, line string) (*Kit, error) {
	if !s.On() {
		return nil, nil
	}
	g := grantsOf(dir, true, b.deps.Place)
	g.read = append(g.read, filepath.Dir(b.deps.Place.MemberSocket(name)))
	g.read = append(g.read, scriptsOf(b.deps.Team(), dir, line)...)
	return b.kit(s, g, filepath.Join(b.deps.Place.Dir, "boxes", name), "cache", nil, nil)
}

// Git returns the box in which covey's own git runs in the working copy of a member, which configures it, and a folder for its
// indexes, which the member cannot change; nil: the member has no box.
//
// Each turn end takes many runs of git, so it is of level 1, which costs nothing. It has no unix sockets, and a network only if
// the member has all of it.
func (b *Boxes) Git(member, top string) (*sandbox.Box, string, error) {
	s := b.sandboxOf(member)
	if !s.On() {
		return nil, "", nil
	}
	key := gitOf{top, sandbox.NetworkOff}
	if cmp.Or(s.Network, sandbox.NetworkOn) == sandbox.NetworkOn {
		key.network = sandbox.NetworkOn
	}
	indexes := filepath.Join(b.deps.Place.Scratch(), member+".git")
	if err := os.MkdirAll(indexes, 0o700); err != nil {
		return nil, "", state.FolderError(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if box := b.gits[key]; box != nil {
		return box, indexes, nil
	}
	g := grantsOf(top, true, b.deps.Place)
	g.write = append(g.write, indexes)
	g.read = append(g.read, toolchains(os.Environ())...) // git runs in covey's own environment
	for name, below := range map[string]string{"GIT_CONFIG_GLOBAL": "", "GIT_CONFIG_SYSTEM": "", "XDG_CONFIG_HOME": "git"} {
		if path := os.Getenv(name); path != "" {
			g.read = append(g.read, filepath.Join(path, below))
		}
	}
	support := b.deps.Support()
	support.Namespaces, support.Layers = false, false
	box, err := sandbox.New(policyOf(configs.Sandbox{Level: sandbox.Best, Network: key.network, NoUnix: true}, g, b.deps.Place.Home()), support, sandbox.Extras{})
	if err == nil {
		b.gits[key] = box
	}
	return box, indexes, err
}

// sandboxOf returns the sandbox of a member, or that of the team for one that has left and for nobody.
func (b *Boxes) sandboxOf(member string) configs.Sandbox {
	team := b.deps.Team()
	for m := range team.Each() {
		if m.Name == member {
			return m.Sandbox
		}
	}
	return team.Sandbox
}

// Server returns the box of the MCP servers of the spec, which serve all members.
func (b *Boxes) Server() (*Kit, error) {
	team := b.deps.Team()
	if !team.Sandbox.On() {
		return nil, nil
	}
	return b.kit(team.Sandbox, grantsOf(team.Workspace, false, b.deps.Place), filepath.Join(b.deps.Place.Dir, "boxes", "_servers"), "cache", nil, nil)
}

// Hook returns the box in which a hook runs in a folder; nil: it has none. member is whose session it
// is; empty: nobody's.
func (b *Boxes) Hook(member string, h hooks.Handler, dir string) (*Kit, error) {
	switch {
	case h.Gate && h.Policy == "":
		return b.gate(member, h, dir)
	case h.Sandbox != nil:
		return b.hook(member, h, dir)
	case h.Gate || !b.deps.Team().Sandbox.Hooks:
		return nil, nil
	}
	kit := b.Of(member)
	if kit == nil {
		return nil, nil
	}
	return kit.hooks()
}

// envFile returns the file in which hooks leave variables for the shell of a member, which itself only reads it.
func (b *Boxes) envFile(member string) string {
	return filepath.Join(b.deps.Place.Scratch(), member+".env.sh")
}

// makeEnvFile makes the file of envFile, because in a box only what is there can be granted.
func (b *Boxes) makeEnvFile(member string) error {
	if err := os.MkdirAll(b.deps.Place.Scratch(), 0o700); err != nil {
		return state.FolderError(err)
	}
	f, err := proc.OpenOwn(b.envFile(member), os.O_WRONLY)
	if err != nil {
		return state.FolderError(err)
	}
	return f.Close()
}

// hook returns the box of a hook that has one of its own. It accesses the folder in which it runs as its member does, but
// shares neither temporary files nor caches with members, which could forge what it finds there.
func (b *Boxes) hook(member string, h hooks.Handler, dir string) (*Kit, error) {
	s := b.sandboxOf(member).With(h.Sandbox)
	if !s.On() {
		return nil, nil
	}
	team := b.deps.Team()
	top, _ := b.deps.CopyOf(member)
	own := top != "" && texts.Within(top, dir)
	if own {
		dir = top
	}
	g := grantsOf(dir, own, b.deps.Place)
	g.read = append(g.read, filepath.Dir(b.deps.Place.MemberSocket(member)))
	g.read = append(g.read, scriptsOf(team, dir, append([]string{h.Command}, h.Args...)...)...)
	if member != "" {
		if err := b.makeEnvFile(member); err != nil {
			return nil, err
		}
		g.write = append(g.write, b.envFile(member))
	}
	kit, err := b.kit(s, g, filepath.Join(b.deps.Place.Dir, "boxes", "_hooks"), "gate-cache", nil, nil)
	if err != nil {
		return nil, fmt.Errorf("the sandbox of this hook: %w", err)
	}
	return kit, nil
}

// gate returns the box of a gate that judges what is in a folder. What it writes there is discarded, but in the trial copy
// of a merge, which belongs to no member and is thrown away with all that its gates have made.
func (b *Boxes) gate(member string, h hooks.Handler, dir string) (*Kit, error) {
	team := b.deps.Team()
	s := team.GateSandbox.With(h.Sandbox)
	if !s.On() {
		return nil, nil
	}
	own := dir != team.Workspace
	if top, _ := b.deps.CopyOf(member); top != "" && texts.Within(top, dir) {
		dir = top
	}
	g := grantsOf(dir, own, b.deps.Place)
	if !own || member != "" {
		g.discard, g.write = outermost(g.write), nil
	}
	g.read = append(g.read, b.deps.Place.GateScripts(), b.deps.Place.GateSettings(), filepath.Dir(b.deps.Place.MemberSocket(member)))
	g.read = append(g.read, scriptsOf(team, dir, append([]string{h.Command}, h.Args...)...)...)
	kit, err := b.kit(s, g, gatesFolder(b.deps.Place), "gate-cache", nil, nil)
	if err != nil {
		return nil, fmt.Errorf("the sandbox of gates: %w", err)
	}
	kit.key = "gates.sandbox"
	return kit, nil
}

// kit makes a box with a folder of its own, home, and a folder of caches, which is named relative to that of the state. refused is
// called for each request to a host that is not in its list; it may be nil, like listeners.
func (b *Boxes) kit(s configs.Sandbox, g grants, home, cache string, listeners map[string]func(net.Listener), refused func(host string)) (*Kit, error) {
	cache = filepath.Join(b.deps.Place.Dir, cache)
	temp := filepath.Join(home, "tmp")
	for _, dir := range []string{temp, cache} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, state.FolderError(err)
		}
	}
	g.write = append(g.write, cache)
	g.read = append(g.read, b.deps.Bin)
	g.read = append(g.read, b.deps.Team().Plugins...)
	g.read = append(g.read, toolchains(b.deps.Environ)...)
	env, modules := caches(b.deps.Environ, cache, b.proxy)
	g.read = append(g.read, modules...)
	policy := policyOf(s, g, b.deps.Place.Home())
	policy.Temp = temp
	if os.Geteuid() == 0 && b.deps.Support().Level() == sandbox.Mounts {
		policy.Deny = append(slices.Clone(policy.Deny), ofRoot...)
	}
	box, err := sandbox.New(policy, b.deps.Support(), sandbox.Extras{
		Listeners: listeners, Layers: home, Proxy: func(l net.Listener, hosts []string) { proxy.Serve(l, hosts, refused) },
	})
	if err != nil {
		return nil, err
	}
	return &Kit{box: box, env: append(env, "TMPDIR="+temp)}, nil
}

// ofRoot is what others than root cannot read, so that a box of root needs a mask.
var ofRoot = []string{
	"/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssl/private", "/etc/krb5.keytab", "/etc/kubernetes", "/etc/wireguard",
	"/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key", "/etc/NetworkManager/system-connections",
}

// Box returns the box; nil: there is none.
func (k *Kit) Box() *sandbox.Box {
	if k == nil {
		return nil
	}
	return k.box
}

// Env returns the variables for programs in the box.
func (k *Kit) Env() []string {
	if k == nil {
		return nil
	}
	return k.env
}

// event describes the box for the journal.
func (k *Kit) event(s sandbox.Support) events.Sandboxed {
	e := events.Sandboxed{Level: int(k.box.Level()), Landlock: s.Landlock}
	for _, l := range k.box.Lost() {
		e.Lost = append(e.Lost, l.String())
	}
	text, _ := json.Marshal(k.box.Policy()) // of texts and numbers alone
	e.Policy = texts.Digest(text)[:8]
	return e
}

// Brief describes the box for the model of its member; "": there is none.
func (k *Kit) Brief() string {
	if k == nil || k.box.Level() == sandbox.None {
		return ""
	}
	text := "Your commands run in a sandbox: they write to your folder, $TMPDIR and the caches that their variables name, and read these, " +
		"the system and its tools; not your home."
	if p := k.box.Policy(); p.Network != sandbox.NetworkOn {
		text += " Network: " + string(p.Network) + "."
		if len(p.Hosts) > 0 {
			text += " Hosts: " + strings.Join(p.Hosts, ", ") + "."
		}
	}
	return text + " What else the work needs, your lead can ask a person to add to " + k.key + " of the spec."
}
