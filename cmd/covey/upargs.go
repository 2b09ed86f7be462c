package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/launch"
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
	if dir, err := env.Folder(); err != nil || !cli.SameFile(dir, place.Workspace) {
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

// runsTeams returns an error on systems, named as by runtime.GOOS, where no team can run: it needs
// /bin/sh for its gates and hooks, and a system that says which process is at the other end of a
// socket, which is needed to identify callers. What needs no team, such as covey validate, works there.
func runsTeams(env *cli.Env, system string) error {
	if system == "windows" {
		return fmt.Errorf("teams do not run on Windows itself; use WSL: `wsl --install`, then install covey inside "+
			"it and keep the workspace there (%s)", env.Page("install.md"))
	}
	return nil
}

// confirmStandIns decides, before anything is started, whether a team may run
// programs that replace others but do not ask before they act. The flag or the
// operator at the terminal must agree; the default is no.
func confirmStandIns(env *cli.Env, team *configs.Team, allowed bool) error {
	list := launch.StandIns(team)
	if len(list) == 0 {
		return nil
	}
	text := standInText(list)
	switch {
	case allowed:
		env.Err.Printf("%s", text)
		return nil
	case !env.Interactive():
		return cli.Usagef("%sinstall what is missing, or go on without with --allow-unenforced", text)
	}
	if !env.Agreed(text + "Go on without?") {
		return cli.Usagef("nothing was started; install what is missing, or go on without with --allow-unenforced")
	}
	return nil
}

// standInText returns which programs replace others, what is not enforced with them, and
// what to install.
func standInText(list []launch.StandIn) string {
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "agent %s (%s) would run as %s, because %s is not installed.\n", term.PlainLine(s.Agent),
			term.PlainLine(strings.Join(s.Members, ", ")), term.PlainLine(s.Path), s.Adapter)
		b.WriteString("That program acts without asking: covey can only check afterwards whether it kept these:\n")
		for _, what := range s.Unenforced {
			fmt.Fprintf(&b, "  %s\n", term.PlainLine(what))
		}
		fmt.Fprintf(&b, "This installs %s: %s\n", s.Adapter, s.Install)
	}
	return b.String()
}
