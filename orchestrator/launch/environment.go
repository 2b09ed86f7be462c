package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/orchestrator/state"
)

// passVariable names further variables, separated by commas, that covey passes on to
// hooks and tools.
const passVariable = "COVEY_PASS_ENV"

// Environment returns the part of covey's own environment that hooks, gates and tools
// get. It is an allow-list, so that keys and tokens do not reach every script and agent
// of a team. Variables that builds and tests usually need are included.
func Environment(environ []string) []string {
	allowed := []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TMP", "TEMP", "TZ", "PWD",
		"EDITOR", "VISUAL", "PAGER", "HOSTNAME", "CI", "NO_COLOR", "SSH_AUTH_SOCK",
		"LC_*", "XDG_*", "CGO_*", "CC", "CXX", "CFLAGS", "LDFLAGS", "PKG_CONFIG_PATH", "MAKEFLAGS",
		"CARGO_HOME", "RUSTUP_HOME", "RUST_*", "JAVA_HOME", "MAVEN_OPTS", "GRADLE_HOME",
		"GRADLE_USER_HOME", "GRADLE_OPTS", "NODE_PATH", "NODE_ENV",
		"NODE_EXTRA_CA_CERTS", "NVM_DIR", "PYENV_ROOT", "PYTHONPATH", "VIRTUAL_ENV", "GEM_HOME", "GEM_PATH",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
		"SSL_CERT_*", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_USE_SYSTEM_CA", "NODE_USE_ENV_PROXY",
		"GIT_AUTHOR_*", "GIT_COMMITTER_*", "GIT_SSL_CAINFO", "SYSTEMROOT", "COMSPEC", "PATHEXT",
		"COVEY_HOOK_DEPTH",
		// Listed one by one, because GO* would include GOOGLE_API_KEY.
		"GOROOT", "GOPATH", "GOBIN", "GOCACHE", "GOMODCACHE", "GOTMPDIR", "GOENV", "GOFLAGS", "GOWORK", "GOTOOLCHAIN",
		"GOPROXY", "GONOPROXY", "GOPRIVATE", "GOSUMDB", "GONOSUMDB", "GOINSECURE", "GOVCS", "GO111MODULE",
		"GOOS", "GOARCH", "GOAMD64", "GOARM", "GOARM64", "GOEXPERIMENT", "GODEBUG", "GOMAXPROCS", "GOMEMLIMIT", "GOGC",
		"GORACE", "GOTRACEBACK", "GOCOVERDIR",
	}
	for _, kv := range environ {
		if name, list, _ := strings.Cut(kv, "="); name == passVariable {
			for pattern := range strings.SplitSeq(list, ",") {
				allowed = append(allowed, strings.TrimSpace(pattern))
			}
		}
	}
	return proc.KeepEnv(environ, allowed)
}

// ChildEnvironment is Environment for a team's child processes. Its variables let them
// find the running covey and its team, even if their HOME differs from the user's. Gates judge what
// is in the repository, and not what git replace shows instead.
func ChildEnvironment(bin string, place state.Place) []string {
	env := Environment(os.Environ())
	return append(env, "COVEY_TEAM="+place.Team, "COVEY_WORKSPACE="+place.Workspace, "COVEY_BIN="+bin,
		"COVEY_STATE_HOME="+place.Home(), "GIT_NO_REPLACE_OBJECTS=1", place.Mark())
}

// HandEnvironment is ChildEnvironment for what the operator runs by hand as the team would: its
// processes do not carry the team's mark.
func HandEnvironment(bin string, place state.Place) []string {
	mark := place.Mark()
	return slices.DeleteFunc(ChildEnvironment(bin, place), func(kv string) bool { return kv == mark })
}

// programEnvironment returns the environment of an agent program: that of other child
// processes, adapted to its preset, and no proxy between it and covey.
func programEnvironment(bin string, place state.Place, p preset) []string {
	env := p.environment(ChildEnvironment(bin, place), os.Environ())
	env = slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "PWD=") })
	// Its shell finds the covey that started it, unless PATH has another one first.
	dirs := append(filepath.SplitList(lastOf(env, "PATH")), filepath.Dir(bin))
	env = append(env, "PWD="+place.Workspace, "PATH="+strings.Join(dirs, string(filepath.ListSeparator)))
	return append(env, bypassProxy(env)...)
}

// bypassProxy excludes this machine from proxies, if any is set, because the team tools
// and scripted models are served here.
func bypassProxy(env []string) []string {
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

// lastOf returns the value of a variable. The last one counts, as for a process with
// that environment.
func lastOf(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}
