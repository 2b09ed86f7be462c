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

// looksLikeSpec reports whether an argument is a spec rather than a goal: a file, a folder,
// a name that ends like a spec, or a path. The last two count even if there is no such file,
// because a mistyped spec must not become the goal of another team. A goal has several words.
func looksLikeSpec(env *cli.Env, arg string) bool {
	switch strings.ToLower(filepath.Ext(arg)) {
	case ".yaml", ".yml", ".json":
		return true
	}
	if len(strings.Fields(arg)) == 1 && strings.ContainsAny(arg, `/\`) {
		return true
	}
	info, err := os.Stat(env.Path(arg))
	return err == nil && (info.IsDir() || info.Mode().IsRegular())
}

// specAndGoal sorts the arguments of up. In a folder without a spec, the team that last worked
// there is meant, so that `covey up` resumes a team of covey run.
func specAndGoal(env *cli.Env, args []string) (spec, goal string, err error) {
	switch {
	case len(args) == 2:
		spec, err = env.SpecPath(args[:1])
		return spec, args[1], err
	case len(args) == 1 && looksLikeSpec(env, args[0]):
		spec, err = env.SpecPath(args)
		return spec, "", err
	case len(args) == 1:
		goal = args[0]
	}
	spec, err = env.SpecPath(nil)
	// A goal alone is for the spec of this folder. It must not go to the team that worked
	// here last.
	if err != nil || env.Team != "" || env.Spec != "" || goal != "" || fileExists(spec) {
		return spec, goal, err
	}
	place, err := env.Find()
	if errors.Is(err, state.ErrNoTeam) {
		return spec, goal, nil
	}
	if err != nil {
		return "", "", err
	}
	if dir, err := env.Folder(); err != nil || !sameFolder(dir, place.Workspace) {
		return spec, goal, nil
	}
	if last := cli.SpecOf(place); last != "" {
		return last, goal, nil
	}
	return "", "", fmt.Errorf("team %s has no record of its spec; name it: covey up SPEC", place.Team)
}

// fileExists reports whether a file or folder exists at path.
func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// sameFolder reports whether two paths lead to the same folder.
func sameFolder(a, b string) bool {
	left, err1 := os.Stat(a)
	right, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(left, right)
}
