package launch

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/sandbox"
	"github.com/coveyteam/covey/hooks/sandbox/proxy"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/boxes"
)

// boxed puts a program into the box of its member, if the spec has one: with a home of its own, copies
// of the user's settings, and the login of the user. model is the URL of the server of its script;
// empty: it has none. own is where the variables of the offer begin that are not all programs'.
func (f *instance) boxed(start *offer, model string, own int) error {
	if !f.Member.Sandbox.On() {
		return nil
	}
	home, err := home(f.programs.deps.Place, f.Member.Name)
	if err != nil {
		return err
	}
	address, serve, err := f.programs.deps.InBox(f.Member)
	if err != nil {
		return err
	}
	hosts, listeners := f.launch.network(start.env, model)
	if f.door != nil { // all that it asks goes there
		hosts, listeners = nil, map[string]func(net.Listener){f.door.Address(): f.door.Serve}
	}
	listeners[address] = serve
	kit, err := f.programs.deps.Box(f.Member, boxes.Needs{
		Read:  slices.Concat(filesOf(f.launch.argv, start.value("HOME"), f.programs.deps.Place.Workspace), filesIn(start), []string{start.dir}),
		Write: []string{home}, Environ: start.env, Hosts: hosts, Listeners: listeners,
	})
	if err != nil {
		return err
	}
	if kit.Box().Level() == sandbox.None {
		return nil // it runs as without a box
	}
	start.box = kit.Box()
	start.env = slices.Insert(start.env, own, kit.Env()...)
	if off := f.launch.program.sandboxOff; off != nil {
		if err := off(start); err != nil {
			return err
		}
	}
	if model != "" {
		return nil // it has a home of its own already
	}
	sandboxed := f.Member.Sandbox
	if f.logins, err = f.launch.preset.moveHome(start, home, slices.Concat(sandboxed.Read, sandboxed.Write)); err != nil {
		return fmt.Errorf("copy its settings: %w", err)
	}
	return f.logins.Begin(func(err error) {
		f.programs.deps.Log.Warn("share the login of an agent program", "member", f.Member.Name, "err", err)
	})
}

// network returns where a program with an environment sends its requests: hosts, and addresses of this
// machine with what leads to them from a network of its own.
func (l Found) network(env []string, model string) (hosts []string, listeners map[string]func(net.Listener)) {
	hosts, listeners = slices.Clone(l.preset.hosts), map[string]func(net.Listener){}
	for _, address := range append(baseURLs(env), model) {
		u, err := url.Parse(address)
		if err != nil || u.Hostname() == "" {
			continue
		}
		port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
		target := net.JoinHostPort(u.Hostname(), port)
		if ip := net.ParseIP(u.Hostname()); u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
			listeners[target] = proxy.Forward(target)
		} else {
			hosts = append(hosts, target)
		}
	}
	return hosts, listeners
}

// baseURLs returns where the variables of an environment send requests for models.
func baseURLs(env []string) (urls []string) {
	last := map[string]string{}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if strings.HasSuffix(name, "_BASE_URL") {
			last[name] = value
		}
	}
	return slices.Sorted(maps.Values(last))
}

// filesOf returns what a program's command line consists of: files with what is installed beside them,
// unless that holds the user's home or the workspace.
func filesOf(argv []string, home, workspace string) (paths []string) {
	for _, word := range argv {
		real, err := filepath.EvalSymlinks(word)
		if err != nil || !filepath.IsAbs(word) {
			continue
		}
		paths = append(paths, word, real)
		const modules = string(filepath.Separator) + "node_modules" + string(filepath.Separator)
		dir := filepath.Dir(real)
		if i := strings.Index(real, modules); i >= 0 {
			dir = real[:i+len(modules)-1]
		}
		if !holds(dir, home) && !holds(dir, workspace) {
			paths = append(paths, dir)
		}
	}
	return paths
}

// holds reports whether a folder is another one, or above it.
func holds(dir, other string) bool {
	return other != "" && texts.Within(dir, other)
}

