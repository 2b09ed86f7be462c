package launch

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/orchestrator/state"
)

// passVariable names further variables, separated by commas, that hooks and
// tools get from covey's own environment.
const passVariable = "COVEY_PASS_ENV"

// Environment is what hooks, gates and tools see of covey's own environment:
// an allow-list, so that keys and tokens that happen to lie there do not reach
// every script and agent of a team. What builds and tests usually need passes.
func Environment(environ []string) []string {
	allowed := []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TMP", "TEMP", "TZ", "PWD",
		"EDITOR", "VISUAL", "PAGER", "HOSTNAME", "CI", "NO_COLOR", "SSH_AUTH_SOCK",
		"LC_*", "XDG_*", "CGO_*", "CC", "CXX", "CFLAGS", "LDFLAGS", "PKG_CONFIG_PATH", "MAKEFLAGS",
		"CARGO_HOME", "RUSTUP_HOME", "RUST_*", "JAVA_HOME", "MAVEN_OPTS", "GRADLE_HOME",
		"GRADLE_USER_HOME", "GRADLE_OPTS", "NODE_PATH", "NODE_ENV",
		"NODE_EXTRA_CA_CERTS", "NVM_DIR", "PYENV_ROOT", "PYTHONPATH", "VIRTUAL_ENV", "GEM_HOME", "GEM_PATH",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_*",
		"GIT_AUTHOR_*", "GIT_COMMITTER_*", "GIT_SSL_CAINFO", "SYSTEMROOT", "COMSPEC", "PATHEXT",
		"COVEY_HOOK_DEPTH",
		// One by one: GO* would be GOOGLE_API_KEY as well.
		"GOROOT", "GOPATH", "GOBIN", "GOCACHE", "GOMODCACHE", "GOTMPDIR", "GOENV", "GOFLAGS", "GOWORK", "GOTOOLCHAIN",
		"GOPROXY", "GONOPROXY", "GOPRIVATE", "GOSUMDB", "GONOSUMDB", "GOINSECURE", "GOVCS", "GO111MODULE",
		"GOOS", "GOARCH", "GOAMD64", "GOARM", "GOARM64", "GOEXPERIMENT", "GODEBUG", "GOMAXPROCS", "GOMEMLIMIT", "GOGC",
		"GORACE", "GOTRACEBACK", "GOCOVERDIR",
	}
	for _, kv := range environ {
		if name, list, _ := strings.Cut(kv, "="); name == passVariable {
			allowed = append(allowed, strings.Split(list, ",")...)
		}
	}
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return !slices.ContainsFunc(allowed, func(pattern string) bool {
			ok, err := path.Match(strings.TrimSpace(pattern), name)
			return err == nil && ok
		})
	})
}

// ChildEnvironment is environment for a team's children: they find the running
// covey and its team, also those whose HOME is not the user's.
func ChildEnvironment(bin string, place state.Place) []string {
	env := Environment(os.Environ())
	return append(env, "COVEY_TEAM="+place.Team, "COVEY_WORKSPACE="+place.Workspace, "COVEY_BIN="+bin,
		"COVEY_STATE_HOME="+place.Home(), place.Mark())
}

// programEnvironment is what an agent program sees of covey's own environment:
// as other children, what its preset lets pass, and no proxy between it and
// covey. API keys of vendors are left out even if they may pass to tools: a
// program that finds one would use it in place of its login, and somebody pays.
func programEnvironment(bin string, place state.Place, p preset) []string {
	keys := p.foreignKeys()
	env := slices.DeleteFunc(ChildEnvironment(bin, place), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return name == "PWD" || slices.Contains(keys, name)
	})
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); slices.Contains(p.pass, name) {
			env = append(env, kv)
		}
	}
	// Its shell finds the covey that it belongs to, unless there is another first.
	dirs := append(filepath.SplitList(lastOf(env, "PATH")), filepath.Dir(bin))
	env = append(env, "PWD="+place.Workspace, "PATH="+strings.Join(dirs, string(filepath.ListSeparator)))
	return append(env, besideProxy(env)...)
}

// besideProxy keeps requests to this machine from going through a proxy, where
// one is set: the team tools and scripted models are served here.
func besideProxy(env []string) []string {
	var set []string
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		hosts := "127.0.0.1,localhost"
		if old := lastOf(env, name); old != "" {
			hosts = old + "," + hosts
		}
		set = append(set, name+"="+hosts)
	}
	return set
}

// lastOf is the value of a variable; of several the last counts, as for a
// process that gets them.
func lastOf(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// foreignKeys are the variables that hold vendors' API keys, and whatever else
// the programs of this preset take for one. A GitHub token is one to Copilot;
// the others need it for git, if they may have it.
func (p preset) foreignKeys() []string {
	names := slices.Clone(p.keyVars)
	for _, other := range presets() {
		for _, name := range other.keyVars {
			if strings.HasSuffix(name, "_API_KEY") {
				names = append(names, name)
			}
		}
	}
	return names
}
