package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/state"
)

// DefaultSpec is the spec of commands without one. There is only one such name, so
// that it is never ambiguous.
const DefaultSpec = "team.yaml"

// SpecPath returns the spec that a command reads: its first argument, or that of --spec, or the
// one with which the team of --team ran last, or team.yaml. A folder means the team.yaml in it.
func (e *Env) SpecPath(args []string) (string, error) {
	switch {
	case len(args) > 0 && e.Spec != "":
		return "", Usagef("the spec is named twice, as %s and as --spec %s; leave one out", args[0], e.Spec)
	case len(args) > 0:
		return e.specFile(args[0]), nil
	case e.Spec != "":
		return e.specFile(e.Spec), nil
	case e.Team == "":
		return e.Path(DefaultSpec), nil
	}
	place, err := e.Find()
	if err != nil {
		return "", err
	}
	run, err := state.ReadRunFile(place)
	if err != nil || run.Spec == "" {
		return "", fmt.Errorf("team %s has no record of its spec; name it with --spec", place.Team)
	}
	return run.Spec, nil
}

// specFile returns the file of a spec, which may be named by its folder.
func (e *Env) specFile(name string) string {
	path := e.Path(name)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return filepath.Join(path, DefaultSpec)
	}
	return path
}

// LoadSpec reads a spec and checks that its team can run; it starts nothing. Warnings
// go to stderr. It also reads the scripts that the spec names, to find mistakes in
// them early. A missing program is only a warning: the spec may be for another
// machine.
func (e *Env) LoadSpec(path string) (*configs.Team, error) {
	team, missing, err := e.readSpec(path)
	if err != nil {
		return nil, err
	}
	for _, gone := range missing {
		team.Warnings = append(team.Warnings, problemOf(path, gone))
	}
	e.warnOf(team)
	return team, nil
}

// warnOf prints the warnings of a spec.
func (e *Env) warnOf(team *configs.Team) {
	for _, w := range team.Warnings {
		e.Err.Printf("%s\n", term.Plain("warning: "+w.String()))
	}
}

// problemOf returns what is missing on this machine with its place in the spec, if that is known.
func problemOf(path string, gone error) yaml.Problem {
	var placed *configs.Placed
	if errors.As(gone, &placed) {
		return placed.Problem
	}
	return yaml.Problem{File: path, Message: gone.Error()}
}

// RunnableSpec is LoadSpec for a team that will run here: a missing program is a
// mistake, listed with the others.
func (e *Env) RunnableSpec(path string) (*configs.Team, error) {
	if _, missing, err := e.readSpec(path); len(missing) > 0 {
		mistakes := mistakesOf(path, err)
		for _, gone := range missing {
			p := problemOf(path, gone)
			if p.Line == 0 || !slices.ContainsFunc(mistakes, p.SamePlace) { // the spec's own check may have said it
				mistakes = append(mistakes, p)
			}
		}
		return nil, SpecTrouble(path, configs.Errors(yaml.SortProblems(mistakes)))
	}
	return e.LoadSpec(path)
}

// mistakesOf returns an error of SpecTrouble as a list.
func mistakesOf(path string, err error) configs.Errors {
	if err == nil {
		return nil
	}
	if spec, ok := err.(*specError); ok {
		if list, ok := spec.err.(configs.Errors); ok {
			return list
		}
	}
	return configs.Errors{{File: path, Message: strings.TrimPrefix(err.Error(), path+": ")}}
}

// SpecElsewhere is LoadSpec where no member takes a turn: a program that is missing is not even a
// warning.
func (e *Env) SpecElsewhere(path string) (*configs.Team, error) {
	team, _, err := e.readSpec(path)
	if err == nil {
		e.warnOf(team)
	}
	return team, err
}

// readSpec reads and checks a spec; missing are programs that are not installed, also with an error.
func (e *Env) readSpec(path string) (team *configs.Team, missing []error, err error) {
	opts := configs.Options{Version: e.Version, Managed: e.Managed, Incomplete: func(t *configs.Team) { missing = orchestrator.Missing(t) }}
	if team, err = configs.LoadWith(path, opts); err != nil {
		return nil, missing, SpecTrouble(path, err)
	}
	if missing, err = orchestrator.Check(team, e.Managed); err != nil {
		return nil, missing, SpecTrouble(path, err)
	}
	return team, missing, nil
}

// SpecTrouble turns an error of a spec into a usage error. Mistakes are shown as they
// are; other errors get the spec's path, as the operator wrote it. A spec that cannot
// be read for lack of permission is a failure, not a usage error.
func SpecTrouble(path string, err error) error {
	var mistakes configs.Errors
	switch {
	case errors.As(err, &mistakes):
		return &specError{err}
	case errors.Is(err, fs.ErrNotExist):
		return Usagef("there is no spec %s; name another, or let covey init write one", path)
	case errors.Is(err, settings.ErrManaged):
		return err
	case errors.Is(err, configs.ErrSpec):
		if list, all := placedMistakes(err); all && len(list) > 0 {
			return &specError{configs.Errors(yaml.SortProblems(list))}
		}
		return Usagef("%s: %v", path, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// placedMistakes returns the errors that an error joins as mistakes; all reports whether each has a place in the spec.
func placedMistakes(err error) (list configs.Errors, all bool) {
	switch e := err.(type) {
	case *configs.Placed:
		return configs.Errors{e.Problem}, true
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			more, ok := placedMistakes(part)
			if !ok {
				return nil, false
			}
			list = append(list, more...)
		}
		return list, true
	}
	return nil, err == configs.ErrSpec // which heads the list
}

// SpecArg returns the argument that names a spec in a command line, with a leading
// blank; empty for the default. It is for hints that can be copied.
func SpecArg(path string) string {
	if filepath.Clean(path) == DefaultSpec {
		return ""
	}
	return " " + path
}

// TeamOf loads the spec with which a team last ran, for commands in which no member takes a
// turn. Warnings go to stderr.
func (e *Env) TeamOf(place state.Place) (*configs.Team, error) {
	team, err := e.specOf(place)
	if err == nil {
		e.warnOf(team)
	}
	return team, err
}

// specOf is TeamOf without warnings.
func (e *Env) specOf(place state.Place) (*configs.Team, error) {
	if _, err := state.ReadRunFile(place); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	path := SpecOf(place)
	if path == "" {
		return nil, fmt.Errorf("team %s has never run, so it has no work; covey up starts it", place.Team)
	}
	team, _, err := e.readSpec(path)
	return team, err
}
