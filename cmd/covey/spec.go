package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator"
)

// defaultSpec is the spec that commands take when none is named. There is only
// one such name: two files that could be meant would be one too many.
const defaultSpec = "team.yaml"

// specPath is the spec that the arguments of a command name: the first, or
// team.yaml. A folder stands for the team.yaml in it.
func (c *cli) specPath(args []string) string {
	if len(args) == 0 {
		return c.path(defaultSpec)
	}
	path := c.path(args[0])
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return filepath.Join(path, defaultSpec)
	}
	return path
}

// looksLikeSpec tells a spec from a goal: it is a file, or a folder with a
// team.yaml, or is named like a spec. A name with such an ending is one even if
// there is no such file: a mistyped spec should not become the goal of another
// one.
func (c *cli) looksLikeSpec(arg string) bool {
	switch strings.ToLower(filepath.Ext(arg)) {
	case ".yaml", ".yml", ".json":
		return true
	}
	info, err := os.Stat(c.path(arg))
	if err == nil && info.IsDir() {
		info, err = os.Stat(filepath.Join(c.path(arg), defaultSpec))
	}
	return err == nil && info.Mode().IsRegular()
}

// loadSpec reads a spec and checks that its team can run; nothing is started.
// Warnings go to stderr. It also reads the scripts that the spec names, so that
// a mistake in one of them is found before anything runs. Programs that are not
// installed are warned of: the spec may be for another machine.
func (c *cli) loadSpec(path string) (*configs.Team, error) {
	team, missing, err := readSpec(path, c.managed)
	if err != nil {
		return nil, err
	}
	for _, gone := range missing {
		team.Warnings = append(team.Warnings, configs.Problem{File: path, Message: gone.Error()})
	}
	for _, w := range team.Warnings {
		c.err.printf("%s\n", plain("warning: "+w.String()))
	}
	return team, nil
}

// runnableSpec is loadSpec for a team that is to run here: what is not
// installed is a mistake, too.
func (c *cli) runnableSpec(path string) (*configs.Team, error) {
	if _, missing, err := readSpec(path, c.managed); err == nil && len(missing) > 0 {
		var mistakes configs.Errors
		for _, gone := range missing {
			mistakes = append(mistakes, configs.Problem{File: path, Message: gone.Error()})
		}
		return nil, specTrouble(path, mistakes)
	}
	return c.loadSpec(path)
}

// readSpec reads and checks a spec; missing are programs that are not there.
func readSpec(path string, managed []string) (team *configs.Team, missing []error, err error) {
	if team, err = configs.Load(path); err != nil {
		return nil, nil, specTrouble(path, err)
	}
	if missing, err = orchestrator.Check(team, managed); err != nil {
		return nil, nil, specTrouble(path, err)
	}
	return team, missing, nil
}

// specTrouble makes what is wrong with a spec an error of usage. Mistakes stand
// for themselves; anything else is told with the spec's name. path is shown as
// the person wrote it. A spec that cannot be read, for want of rights, is a
// failure and not a mistake in the spec.
func specTrouble(path string, err error) error {
	var mistakes configs.Errors
	switch {
	case errors.As(err, &mistakes):
		return &specError{err}
	case errors.Is(err, fs.ErrNotExist):
		return usagef("there is no spec %s; name another, or let covey init write one", path)
	case errors.Is(err, configs.ErrManaged):
		return err
	case errors.Is(err, orchestrator.ErrSpec):
		return usagef("%s: %v", path, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}
