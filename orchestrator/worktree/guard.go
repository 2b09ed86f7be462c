package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/coveyteam/covey/hooks/shell"
)

// maxConfigFiles bounds the configuration files of one repository.
const maxConfigFiles = 200

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
type entry struct{ key, value string }

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
	hidden, err := r.hiddenEntries(ctx, own)
	if err != nil {
		return nil, err
	}
	g := guardAgainst(outer, append(own, hidden...), r.git.allowed())
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
	key, value, _ := strings.Cut(text, "\n")
	return entry{key, value}
}

// hiddenEntries returns the entries of the repository's configuration that do not apply
// here but may apply to commands of git elsewhere: those of other working copies, and
// of conditionally included files, for example on the path of a copy that is yet to be
// created. It reads all files, whatever their condition.
func (r *Repo) hiddenEntries(ctx context.Context, own []entry) ([]entry, error) {
	files, err := filepath.Glob(filepath.Join(globQuote(r.Common), "worktrees", "*", "config.worktree"))
	if err != nil {
		return nil, fmt.Errorf("list the configuration of %s: %w", r.Common, err)
	}
	if _, err := os.Lstat(filepath.Join(r.Common, "config.worktree")); err == nil {
		files = append(files, filepath.Join(r.Common, "config.worktree"))
	}
	if len(files) == 0 && !slices.ContainsFunc(own, entry.includes) {
		return nil, nil
	}
	files = append(files, filepath.Join(r.Common, "config"))
	var all []entry
	for i := 0; i < len(files); i++ {
		if i == maxConfigFiles {
			return nil, fmt.Errorf("the configuration of the repository %s includes more than %d files",
				r.Common, maxConfigFiles)
		}
		entries, more, err := r.readConfig(ctx, files[i])
		if err != nil {
			return nil, fmt.Errorf("the configuration of the repository %s: %w", r.Common, err)
		}
		all = append(all, entries...)
		for _, file := range more {
			if !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	}
	return all, nil
}

// readConfig reads one configuration file: its entries, and the files that it includes.
// A missing file has none.
func (r *Repo) readConfig(ctx context.Context, file string) (entries []entry, included []string, err error) {
	switch info, err := os.Stat(file); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	case !info.Mode().IsRegular():
		return nil, nil, fmt.Errorf("%s is no regular file", file)
	}
	config := func(args ...string) ([]byte, error) {
		return r.git.run(ctx, call{args: append([]string{"config", "--file", file, "--no-includes", "-z"},
			args...), dir: r.Top})
	}
	out, err := config("--list")
	if err != nil {
		return nil, nil, err
	}
	for _, text := range fields(out) {
		entries = append(entries, entryOf(text))
	}
	if !slices.ContainsFunc(entries, entry.includes) {
		return entries, nil, nil
	}
	out, err = config("--type=path", "--get-regexp", `^include(if\..*)?\.path$`) // git expands ~
	for _, text := range fields(out) {
		path := entryOf(text).value
		if path == "" {
			continue
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(file), path)
		}
		included = append(included, path)
	}
	return entries, included, err
}

// includes reports whether an entry includes another configuration file.
func (e entry) includes() bool {
	return e.key == "include.path" || strings.HasPrefix(e.key, "includeif.") && strings.HasSuffix(e.key, ".path")
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

// globQuote quotes a path for use in a pattern.
func globQuote(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