// filesIn returns the files that variables of a program name: certificates, and configurations.
func filesIn(o *offer) (paths []string) {
	for _, name := range []string{
		"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
		"CODEX_CA_CERTIFICATE", "GOOGLE_APPLICATION_CREDENTIALS", "OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR",
	} {
		if path := o.value(name); filepath.IsAbs(path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// moveHome gives a program another home: with copies of the user's settings, and links to what the spec
// grants of the user's home. It returns the logins to share.
func (p preset) moveHome(o *offer, home string, granted []string) (logins *sharedLogins, err error) {
	root, err := os.OpenRoot(home)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	old := o.value("HOME")
	variables := []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "CODEX_SQLITE_HOME"}
	for _, f := range append([]userFile{{"", "", ".gitconfig"}, {"XDG_CONFIG_HOME", ".config", "git"}}, p.settings...) {
		variables = append(variables, f.variable)
		from, _ := f.at(o.value)
		if err := copySettings(root, from, filepath.Join(f.folder, f.path), nil); err != nil {
			return nil, err
		}
	}
	logins = &sharedLogins{home: home}
	for _, f := range p.logins {
		variables = append(variables, f.variable)
		from, _ := f.at(o.value)
		logins.files = append(logins.files, sharedLogin{from, filepath.Join(f.folder, f.path)})
	}
	for _, path := range granted {
		rel, ok := texts.Below(old, path)
		if old == "" || !ok || rel == "." {
			continue
		}
		err := errors.Join(root.RemoveAll(rel), root.MkdirAll(filepath.Dir(rel), 0o700), root.Symlink(path, rel))
		if err != nil {
			return nil, err
		}
	}
	o.env = slices.DeleteFunc(o.env, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(variables, name)
	})
	o.set("HOME", home)
	return logins, nil
}

// copySettings replaces a file or folder in a home by a copy of the user's. It follows links, because
// people keep their settings elsewhere, but not in a circle: above are the folders that it is in.
func copySettings(home *os.Root, from, to string, above []string) error {
	real, err := filepath.EvalSymlinks(from)
	if errors.Is(err, fs.ErrNotExist) || slices.Contains(above, real) {
		return home.RemoveAll(to)
	}
	if err != nil {
		return err
	}
	info, err := os.Stat(real)
	if err != nil {
		return err
	}
	if err := errors.Join(home.RemoveAll(to), home.MkdirAll(filepath.Dir(to), 0o700)); err != nil {
		return err
	}
	switch {
	case info.Mode().IsRegular():
		data, err := os.ReadFile(real)
		if err != nil {
			return err
		}
		return home.WriteFile(to, data, info.Mode().Perm()|0o600)
	case !info.IsDir():
		return nil
	}
	entries, err := os.ReadDir(real)
	if err != nil {
		return err
	}
	for _, e := range entries {
		err = errors.Join(err, copySettings(home, filepath.Join(real, e.Name()), filepath.Join(to, e.Name()), append(above, real)))
	}
	return errors.Join(err, home.MkdirAll(to, 0o700))
}

// CheckBoxes returns an error for each member whose agent program cannot reach its model from its sandbox.
func CheckBoxes(team *configs.Team, found map[string]Found) error {
	var errs []error
	for m := range team.EachAndTemplates() {
		for _, a := range team.AgentsOf(*m) {
			l := found[a.Name]
			if !m.Sandbox.On() || m.Gateway.On || m.Sandbox.Network != sandbox.NetworkOff || a.Model.Script != "" || len(l.preset.hosts) == 0 {
				continue
			}
			env := l.preset.environment(Environment(os.Environ()), os.Environ())
			if _, here := l.network(append(env, pairs(a.Env)...), ""); len(here) == 0 {
				errs = append(errs, texts.Errorf(configs.ErrSpec, "member %s: sandbox.network: off keeps %s from its model; "+
					"write {allow: []}, which adds the hosts of %s", m.Name, a.Preset, a.Preset))
			}
		}
	}
	return errors.Join(errs...)
}

// BoxWarnings names members in sandboxes whose agent programs may be without the user's login there.
func BoxWarnings(team *configs.Team) (warnings []error) {
	for m := range team.EachAndTemplates() {
		for _, a := range team.AgentsOf(*m) {
			p, known := presetOf(a.Preset)
			if known && m.Sandbox.On() && a.Auth == configs.Login && a.Model.Script == "" && len(p.logins) == 0 && p.loginByRoute(os.Getenv) == "" {
				warnings = append(warnings, fmt.Errorf("member %s: a sandbox does not reach the keychain of the desktop, where %s may keep its login; "+
					"write auth: key if it asks for one", m.Name, a.Preset))
			}
		}
	}
	return warnings
}
