package configs

import (
	"cmp"
	"net"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/sandbox"
	"github.com/coveyteam/covey/hooks/texts"
)

// Sandbox describes what the programs of a member, or gates, may access. Its zero value is that of a
// spec without the key: nothing is held.
type Sandbox struct {
	Level    sandbox.Want // empty means off
	Network  sandbox.Mode // empty means on
	Hosts    []string     // which may be reached if Network is NetworkList
	Read     []string     // more to read, as absolute paths
	Write    []string     // more to write, as absolute paths; members with a working copy of their own may use Write and Edit there, too
	DenyRead []string     // names of files, or absolute paths
	NoUnix   bool
	Hooks    bool  // hooks run in the box of their member, too
	MaxFile  int64 // the largest size of a file, in bytes; 0 means no limit
	MaxOpen  int   // how many files a process may have open; 0 means no limit
	// MaxProcesses is how many processes a command or an agent program may have; 0 means no limit.
	MaxProcesses int
}

// On reports whether programs are to run in a box.
func (s Sandbox) On() bool { return s.Level != "" && s.Level != sandbox.Off }

// Rules returns the permission rules by which tools that run in no box are kept from what programs may not read.
func (s Sandbox) Rules() (deny []string) {
	if !s.On() {
		return nil
	}
	for _, name := range s.DenyRead {
		if filepath.IsAbs(name) {
			deny = append(deny, "Read(/"+name+")", "Read(/"+name+"/**)")
		} else {
			deny = append(deny, "Read(**/"+name+")")
		}
	}
	return deny
}

// sandboxSpec is the section `sandbox` of a team or a member.
type sandboxSpec struct {
	at       *yaml.Node
	level    yaml.Value[sandbox.Want]
	network  networkSpec
	read     yaml.List[yaml.Value[string]]
	write    yaml.List[yaml.Value[string]]
	denyRead yaml.List[yaml.Value[string]]
	unix     yaml.Value[bool]
	hooks    yaml.Value[bool]
	wider    yaml.Value[bool]
	maxFile  yaml.Value[int64]
	maxOpen  yaml.Value[int]
	maxProcs yaml.Value[int]
}

// networkSpec is the key `network`: a word, or a list of hosts.
type networkSpec struct {
	mode  yaml.Value[sandbox.Mode]
	at    *yaml.Node
	hosts yaml.List[yaml.Value[string]]
}

// given reports whether the spec has the key.
func (n *networkSpec) given() bool { return n.mode.Given() || n.at != nil }

// networkPart decodes the key `network`.
func networkPart(n *networkSpec) yaml.Part {
	return yaml.Either(yaml.OneOf(&n.mode, sandbox.NetworkOn, sandbox.NetworkOff), yaml.Object(&n.at, []yaml.Field{
		{Key: "allow", Need: true, Part: yaml.Texts(&n.hosts),
			Doc: "Hosts, such as example.com, \"*.example.com\" and \"db:5432\". Without a port, 80 and 443."},
	}), "on, off, or a list of hosts such as {allow: [example.com]}")
}

// levelPart decodes the key `level`.
func levelPart(level *yaml.Value[sandbox.Want]) yaml.Part {
	return yaml.OneOf(level, sandbox.Off, sandbox.Best, sandbox.Required, sandbox.OwnMounts)
}

