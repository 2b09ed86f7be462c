package launch

import (
	"os"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/notation"
)

// keyName matches names of variables that hold keys, such as API_KEY, NPM_TOKEN and PGPASSWORD.
var keyName = notation.Pattern(`(?i)((^|[_-]|api|auth|access)(keys?|tokens?|pat|auth)` +
	`|secrets?|passw(or)?d|passphrase|credentials?|_pwd)$`)

// Secrets returns the values that must not leave the machine in a text (notation.Mask): those of
// variables of an environment that hold keys by their names or for a preset, and those that a
// team's agents and models get, from files as well. A file that cannot be read gives none. team
// may be nil.
func Secrets(team *configs.Team, environ []string) []string {
	var names, list []string
	for _, p := range presets() {
		names = append(names, p.keyVars...)
	}
	isKey := func(name string) bool { return keyName().MatchString(name) || slices.Contains(names, name) }
	for _, kv := range environ {
		if name, value, _ := strings.Cut(kv, "="); isKey(name) {
			list = append(list, value)
		}
	}
	if team != nil {
		list = append(list, teamSecrets(team, isKey)...)
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(s string) bool { return len(s) < notation.MinSecret })
}

// teamSecrets returns the values that the agents and models of a team get.
func teamSecrets(team *configs.Team, isKey func(string) bool) []string {
	var list []string
	for _, a := range AgentsInUse(team) {
		for _, v := range a.Env {
			if v.File != "" || isKey(v.Name) || slices.ContainsFunc(v.Refers(), isKey) {
				list = append(list, v.Value)
			}
		}
		if a.KeyFile != "" {
			list = append(list, secretFile(a.KeyFile))
		}
	}
	for _, m := range RealModels(team) {
		if m.KeyFile != "" {
			list = append(list, secretFile(m.KeyFile))
		}
	}
	return list
}

// secretFile returns what a key file holds, also if it is no key; empty if it cannot be read.
func secretFile(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxKey {
		return ""
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
