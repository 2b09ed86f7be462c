package worktree

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"
)

// setting is a git setting that outranks what stands in files.
type setting struct{ key, value string }

// calm are options of every call: git runs nothing beside what it was asked for,
// and what it finds out depends on the files alone. On the command line, because
// from there git hands them on to what it runs in submodules.
func calm() []string {
	settings := []setting{
		{"core.hooksPath", "/dev/null"},
		{"core.fsmonitor", "false"},
		{"core.untrackedCache", "false"},
		{"core.safecrlf", "false"}, // or a mixed line ending would be an error
		// Whoever sets these could change a file unseen.
		{"core.trustctime", "true"},
		{"core.checkStat", "default"},
		{"core.ignoreStat", "false"},
		{"core.splitIndex", "false"},
		// Programs of the repository's choice, and work behind our back.
		{"commit.gpgSign", "false"},
		{"gc.auto", "0"},
		{"maintenance.auto", "false"},
		{"submodule.recurse", "false"},
		{"diff.ignoreSubmodules", "dirty"}, // to look into them is to go by their settings
		{"diff.submodule", "short"},
		{"diff.noprefix", "false"},
		{"diff.mnemonicPrefix", "false"},
		{"protocol.allow", "never"},
		{"branch.autoSetupMerge", "false"},
		{"core.logAllRefUpdates", "true"}, // the way back from a mistake
	}
	var options []string
	for _, s := range settings {
		options = append(options, "-c", s.key+"="+s.value)
	}
	return options
}

// disarm are settings against the programs that the repository's own configuration
// names for filters and drivers: its files say which of them apply. It is read
// anew each time, for it can have been written since.
//
// Only the scopes that lie in the repository count. What the user has in the global file
// is the user's own choice, and large-file filters from there have to work.
func disarm(ctx context.Context, dir string) ([]setting, error) {
	out, err := once(ctx, call{
		args: []string{"config", "--show-scope", "--name-only", "-z", "--list"}, dir: dir,
	})
	if err != nil {
		return nil, err
	}
	against := []setting{}
	listed := fields(out) // scope, key, scope, key, …
	for i := 0; i+1 < len(listed); i += 2 {
		if scope, key := listed[i], listed[i+1]; scope == "local" || scope == "worktree" {
			if value, armed := harmless(key); armed {
				against = append(against, setting{key, value})
			}
		}
	}
	return against, nil
}

// harmless is the value with which a setting runs nothing, if it can run
// something. A filter without a program leaves content as it is. A merge driver
// without one would take one side silently; one that fails makes a conflict.
//
// The names in between (filter.NAME.clean) are anybody's and may hold dots, hence the
// last dot counts.
func harmless(key string) (value string, armed bool) {
	section, rest, _ := strings.Cut(key, ".")
	dot := strings.LastIndexByte(rest, '.')
	if dot < 0 {
		return "", false
	}
	switch section + "." + rest[dot+1:] {
	case "filter.clean", "filter.smudge", "filter.process", "diff.command", "diff.textconv":
		return "", true
	case "filter.required":
		return "false", true
	case "merge.driver":
		return "false", true
	}
	return "", false
}

// settingsEnv hands settings with keys of others' making to git. On the command
// line a key that holds an equals sign would be cut there, and mean another one.
func settingsEnv(settings []setting) []string {
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(settings))}
	for i, s := range settings {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+s.key, "GIT_CONFIG_VALUE_"+n+"="+s.value)
	}
	return env
}

// environment is what git sees of covey's environment: an allow-list, because a
// GIT_DIR or GIT_EXTERNAL_DIFF that happens to lie there would lead it astray, and
// the filters of the user need no keys of covey's.
func environment(environ []string) []string {
	allowed := []string{
		"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TMP", "TEMP", "TZ", "XDG_CONFIG_HOME", "XDG_CACHE_HOME",
		"GIT_AUTHOR_*", "GIT_COMMITTER_*", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
		"SYSTEMROOT", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA",
	}
	env := slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return !slices.ContainsFunc(allowed, func(pattern string) bool {
			ok, err := path.Match(pattern, name)
			return err == nil && ok
		})
	})
	return append(env,
		"LC_ALL=C", // its messages are read
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_LITERAL_PATHSPECS=1", // a file may be called ':(top)x' or '*'
		"GIT_EDITOR=false",
		"GIT_PAGER=cat",
	)
}
