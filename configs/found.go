package configs

import "path/filepath"

// TestCommand is how the project in dir seems to be tested; empty: there is no
// sign of tests, or the program that runs them is not installed.
func TestCommand(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	command, _, missing := testCommand(abs)
	if missing != "" {
		return ""
	}
	return command
}
