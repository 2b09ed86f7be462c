package launch

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
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
	dirs := append(filepath.SplitList(proc.Getenv(env, "PATH")), filepath.Dir(bin))
	env = append(env, "PWD="+place.Workspace, "PATH="+strings.Join(dirs, string(filepath.ListSeparator)))
	return append(env, bypassProxy(env)...)
}

// bypassProxy excludes this machine from proxies, if any is set, because the team tools
// and scripted models are served here.
func bypassProxy(env []string) []string {
	var set []string
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		hosts := "127.0.0.1,localhost"
		if old := proc.Getenv(env, name); old != "" {
			hosts = old + "," + hosts
		}
		set = append(set, name+"="+hosts)
	}
	return set
}

// route is a set of variables that decide where the programs of a preset send their requests and
// who pays for these. They are taken from covey's own environment, which only the operator sets,
// and reach the programs of that preset alone, because they may hold keys.
type route struct {
	preset configs.Preset
	// by is a variable with which the program needs no login. The others pass only if it is
	// set. Empty: they always pass.
	by     string
	vars   []string // names, and patterns as path.Match reads them
	source string   // where they are documented, or what reads them
}

// routes returns the routes of all presets. API keys (preset.keyVars) pass with `auth: key`
// only, also those that match a pattern. Proxies and certificates are in Environment, because
// all programs need them.
func routes() []route {
	return []route{
		{configs.Claude, "", []string{
			"ANTHROPIC_*", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_CLIENT_*", "CLAUDE_CODE_SKIP_*_AUTH", "API_TIMEOUT_MS",
			"AWS_PROFILE", "AWS_REGION", "CLOUD_ML_REGION", // its settings may select Bedrock or Vertex
		}, "code.claude.com/docs/en/env-vars and /network-config"},
		{configs.Claude, "ANTHROPIC_AUTH_TOKEN", nil, "code.claude.com/docs/en/llm-gateway"},
		{configs.Claude, "CLAUDE_CODE_OAUTH_TOKEN", nil, "code.claude.com/docs/en/authentication"},
		{configs.Claude, "CLAUDE_CODE_USE_BEDROCK", []string{"AWS_*"}, "code.claude.com/docs/en/amazon-bedrock"},
		{configs.Claude, "CLAUDE_CODE_USE_VERTEX", []string{
			"VERTEX_REGION_*", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT",
		}, "code.claude.com/docs/en/google-vertex-ai"},
		{configs.Claude, "CLAUDE_CODE_USE_FOUNDRY", []string{"AZURE_*"}, "code.claude.com/docs/en/microsoft-foundry"},
		{configs.Codex, "", []string{"CODEX_HOME", "CODEX_SQLITE_HOME", "CODEX_CA_CERTIFICATE", "OPENAI_BASE_URL",
			"OPENAI_ORGANIZATION", "OPENAI_PROJECT"},
			"developers.openai.com/docs/config-file/environment-variables; codex 0.171 reads the last three, too"},
		{configs.Codex, "CODEX_ACCESS_TOKEN", nil, "developers.openai.com/docs/config-file/environment-variables"},
		{configs.Gemini, "", []string{
			"GEMINI_CLI_HOME", "GEMINI_MODEL", "GEMINI_DEFAULT_AUTH_TYPE", "GEMINI_API_KEY_AUTH_MECHANISM",
			"GEMINI_CLI_CUSTOM_HEADERS", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL", "GOOGLE_GENAI_*",
			"GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_PROJECT_ID", "GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_QUOTA_PROJECT",
			"GOOGLE_CLOUD_UNIVERSE_DOMAIN", "GOOGLE_APPLICATION_CREDENTIALS",
		}, "geminicli.com/docs/get-started/authentication; gemini-cli 0.61 reads all of them"},
		{configs.Gemini, "GOOGLE_CLOUD_ACCESS_TOKEN", nil, "gemini-cli 0.61 reads it with GOOGLE_GENAI_USE_GCA"},
		{configs.OpenCode, "", []string{
			"OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "AWS_PROFILE", "AWS_REGION", "AZURE_RESOURCE_NAME",
			"CLOUDFLARE_ACCOUNT_ID", "CLOUDFLARE_GATEWAY_ID", "GOOGLE_CLOUD_PROJECT", "VERTEX_LOCATION",
		}, "opencode.ai/docs/providers; base URLs are in its configuration"},
		{configs.Copilot, "", []string{"COPILOT_HOME", "COPILOT_MODEL", "COPILOT_OFFLINE", "COPILOT_GH_HOST",
			"GH_HOST", "COPILOT_PROVIDER_*"}, "docs.github.com/copilot/how-tos/copilot-cli/customize-copilot/use-byok-models"},
		{configs.Copilot, "COPILOT_PROVIDER_API_KEY", nil, "as above"},
		{configs.Copilot, "COPILOT_PROVIDER_BASE_URL", nil, "as above: no login at GitHub is needed then"},
		{configs.Qwen, "", []string{"QWEN_HOME", "QWEN_MODEL", "OPENAI_BASE_URL", "OPENAI_MODEL"},
			"qwenlm.github.io/qwen-code-docs/en/cli/authentication; qwen-code 0.24 reads all of them"},
	}
}

