package worktree

import (
	"strconv"

	"github.com/coveyteam/covey/hooks/proc"
)

// setting is a git setting that overrides configuration files.
type setting struct{ key, value string }

// hookEvents are the hooks that commands of this package could run. guard also disables
// each configured hook by name; this list disables one that is added between reading
// the configuration and the call.
var hookEvents = [...]string{
	"post-checkout", "post-index-change", "post-merge", "pre-merge-commit", "prepare-commit-msg", "commit-msg",
	"reference-transaction", "pre-auto-gc", "pre-commit", "post-commit", "post-rewrite", "fsmonitor-watchman",
}

// baseOptions returns options for every call: git runs no other programs, and its
// results depend only on the files. They are on the command line because git passes
// those on to submodules.
func baseOptions() []string {
	settings := []setting{
		{"core.hooksPath", "/dev/null"},
		{"core.fsmonitor", "false"},
		{"core.untrackedCache", "false"},
		{"core.safecrlf", "false"}, // else mixed line endings are an error
		// Other values of these would hide changes of files.
		{"core.trustctime", "true"},
		{"core.checkStat", "default"},
		{"core.ignoreStat", "false"},
		{"core.splitIndex", "false"},
		// Programs that the repository selects, and background work.
		{"commit.gpgSign", "false"},
		{"gc.auto", "0"},
		{"maintenance.auto", "false"},
		{"submodule.recurse", "false"},
		{"diff.ignoreSubmodules", "dirty"}, // reading them would apply their settings
		{"diff.submodule", "short"},
		{"diff.noprefix", "false"},
		{"diff.mnemonicPrefix", "false"},
		{"protocol.allow", "never"}, // GIT_ALLOW_PROTOCOL overrides the settings of single protocols
		{"branch.autoSetupMerge", "false"},
		{"core.logAllRefUpdates", "true"}, // allows to undo mistakes
	}
	// Configured hooks run in addition to those of core.hooksPath (git 2.54).
	for _, event := range hookEvents {
		settings = append(settings, setting{"hook." + event + ".enabled", "false"})
	}
	var options []string
	for _, s := range settings {
		options = append(options, "-c", s.key+"="+s.value)
	}
	return options
}

// settingsEnv passes settings with arbitrary keys to git. On the command line, a key
// with an equals sign would be split there.
func settingsEnv(settings []setting) []string {
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(settings))}
	for i, s := range settings {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+s.key, "GIT_CONFIG_VALUE_"+n+"="+s.value)
	}
	return env
}

// environment returns the part of covey's environment that git gets. It is an
// allow-list, because an inherited GIT_DIR or GIT_EXTERNAL_DIFF would change what git
// does, and the user's filters need no keys of covey's.
func environment(environ []string) []string {
	allowed := []string{
		"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TMP", "TEMP", "TZ", "XDG_CONFIG_HOME", "XDG_CACHE_HOME",
		"GIT_AUTHOR_*", "GIT_COMMITTER_*", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
		"SYSTEMROOT", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA",
	}
	return append(proc.KeepEnv(environ, allowed),
		"LC_ALL=C", // its messages are parsed
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_NO_LAZY_FETCH=1",     // ignored by git before 2.44
		"GIT_ALLOW_PROTOCOL=none", // nothing is fetched, whatever protocol.ext.allow says
		"GIT_TERMINAL_PROMPT=0",
		// git replace, which any member can run, would show and test other files than are merged.
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_GRAFT_FILE=",         // the repository's could hide which commits a branch has got
		"GIT_LITERAL_PATHSPECS=1", // a file may be called ':(top)x' or '*'
		"GIT_EDITOR=false",
		"GIT_PAGER=cat",
	)
}
