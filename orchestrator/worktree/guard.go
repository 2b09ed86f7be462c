package worktree

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/coveyteam/covey/hooks/shell"
)

// guard keeps git from running programs that the repository's own configuration names.
// It is created for each operation that could run one, because anybody who can write in
// the workspace can change the configuration. A change between reading the
// configuration and the calls may still run a program: in git's own session, without
// rights at the team.
type guard struct {
	settings  []setting
	forbidden []string // filters whose files are withheld
	sparse    bool     // not all files are checked out
	user      Person   // the configured user
}

// entry is one line of a configuration.
type entry struct {
	key, value string
	bare       bool // it has no value, which means true
}

// guard reads the configuration and returns the settings that override it, unless the
// operation has read it already.
//
// Filters, diff drivers and merge drivers of the system's and the user's configuration
// do run: the user chose them, and large-file filters from there must work.
func (r *Repo) guard(ctx context.Context) (*guard, error) {
	if r.known != nil {
		return r.known, nil
	}
	outer, own, err := r.entries(ctx)
	if err != nil {
		return nil, err
	}
	g := guardAgainst(outer, own, r.git.allowed())
	g.sparse = isTrue(slices.Concat(outer, own), "core.sparsecheckout")
	g.user = userOf(slices.Concat(outer, own)) // what outranks the files (outer, too) names no user
	return g, nil
}

// entries returns the configuration that applies: that of the repository itself, and the rest.
func (r *Repo) entries(ctx context.Context) (outer, own []entry, err error) {
	out, err := r.git.run(ctx, call{args: []string{"config", "--show-scope", "-z", "--list"}, dir: r.Top})
	listed := fields(out) // scope, key and value, scope, …
	for i := 0; i+1 < len(listed); i += 2 {
		if e := entryOf(listed[i+1]); listed[i] == "local" || listed[i] == "worktree" {
			own = append(own, e)
		} else {
			outer = append(outer, e)
		}
	}
	return outer, own, err
}

// entryOf parses a key and its value as git prints them with -z.
func entryOf(text string) entry {
	key, value, ok := strings.Cut(text, "\n")
	return entry{key, value, !ok}
}

// part splits the key of an entry in a section with names, such as filter.NAME.clean;
// names are arbitrary and may contain dots.
func (e entry) part(section string) (name, variable string, ok bool) {
	rest, ok := strings.CutPrefix(e.key, section+".")
	dot := strings.LastIndexByte(rest, '.')
	if !ok || dot < 0 {
		return "", "", false
	}
	return rest[:dot], rest[dot+1:], true
}

// guardAgainst returns the overrides for the entries of a repository.
//
// A diff driver without a program shows content unchanged. A merge driver without one
// would silently take one side, so it is set to one that fails, which makes a conflict.
// All configured hooks are disabled, because they are not meant for covey's operations.
func guardAgainst(outer, own []entry, allowed []Filter) *guard {
	g := &guard{settings: []setting{}}
	for _, e := range slices.Concat(outer, own) {
		if name, _, ok := e.part("hook"); ok {
			g.set("hook."+name+".enabled", "false")
		}
	}
	for _, e := range own {
		if name, variable, ok := e.part("diff"); ok && (variable == "command" || variable == "textconv") {
			g.set(e.key, last(outer, "diff."+name+"."+variable))
		}
		if name, variable, ok := e.part("merge"); ok && variable == "driver" {
			driver := last(outer, "merge."+name+".driver")
			if driver == "" {
				driver = "false"
			}
			g.set(e.key, driver)
		}
	}
	g.filters(outer, own, allowed)
	return g
}

// set adds a setting, once.
func (g *guard) set(key, value string) {
	if s := (setting{key, value}); !slices.Contains(g.settings, s) {
		g.settings = append(g.settings, s)
	}
}

// isTrue reports whether a key has a value that git treats as true, such as none.
func isTrue(entries []entry, key string) bool {
	for _, e := range slices.Backward(entries) {
		if e.key == key {
			n, err := strconv.Atoi(e.value)
			return err == nil && n != 0 || slices.Contains([]string{"true", "yes", "on", ""}, strings.ToLower(e.value))
		}
	}
	return false
}

// last returns the effective value of a key; empty if there is none.
func last(entries []entry, key string) string {
	for _, e := range slices.Backward(entries) {
		if e.key == key {
			return e.value
		}
	}
	return ""
}

// Include returns the value of GIT_CONFIG_PARAMETERS by which commands of git in this working copy,
// and in no other of the repository, include a file of settings.
func (r *Repo) Include(file string) string {
	return shell.Quote("includeIf.gitdir:"+globQuote(r.GitDir)+".path") + "=" + shell.Quote(file)
}