// fields returns the keys of a sandbox.
func (s *sandboxSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "level", Part: levelPart(&s.level),
			Doc: "off: nothing is held. best: as much as this system can hold. required: the member does not start unless all of it " +
				"is held. mounts: nor without a file system of its own (level 2). Default: off."},
		{Key: "network", Part: networkPart(&s.network),
			Doc: "What programs may connect to: on, off, or {allow: [HOST, ...]}. A list needs level 2. Default: on."},
		{Key: "read", Part: yaml.Texts(&s.read),
			Doc: "More folders and files to read, such as ~/sdk. Relative to the spec."},
		{Key: "write", Part: yaml.Texts(&s.write),
			Doc: "More folders to write to, such as ~/notes, for Write and Edit of members with a working copy, too. Relative to " +
				"the spec."},
		{Key: "deny_read", Part: yaml.Texts(&s.denyRead),
			Doc: "Names of files, such as .env, or paths that may not be read. Below what may be read this needs level 2."},
		{Key: "unix", Part: yaml.OnOff(&s.unix),
			Doc: "Whether programs may make unix sockets. Without, they cannot ask the team by covey commands. Default: on."},
		{Key: "hooks", Part: yaml.OnOff(&s.hooks),
			Doc: "Whether hooks run in the box of their member, too. Gates always do. Default: off."},
		{Key: "limits", Part: yaml.Object(nil, []yaml.Field{
			{Key: "file", Part: yaml.Size(&s.maxFile),
				Doc: "The largest size of a file, such as 4GB. Default: no limit."},
			{Key: "open", Part: yaml.WholeFrom(16, 1<<20)(&s.maxOpen),
				Doc: "How many files a process may have open. Default: no limit."},
			{Key: "processes", Part: yaml.WholeFrom(2, 1<<20)(&s.maxProcs),
				Doc: "How many processes a command or an agent program may have; it is killed with all of them if it has more. Default: no limit."},
		}), Doc: "What programs may use of the machine."},
		{Key: "wider", Part: yaml.Truth(&s.wider),
			Doc: "Whether a member may have more than the team; only in the team's section. Default: false."},
	}
}

// gateFields returns the keys of the sandbox of gates.
func (s *sandboxSpec) gateFields() []yaml.Field {
	return slices.DeleteFunc(s.fields(), func(f yaml.Field) bool {
		return !slices.Contains([]string{"level", "network"}, f.Key)
	})
}

// ownSandboxPart decodes the key `sandbox` of one gate or hook.
func ownSandboxPart(s *sandboxSpec) yaml.Part { return yaml.Object(&s.at, s.gateFields()) }

// own returns what the key `sandbox` of one gate or hook gives; nil: nothing.
func (s *sandboxSpec) own(d *yaml.Decoder) *hooks.Sandbox {
	if s.at == nil {
		return nil
	}
	out := (&resolver{Files: yaml.Files{Decoder: d}}).sandbox(s, Sandbox{})
	return &hooks.Sandbox{Level: out.Level, Network: out.Network, Hosts: out.Hosts}
}

// With returns the sandbox for a gate or hook that has something of its own; nil: nothing.
func (s Sandbox) With(own *hooks.Sandbox) Sandbox {
	if own == nil {
		return s
	}
	s.Level = cmp.Or(own.Level, s.Level)
	if own.Network != "" {
		s.Network, s.Hosts = own.Network, own.Hosts
	}
	return s
}

// sandboxes resolves the sandboxes of the team and of its gates. It runs before the members are resolved.
func (r *resolver) sandboxes(t *Team, s *teamSpec) {
	t.Sandbox = r.sandbox(&s.work.sandbox, Sandbox{})
	t.GateSandbox = r.sandbox(&s.gates.sandbox, Sandbox{Level: t.Sandbox.Level, Read: t.Sandbox.Read})
	r.confined, r.wider = t.Sandbox, s.work.sandbox.wider.V
}

// memberSandbox resolves the sandbox of a member, which may not have more than the team's.
func (r *resolver) memberSandbox(s *sandboxSpec) Sandbox {
	own := r.sandbox(s, r.confined)
	if key := own.beyond(r.confined); key != "" && s.at != nil && !r.wider {
		r.failOnce(s.at.At, "this sandbox allows more than the team's, by %s; narrow it, or write wider: true in the sandbox of the team", key)
	}
	if s.wider.Given() {
		r.failOnce(s.wider.At.At, "wider belongs to the sandbox of the team; remove it here")
	}
	return own
}

