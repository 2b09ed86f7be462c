package launch

import (
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
)

// keyName matches names of variables that hold keys, such as API_KEY, NPM_TOKEN and PGPASSWORD.
var keyName = texts.Pattern(`(?i)((^|[_-]|api|auth|access)(keys?|tokens?|pat|auth)` +
	`|secrets?|passw(or)?d|passphrase|credentials?|_pwd|custom_headers|bearer_token_[a-z]+)$`)

// Secrets returns the values that must not leave the machine in a text (texts.Mask): those of
// variables of an environment that hold keys by their names or for a preset, and those that a
// team's programs, models, webhooks and hooks get, from files as well. A file that cannot be read gives none.
// team may be nil.
func Secrets(team *configs.Team, environ []string) []string {
	var list []string
	isKey := keyNames()
	for _, kv := range environ {
		if name, value, _ := strings.Cut(kv, "="); isKey(name) {
			list = append(list, value)
			for header := range strings.Lines(value) { // NAME: VALUE
				if _, key, ok := strings.Cut(header, ": "); ok {
					list = append(list, strings.TrimSpace(key))
				}
			}
		}
	}
	if team != nil {
		list = append(append(list, teamSecrets(team, isKey)...), requestSecrets(team, environ)...)
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(s string) bool { return len(s) < texts.MinSecret })
}

// keyNames returns what tells variables that hold keys, by their names or for a preset.
func keyNames() (isKey func(name string) bool) {
	var names []string
	for _, p := range presets() {
		names = append(names, p.keyVars...)
	}
	return func(name string) bool { return keyName().MatchString(name) || slices.Contains(names, name) }
}

// SecretsAtHand names the secrets that a process of a team could reach: variables of an
// environment that hold keys, the key files of a team, and the logins of agent programs on this
// machine, of all that covey knows, because a member's shell reads files. It names no values, and
// knows no other secrets, such as those of git.
func SecretsAtHand(team *configs.Team, environ []string) []string {
	var found []string
	isKey := keyNames()
	for _, kv := range environ {
		if name, value, _ := strings.Cut(kv, "="); isKey(name) && len(value) >= texts.MinSecret {
			found = append(found, "the variable "+name)
		}
	}
	for _, path := range keyFiles(team) {
		if secretFile(path) != "" {
			found = append(found, "the key file "+path)
		}
	}
	there := func(path string) bool { _, err := os.Stat(path); return err == nil }
	for _, p := range presets() {
		if state, by := p.loginState(os.Getenv, there); state == LoginYes {
			found = append(found, "the login of "+string(p.name)+" ("+by+")")
		}
	}
	return found
}

// teamSecrets returns the values that the programs and models of a team get.
func teamSecrets(team *configs.Team, isKey func(string) bool) []string {
	var list []string
	for _, v := range variablesOf(team) {
		if v.File != "" || isKey(v.Name) || slices.ContainsFunc(v.Refers(), isKey) {
			list = append(list, v.Value)
		}
	}
	for _, path := range keyFiles(team) {
		list = append(list, secretFile(path))
	}
	return list
}

// requestSecrets returns what of the HTTP requests of a team is secret: the values of headers, the variables of
// an environment that headers may name, and the paths and queries of URLs, by which many hosts know who calls.
func requestSecrets(team *configs.Team, environ []string) []string {
	layers := team.Layers(nil)
	var headers []map[string]string
	var urls, names, list []string
	for _, s := range layers.Servers {
		urls, headers = append(urls, s.URL), append(headers, s.Headers)
	}
	for _, m := range RealModels(team) {
		headers = append(headers, m.Headers)
	}
	for _, n := range team.Notify {
		urls = append(urls, n.Webhook)
	}
	for _, s := range layers.Sources {
		for _, h := range s.Settings.Handlers() {
			urls, headers, names = append(urls, h.URL), append(headers, h.Headers), append(names, h.AllowedEnvVars...)
		}
	}
	for _, set := range headers {
		for name, value := range set {
			if !openHeader().MatchString(name) {
				list = append(list, value)
			}
		}
	}
	for _, kv := range environ {
		if name, value, _ := strings.Cut(kv, "="); slices.Contains(names, name) {
			list = append(list, value)
		}
	}
	for _, text := range urls {
		if u, err := url.Parse(text); err == nil {
			list = append(list, strings.TrimPrefix(u.RequestURI(), "/"))
		}
	}
	return list
}

// openHeader matches the headers whose values are no secrets, and occur in many texts.
var openHeader = texts.Pattern(`(?i)^(accept|content|user-agent$|anthropic-version$)`)

// variablesOf returns the variables that a spec sets for agent programs and MCP servers.
func variablesOf(team *configs.Team) []configs.EnvVar {
	var list []configs.EnvVar
	for _, a := range AgentsInUse(team) {
		list = append(list, a.Env...)
	}
	for _, s := range team.MCPServers {
		list = append(list, s.Environ...)
	}
	return list
}

// keyFiles returns the files of a team that hold keys, sorted, each once: those of agent programs,
// models, MCP servers, webhooks and variables.
func keyFiles(team *configs.Team) []string {
	var files []string
	for _, a := range AgentsInUse(team) {
		files = append(files, a.KeyFile)
	}
	for _, m := range RealModels(team) {
		files = append(files, m.KeyFile)
	}
	for _, s := range team.MCPServers {
		files = append(files, s.KeyFile)
	}
	for _, n := range team.Notify {
		files = append(files, n.SecretFile)
	}
	for _, v := range variablesOf(team) {
		files = append(files, v.File)
	}
	slices.Sort(files)
	return slices.DeleteFunc(slices.Compact(files), func(path string) bool { return path == "" })
}

// secretFile returns what a key file holds, also if it is no key; empty if it cannot be read.
func secretFile(path string) string {
	data, _ := texts.ReadFile(path, maxKey)
	return strings.TrimSpace(string(data))
}
