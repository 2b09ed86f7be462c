package merging

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/shell"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/hints"
)

// JudgesOf returns the judges of a team: the hooks and gates of its spec, settings files and plugins as
// they are now, and what these call in the files of the workspace, one step further. A settings file that
// cannot be read is a judge itself.
func JudgesOf(team *configs.Team) hints.Judges {
	var j judges
	for _, file := range slices.Concat([]string{team.File, team.Override}, team.Settings, team.Plugins) {
		if file != "" {
			j.add(team.Workspace, file)
		}
	}
	for _, layer := range team.Layers(nil).Sources {
		for _, h := range layer.Settings.Handlers() {
			j.addHook(team.Workspace, h)
		}
	}
	for _, h := range team.Merge.Gates {
		j.addHook(team.Workspace, h)
	}
	j.addData(team.Workspace)
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
	cwd := texts.Absolute(workspace, h.Cwd)
	for _, w := range words {
		j.add(workspace, filepath.Join(cwd, filepath.FromSlash(w.Value)))
	}
	for _, w := range line {
		j.Programs = append(j.Programs, path.Base(w))
	}
	if h.Args == nil {
		read, err := shell.ReadSh(h.Command)
		if err != nil {
			return // the shell reports it
		}
		j.follow(workspace, "", read, true)
	}
	for _, w := range words {
		file := filepath.Join(cwd, filepath.FromSlash(w.Value))
		if rel, ok := texts.Below(workspace, file); ok {
			j.follow(workspace, path.Dir(rel), scriptAt(workspace, rel), false)
		}
	}
}

// dataName matches the name of a file of data in a script.
var dataName = texts.Pattern(`[\w./-]+\.(?:json|txt|ya?ml|toml|csv|tsv|xml|golden|snap|expected|list)\b`)

// addData adds the files of data that the scripts name: what they compare with.
func (j *judges) addData(workspace string) {
	for _, file := range j.Files {
		if ext := path.Ext(file); ext == ".yaml" || ext == ".yml" || ext == ".json" {
			continue // a spec, or settings
		}
		for _, name := range dataName().FindAllString(readIn(workspace, file), maxCalled) {
			name = path.Clean(name)
			info, err := os.Stat(filepath.Join(workspace, filepath.FromSlash(name)))
			if err == nil && filepath.IsLocal(filepath.FromSlash(name)) && info.Mode().IsRegular() && !slices.Contains(j.Files, name) {
				j.Data = append(j.Data, name)
			}
		}
	}
}

// add adds a file, unless it is outside of the workspace.
func (j *judges) add(workspace, file string) {
	if rel, ok := texts.Below(workspace, file); ok {
		j.Files = append(j.Files, rel)
	}
}