// warnUnheld warns of members whose commands can write to what they do not own. It must run after keepTo, which
// may give them boxes.
func (r *resolver) warnUnheld(t *Team, s *teamSpec) {
	specs, warned := s.memberSpecs(t.Lead.Name), map[*yaml.Node]bool{}
	for m := range t.EachAndTemplates() {
		own := specs[m.Name]
		runs := m.PermissionMode != Plan && (m.Tools == nil || slices.Contains(m.Tools, "Bash"))
		if m.Owns == nil || m.Isolation == InWorktree || m.Sandbox.On() || own == nil || !runs {
			continue
		}
		at := orElse(own.at.Lookup("owns"), s.defaults.at.Lookup("owns"))
		if at != nil && !warned[at] {
			warned[at] = true
			r.Warn(at.At, "owns binds the file tools alone, not commands, because the folder is shared and there is no sandbox; "+
				"write sandbox: {level: best}, or isolation: worktree")
		}
	}
}

// failOnce is Fail for what several members may inherit.
func (r *resolver) failOnce(at yaml.Position, format string, args ...any) {
	if !r.Said(at) {
		r.Fail(at, format, args...)
	}
}

// sandbox resolves one section. What it does not give is as in base.
func (r *resolver) sandbox(s *sandboxSpec, base Sandbox) Sandbox {
	out := base
	out.Level = s.level.Or(base.Level)
	if s.network.given() {
		out.Network, out.Hosts = cmp.Or(s.network.mode.V, sandbox.NetworkList), yaml.Words(s.network.hosts)
		for _, host := range s.network.hosts.Items {
			if host.V != "" && !isHost(host.V) {
				r.failOnce(host.At.At, "%s is no host; write a name such as example.com, *.example.com or db:5432", yaml.Quote(host.V))
			}
		}
	}
	if s.read.Given() {
		out.Read = r.sandboxPaths(s.read, false)
	}
	if s.write.Given() {
		out.Write = r.sandboxPaths(s.write, true)
	}
	if s.denyRead.Given() {
		out.DenyRead = slices.Concat(base.DenyRead, r.deniedPaths(s.denyRead))
	}
	if s.unix.Given() {
		out.NoUnix = !s.unix.V
	}
	out.Hooks = s.hooks.Or(base.Hooks)
	out.MaxFile, out.MaxOpen, out.MaxProcesses = s.maxFile.Or(base.MaxFile), s.maxOpen.Or(base.MaxOpen), s.maxProcs.Or(base.MaxProcesses)
	return out
}

// weaker reports whether a level holds less than another.
func weaker(level, than sandbox.Want) bool {
	strictness := []sandbox.Want{"", sandbox.Off, sandbox.Best, sandbox.Required, sandbox.OwnMounts}
	return than != "" && than != sandbox.Off && slices.Index(strictness, level) < slices.Index(strictness, than)
}

// beyond returns the key by which a sandbox allows more than another; "": it does not.
func (s Sandbox) beyond(team Sandbox) string {
	openness := []sandbox.Mode{sandbox.NetworkOff, sandbox.NetworkList, sandbox.NetworkOn}
	open := func(m sandbox.Mode) int { return slices.Index(openness, cmp.Or(m, sandbox.NetworkOn)) }
	within := func(paths, granted []string) bool {
		return !slices.ContainsFunc(paths, func(path string) bool {
			return !slices.ContainsFunc(granted, func(dir string) bool { return texts.Within(dir, path) })
		})
	}
	more := func(own, most int64) bool { return most > 0 && (own == 0 || own > most) }
	for _, c := range []struct {
		key    string
		beyond bool
	}{
		{"level", weaker(s.Level, team.Level)},
		{"network", open(s.Network) > open(team.Network) ||
			s.Network == sandbox.NetworkList && team.Network == sandbox.NetworkList &&
				slices.ContainsFunc(s.Hosts, func(h string) bool { return !slices.Contains(team.Hosts, h) })},
		{"read", !within(s.Read, slices.Concat(team.Read, team.Write))},
		{"write", !within(s.Write, team.Write)},
		{"unix", team.NoUnix && !s.NoUnix},
		{"hooks", team.Hooks && !s.Hooks},
		{"limits.file", more(s.MaxFile, team.MaxFile)},
		{"limits.open", more(int64(s.MaxOpen), int64(team.MaxOpen))},
		{"limits.processes", more(int64(s.MaxProcesses), int64(team.MaxProcesses))},
	} {
		if c.beyond {
			return c.key
		}
	}
	return ""
}

