package proc

import "strings"

// Getenv returns the value of name in env. As for a program, the last entry counts.
func Getenv(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(env[i], name); ok && strings.HasPrefix(value, "=") {
			return value[1:]
		}
	}
	return ""
}