// isSwitchedOn reports whether a variable is set to a value that means yes.
func isSwitchedOn(value string) bool {
	return !slices.Contains([]string{"", "0", "false", "no", "off"}, strings.ToLower(value))
}

// passes reports whether a variable passes by this route in an environment.
func (r route) passes(name string, env func(string) string) bool {
	if r.by != "" && !isSwitchedOn(env(r.by)) {
		return false
	}
	return name == r.by || slices.ContainsFunc(r.vars, func(pattern string) bool {
		ok, _ := path.Match(pattern, name) // the patterns are valid
		return ok
	})
}

// routed reports whether the programs of the preset get a variable by one of its routes.
func (p preset) routed(name string, env func(string) string) bool {
	return !slices.Contains(p.keyVars, name) && slices.ContainsFunc(routes(), func(r route) bool {
		return r.preset == p.name && r.passes(name, env)
	})
}

// loginByRoute returns the variable that makes a login of the preset unnecessary; "" if none
// is set.
func (p preset) loginByRoute(env func(string) string) string {
	for _, r := range routes() {
		if r.preset == p.name && r.by != "" && isSwitchedOn(env(r.by)) {
			return r.by
		}
	}
	return ""
}

// foreign reports whether a variable holds a key that the programs of the preset must not find:
// an API key, which they would use instead of their login, at the operator's cost, or a secret of
// another preset's route. Credentials of a cloud are not foreign: tools use them as well, and
// they are there only if the operator passes them to all. A program other than Copilot needs
// GitHub's token for git.
func (p preset) foreign(name string) bool {
	if slices.Contains(p.keyVars, name) {
		return true
	}
	for _, other := range presets() {
		if slices.Contains(other.keyVars, name) && strings.HasSuffix(name, "_API_KEY") {
			return true
		}
	}
	return keyName().MatchString(name) && slices.ContainsFunc(routes(), func(r route) bool {
		if r.by != "" {
			r = route{preset: r.preset, vars: []string{r.by}}
		}
		return r.preset != p.name && r.passes(name, func(string) string { return "" })
	})
}

// environment returns env, that of other child processes, as the programs of the preset get it:
// without keys that are not theirs, and with what their routes take from environ.
func (p preset) environment(env, environ []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return p.foreign(name)
	})
	set := func(name string) string { return proc.Getenv(environ, name) }
	for _, kv := range environ {
		if name, _, _ := strings.Cut(kv, "="); p.routed(name, set) {
			env = append(env, kv)
		}
	}
	return env
}