// isHost reports whether a text names a host or a pattern of hosts, with or without a port.
func isHost(text string) bool {
	host, _, err := net.SplitHostPort(text)
	if err != nil {
		host = text
	}
	_, err = path.Match(host, "")
	return err == nil && host != "" && !strings.ContainsAny(text, "/ ")
}

// sandboxPaths resolves folders of a sandbox, which need not exist yet.
func (r *resolver) sandboxPaths(list yaml.List[yaml.Value[string]], write bool) (paths []string) {
	for _, v := range list.Items {
		dir, ok := r.sandboxPath(v)
		if !ok {
			continue
		}
		paths = append(paths, dir)
		if why := tooWide(dir, write); why != "" {
			r.failOnce(v.At.At, "%s %s; name a folder of its own", yaml.Quote(v.V), why)
		}
	}
	return paths
}

// deniedPaths resolves deny_read.
func (r *resolver) deniedPaths(list yaml.List[yaml.Value[string]]) (denied []string) {
	for _, v := range list.Items {
		if !strings.ContainsAny(v.V, "/~*?[") && v.V != "" {
			denied = append(denied, v.V) // a name
		} else if path, ok := r.sandboxPath(v); ok {
			denied = append(denied, path)
		}
	}
	return denied
}

// sandboxPath returns a path of the spec as an absolute one; false: it is a mistake, which was reported.
func (r *resolver) sandboxPath(v yaml.Value[string]) (string, bool) {
	path, home := strings.CutPrefix(v.V, "~/")
	base, err := r.Dir, error(nil)
	if home {
		base, err = os.UserHomeDir()
	}
	switch {
	case v.V == "": // a mistake that was reported
		return "", false
	case strings.ContainsAny(v.V, "*?["):
		r.failOnce(v.At.At, "%s is a pattern; name a folder, which covers all that is in it", yaml.Quote(v.V))
		return "", false
	case strings.HasPrefix(path, "~"):
		r.failOnce(v.At.At, "%s is no folder; write ~/ for your home and a name, or the whole path", yaml.Quote(v.V))
		return "", false
	case err != nil:
		r.failOnce(v.At.At, "the home is not known (%v); write the path out", err)
		return "", false
	case filepath.IsAbs(path):
		return filepath.Clean(path), true
	}
	return filepath.Join(base, path), true
}

// tooWide returns why a sandbox may not grant a path; "": it may.
func tooWide(path string, write bool) string {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	if path == string(filepath.Separator) || home != "" && texts.Within(path, home) {
		return "holds your home, with your keys"
	}
	for _, name := range []string{".ssh", ".gnupg", ".aws", ".kube", ".docker", ".claude", ".codex", ".gemini", ".qwen", ".local/state/covey"} {
		if home != "" && write && texts.Within(filepath.Join(home, name), path) {
			return "is where programs of yours keep what they trust"
		}
	}
	return ""
}

// String lists for people what a sandbox grants beyond the usual.
func (s Sandbox) String() string {
	var parts []string
	if s.Network == sandbox.NetworkList {
		parts = append(parts, "network: "+texts.Few(s.Hosts, 5))
	} else if s.Network == sandbox.NetworkOff {
		parts = append(parts, "network: off")
	}
	for _, list := range []struct {
		key   string
		paths []string
	}{{"read", s.Read}, {"write", s.Write}, {"deny_read", s.DenyRead}} {
		if len(list.paths) > 0 {
			parts = append(parts, list.key+": "+texts.Few(list.paths, 5))
		}
	}
	return strings.Join(parts, "; ")
}
