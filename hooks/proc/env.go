package proc

import (
	"path"
	"slices"
	"strings"
)

// Getenv returns the value of name in env. As for a program, the last entry counts.
func Getenv(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(env[i], name); ok && strings.HasPrefix(value, "=") {
			return value[1:]
		}
	}
	return ""
}

// KeepEnv returns the entries of environ whose names match one of allowed: names, and
// patterns as path.Match reads them, such as "LC_*". A pattern that path.Match refuses
// matches nothing.
func KeepEnv(environ, allowed []string) []string {
	names := make(map[string]bool, len(allowed))
	var patterns []string
	for _, a := range allowed {
		if strings.ContainsAny(a, `*?[\`) {
			patterns = append(patterns, a)
		} else {
			names[a] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return !names[name] && !slices.ContainsFunc(patterns, func(pattern string) bool {
			ok, err := path.Match(pattern, name)
			return err == nil && ok
		})
	})
}
