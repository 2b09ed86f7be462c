package runner

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/settings"
)

// Hooks may start covey, which has hooks that start covey. maxDepth ends such a chain.
const (
	depthName = "COVEY_HOOK_DEPTH"
	maxDepth  = 4
)

// hookDepth returns how many hooks this program runs inside of. It reads this process's
// environment too, because the caller may have filtered the one it gives to hooks.
func hookDepth(env []string) int {
	given, _ := strconv.Atoi(proc.Getenv(env, depthName))
	own, _ := strconv.Atoi(os.Getenv(depthName))
	return max(given, own, 0)
}

// baseEnv returns the environment that all hooks of the Runner share.
func (r *Runner) baseEnv() []string {
	env := slices.DeleteFunc(slices.Clone(r.opts.Env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return strings.HasPrefix(name, "OTEL_") || slices.Contains(reservedNames(), name)
	})
	if r.opts.ProjectDir != "" {
		env = append(env, "CLAUDE_PROJECT_DIR="+r.opts.ProjectDir)
	}
	return append(env,
		"CLAUDECODE=1", "CLAUDE_CODE_CHILD_SESSION=1", "CLAUDE_PID="+strconv.Itoa(os.Getpid()),
		depthName+"="+strconv.Itoa(r.outerDepth+1))
}

// reservedNames lists the variables that only covey sets: a value from outside would be
// about another session, plugin or run.
func reservedNames() []string {
	return []string{"CLAUDE_PROJECT_DIR", "CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_PID",
		"CLAUDE_CODE_SESSION_ID", "CLAUDE_EFFORT", "CLAUDE_ENV_FILE", "CLAUDE_PLUGIN_ROOT",
		"CLAUDE_PLUGIN_DATA", "COVEY_TEAM", "COVEY_MEMBER", depthName, markerName, "PWD", "OLDPWD"}
}

// eventEnv returns the environment of one event's hooks.
func (r *run) eventEnv(in hooks.Input) []string {
	env := append(slices.Clip(r.Runner.env), "CLAUDE_CODE_SESSION_ID="+in.SessionID, "PWD="+r.dir)
	if in.Effort != nil {
		env = append(env, "CLAUDE_EFFORT="+in.Effort.Level)
	}
	s := r.opts.session(in)
	if r.known.EnvFile() && s.EnvFile != "" {
		env = append(env, "CLAUDE_ENV_FILE="+s.EnvFile)
	}
	if s.Team != "" {
		env = append(env, "COVEY_TEAM="+s.Team)
	}
	if s.Member != "" {
		env = append(env, "COVEY_MEMBER="+s.Member)
	}
	if s.Env != nil {
		env = append(env, s.Env()...)
	}
	return slices.DeleteFunc(env, func(entry string) bool { return strings.ContainsRune(entry, 0) })
}

// handlerEnv returns the environment of one handler's process.
func (r *run) handlerEnv(h *armed, marker string) []string {
	env := append(slices.Clip(r.env), r.givenEnv(h)...)
	if r.depth > 0 {
		env = append(env, depthName+"="+strconv.Itoa(r.outerDepth+r.depth+1))
	}
	return append(env, marker)
}

// lookup returns the value of a variable that placeholders may name.
func (r *run) lookup(name string) string {
	if name == "CLAUDE_PROJECT_DIR" {
		return r.opts.ProjectDir
	}
	return ""
}

// workDir returns where hooks of the event run: the member's folder, or the project's if
// that does not exist, the home folder, or else the temporary folder.
func (r *run) workDir() string {
	for _, dir := range []string{r.in.Cwd, r.opts.ProjectDir, proc.Getenv(r.Runner.env, "HOME")} {
		if isDir(dir) {
			return dir
		}
	}
	return os.TempDir()
}

// substitute replaces ${CLAUDE_…} placeholders. In a shell command a value that is more
// than one plain word is left for the shell to expand from the variable of that name, so
// that the name of a folder cannot become a command.
func substitute(text string, source *settings.Source, lookup func(string) string, shell bool) string {
	if !strings.Contains(text, "${CLAUDE_") {
		return text
	}
	values := map[string]string{"CLAUDE_PROJECT_DIR": lookup("CLAUDE_PROJECT_DIR")}
	if source.Root != "" {
		values["CLAUDE_PLUGIN_ROOT"], values["CLAUDE_PLUGIN_DATA"] = source.Root, source.Data
	}
	for name, value := range values {
		if !shell || isShellWord(value) {
			text = strings.ReplaceAll(text, "${"+name+"}", value)
		}
	}
	return text
}

// isShellWord reports whether a shell reads s literally, quoted or not.
func isShellWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9',
			strings.ContainsRune("/._-+@%:,", r):
			return false
		}
		return true
	})
}

// isDir reports whether path is an existing folder.
func isDir(path string) bool {
	if path == "" {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
