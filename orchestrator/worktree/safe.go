package worktree

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// setting is a git setting that outranks what stands in files.
type setting struct{ key, value string }

// hookEvents are the hooks that the commands of this package could run. Those that a
// configuration names are switched off one by one as well (guard); this holds also for
// one that is written between the look at it and the call.
var hookEvents = [...]string{
	"post-checkout", "post-index-change", "post-merge", "pre-merge-commit", "prepare-commit-msg", "commit-msg",
	"reference-transaction", "pre-auto-gc", "pre-commit", "post-commit", "post-rewrite", "fsmonitor-watchman",
}

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
		{"protocol.allow", "never"}, // GIT_ALLOW_PROTOCOL outranks a single protocol that is allowed
		{"branch.autoSetupMerge", "false"},
		{"core.logAllRefUpdates", "true"}, // the way back from a mistake
	}
	// Hooks that configuration names run beside those of core.hooksPath (git 2.54).
	for _, event := range hookEvents {
		settings = append(settings, setting{"hook." + event + ".enabled", "false"})
	}
	var options []string
	for _, s := range settings {
		options = append(options, "-c", s.key+"="+s.value)
	}
	return options
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
		"GIT_NO_LAZY_FETCH=1",     // git before 2.44 does not know it
		"GIT_ALLOW_PROTOCOL=none", // nothing is fetched, whatever protocol.ext.allow says
		"GIT_TERMINAL_PROMPT=0",
		"GIT_LITERAL_PATHSPECS=1", // a file may be called ':(top)x' or '*'
		"GIT_EDITOR=false",
		"GIT_PAGER=cat",
	)
}
