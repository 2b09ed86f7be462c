package merging

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/shell"
	"github.com/coveyteam/covey/orchestrator/hints"
)

// JudgesOf returns the judges of a team. ran are commands of hooks that have run besides those of
// the spec, such as those of settings files.
func JudgesOf(team *configs.Team, ran []string) hints.Judges {
	var j judges
	for _, file := range slices.Concat([]string{team.File, team.Override}, team.Settings, team.Plugins) {
		if file != "" {
			j.add(team.Workspace, file)
		}
	}
	for _, section := range []hooks.Settings{team.Gates, team.Hooks, {"": {{Hooks: team.Merge.Gates}}}} {
		for _, h := range section.Handlers() {
			j.addHook(team.Workspace, h)
		}
	}
	for _, command := range ran {
		j.addHook(team.Workspace, hooks.Handler{Command: command})
	}
	return hints.Judges(j)
}

// judges collects Judges.
type judges hints.Judges

// addHook adds what a command names.
func (j *judges) addHook(workspace string, h hooks.Handler) {
	words, line := scriptsIn(h.Command), strings.Fields(h.Command)
	if h.Args != nil {
		line = append([]string{h.Command}, h.Args...)
		words = scriptsOf(shell.Args(line))
	}
	cwd := h.Cwd
	if !filepath.IsAbs(cwd) {
		cwd = filepath.Join(workspace, cwd)
	}
	for _, w := range words {
		j.add(workspace, filepath.Join(cwd, filepath.FromSlash(w.Value)))
	}
	for _, w := range line {
		j.Programs = append(j.Programs, path.Base(w))
	}
}

// add adds a file, unless it is outside of the workspace.
func (j *judges) add(workspace, file string) {
	if rel, err := filepath.Rel(workspace, file); err == nil && filepath.IsLocal(rel) {
		j.Files = append(j.Files, filepath.ToSlash(rel))
	}
}
