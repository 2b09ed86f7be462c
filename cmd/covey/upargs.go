package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/orchestrator/state"
)

// looksLikeSpec tells a spec from a goal: it is a file, or a folder with a
// team.yaml, or is named like a spec. A name with such an ending is one even if
// there is no such file: a mistyped spec should not become the goal of another
// one.
func looksLikeSpec(env *cli.Env, arg string) bool {
	switch strings.ToLower(filepath.Ext(arg)) {
	case ".yaml", ".yml", ".json":
		return true
	}
	info, err := os.Stat(env.Path(arg))
	if err == nil && info.IsDir() {
		info, err = os.Stat(filepath.Join(env.Path(arg), cli.DefaultSpec))
	}
	return err == nil && info.Mode().IsRegular()
}

// specAndGoal sorts the arguments of up. Without a spec, --team stands for the
// spec with which that team ran last. That makes `covey --team NAME up` take a
// team up again from any folder, and `covey up` one that covey run has made: in
// a folder without a spec the team is meant that worked there last.
func specAndGoal(env *cli.Env, args []string) (spec, goal string, err error) {
	switch {
	case len(args) == 2:
		return env.SpecPath(args[:1]), args[1], nil
	case len(args) == 1 && looksLikeSpec(env, args[0]):
		return env.SpecPath(args), "", nil
	case len(args) == 1:
		goal = args[0]
	}
	if env.Team == "" && (goal != "" || fileExists(env.SpecPath(nil))) {
		return env.SpecPath(nil), goal, nil
	}
	place, err := env.Find()
	if errors.Is(err, state.ErrNoTeam) {
		return env.SpecPath(nil), goal, nil
	}
	if err != nil {
		return "", "", err
	}
	if dir, err := env.Folder(); env.Team == "" && (err != nil || !sameFolder(dir, place.Workspace)) {
		return env.SpecPath(nil), goal, nil
	}
	run, err := state.ReadRunFile(place)
	if err != nil || run.Spec == "" {
		return "", "", fmt.Errorf("team %s has no record of its spec; name it: covey up SPEC", place.Team)
	}
	return run.Spec, goal, nil
}

// fileExists reports whether there is something at path.
func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// sameFolder reports whether two paths lead to one folder.
func sameFolder(a, b string) bool {
	left, err1 := os.Stat(a)
	right, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(left, right)
}
