package runner

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

// optionPrefix begins the names of the variables that hold a plugin's options.
const optionPrefix = "CLAUDE_PLUGIN_OPTION_"

// placeKey is the part of a hook's key that holds its folder, its box, its variables and its mode.
func placeKey(h *hooks.Handler) string {
	if h.Cwd == "" && len(h.Env) == 0 && h.Mode == "" && h.Sandbox == nil {
		return ""
	}
	key := []string{h.Cwd, h.Mode}
	if h.Sandbox != nil {
		key = append(key, fmt.Sprint(*h.Sandbox))
	}
	for _, name := range slices.Sorted(maps.Keys(h.Env)) {
		key = append(key, name+"="+h.Env[name])
	}
	return strings.Join(key, "\x01")
}

// memberOf returns the member that an event is about, if some layer is for one member.
func (r *Runner) memberOf(in hooks.Input) string {
	if !r.personal {
		return ""
	}
	return r.opts.session(in).Member
}

// givenEnv returns the variables that a hook and its layer set. They cannot set the
// reserved ones, by which covey identifies its processes and their depth.
func (r *run) givenEnv(h *armed) []string {
	var env []string
	for _, name := range slices.Sorted(maps.Keys(h.Env)) {
		if !validEnv(name) || slices.Contains(reservedNames(), name) {
			continue
		}
		env = append(env, name+"="+substitute(h.Env[name], h.source, r.lookup, false))
	}
	if name := settings.ProjectVariable(h.Dialect.Program); name != "" {
		env = append(env, name+"="+r.opts.ProjectDir)
	}
	if h.source.Root != "" {
		env = append(env, pluginEnv(h.source)...)
	}
	return slices.DeleteFunc(env, func(entry string) bool { return strings.ContainsRune(entry, 0) })
}

// pluginEnv returns the variables of a plugin's hooks.
func pluginEnv(s *settings.Source) []string {
	env := []string{"CLAUDE_PLUGIN_ROOT=" + s.Root, "CLAUDE_PLUGIN_DATA=" + s.Data}
	if s.Data != "" {
		// Trust in a plugin covers its files but not Python's caches, so Python must not
		// load a cache that somebody may have put next to them.
		env = append(env, "PYTHONPYCACHEPREFIX="+filepath.Join(s.Data, "pycache"))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Options)) {
		env = append(env, optionPrefix+optionVariable(name)+"="+s.Options[name])
	}
	return env
}

// validEnv reports whether name can be the name of a variable.
func validEnv(name string) bool { return name != "" && !strings.ContainsAny(name, "=\x00") }

// optionVariable returns an option's name as it is spelled in a variable.
func optionVariable(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, name)
}

// handlerDir returns where a hook runs. A gate runs in the root of what it judges, because a
// `cd` of the member must not change what it tests. It does not replace a missing folder that
// the hook names, because the hook relies on that folder.
func (r *run) handlerDir(h *armed) (string, error) {
	if h.Gate {
		if root := r.opts.session(r.in).Root; isDir(root) {
			return root, nil
		}
	}
	if h.Cwd == "" {
		return r.dir, nil
	}
	dir := substitute(h.Cwd, h.source, r.lookup, false)
	if !filepath.IsAbs(dir) {
		base := r.opts.ProjectDir
		if base == "" {
			base = r.dir
		}
		dir = filepath.Join(base, dir)
	}
	if !isDir(dir) {
		return "", fmt.Errorf("the hook's cwd %s is not a folder", dir)
	}
	return dir, nil
}

// userConfig replaces ${user_config.X}. It refuses that in a shell line, where a value
// could become a command and the variable must be used.
func userConfig(text string, source *settings.Source, shell bool) (string, error) {
	const open = "${user_config."
	if source.Root == "" {
		return text, nil
	}
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, open)
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			out.WriteString(open + rest)
			return out.String(), nil
		}
		// Only the name is shown: the value may be a secret.
		if shell {
			return "", fmt.Errorf("${user_config.%s} cannot stand in a shell command: write $%s%s, or use args",
				name, optionPrefix, optionVariable(name))
		}
		value, ok := source.Options[name]
		if !ok {
			return "", fmt.Errorf("the plugin's option %s is not set: set it under pluginConfigs in a settings file",
				name)
		}
		out.WriteString(value)
		text = after
	}
}
