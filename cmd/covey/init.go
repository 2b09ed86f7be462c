package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/doctor"
	"github.com/coveyteam/covey/cmd/covey/term"
)

// initFlags are the flags of `covey init`.
type initFlags struct {
	force, offline, json bool
	with                 []string
}

// initCommand returns `covey init`.
func initCommand(env *cli.Env) *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a first spec that runs as it is",
		Long: `Write a commented team.yaml: with --with, a team of these agent programs or models,
the first of which leads; with --offline, a team whose members play scripts, which are
written as well, so that it runs at once and costs nothing. Without either, init asks
on a terminal. Elsewhere it writes a team with a model if no agent program is installed
and a model can be used (see covey models), and otherwise the offline team. The gate is
the test command that covey finds in the folder, and a lock file brings the command
that fills a new working copy (worktree.setup); on a terminal init asks whether to run
both once. A folder that does not exist is made. Existing files are not overwritten.`,
		Example: `  covey init
  covey init --with claude,codex
  covey init --with anthropic/claude-sonnet-4-5
  covey init --offline ../other-project
  covey init --force`,
		Args: cli.ArgCount(0, 1, "at most one folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if env.Spec != "" {
				return cli.Usagef("covey init writes a %s; name its folder instead of --spec", cli.DefaultSpec)
			}
			dir := env.Path(".")
			if len(args) > 0 {
				dir = env.Path(args[0])
			}
			return initFolder(cmd.Context(), env, dir, f)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.force, "force", false, "overwrite the files that are there")
	flags.StringSliceVar(&f.with, "with", nil,
		"the `AGENTS` of the team, programs or PROVIDER/MODEL, separated by commas; the first one leads")
	flags.BoolVar(&f.offline, "offline", false, "a team that plays scripts, and needs no agent program or model")
	_ = cmd.RegisterFlagCompletionFunc("with", completeAgent)
	cli.JSONFlag(cmd, &f.json)
	return cmd
}

// initFolder writes the starter and prints the next step. Without a terminal it chooses a
// model only if there is nothing else: whoever has agent programs has mostly paid for them.
//
// Nothing is written before all choices are made. Whether the gate works is asked last, by
// doctor.NewTeam, because trying it runs what is in the folder.
func initFolder(ctx context.Context, env *cli.Env, dir string, f initFlags) error {
	if f.offline && len(f.with) > 0 {
		return cli.Usagef("--offline and --with exclude each other: an offline team has no agents")
	}
	agents, err := namedAgents(f.with)
	var found []candidate
	if !f.offline && len(f.with) == 0 {
		found = candidates(ctx)
	}
	programs := slices.ContainsFunc(found, func(c candidate) bool { return c.agent.Program() })
	asks := !f.json && len(found) > 0 && term.IsTerminal(env.In) && env.Out.TTY()
	switch {
	case err != nil:
	case asks:
		agents, err = chooseAgents(env.Out, bufio.NewReader(env.In), found)
	case !programs && len(found) > 0:
		agents = usualAgents(found)
	}
	if err != nil {
		return err
	}
	wrote, err := writeStarter(ctx, dir, starterOptions{Agents: agents}, f.force)
	switch {
	case err != nil:
		return err
	case f.json:
		return env.Out.JSON(map[string][]string{"wrote": wrote})
	}
	for _, path := range wrote {
		env.Out.Printf("wrote %s\n", term.PlainLine(path))
	}
	if !asks && len(agents) == 0 && len(found) > 0 {
		env.Out.Printf("\nThis team plays scripts. There are agents here, too: covey init --force --with %s\n"+
			"writes a team of them instead.\n", strings.Join(candidateNames(found), ","))
	}
	if !asks && len(f.with) == 0 {
		printChosen(env.Out, agents)
	}
	path := filepath.Join(dir, cli.DefaultSpec)
	if err := doctor.NewTeam(ctx, env, path, doctor.FindTest(ctx, dir)); err != nil {
		return err
	}
	env.Out.Printf("\nNext: covey up%s\n", cli.SpecArg(path))
	env.Out.Printf("It shows first what the team would run, and asks whether you trust that.\n")
	return nil
}

// printChosen says which models will be paid for that nobody has named.
func printChosen(out *term.Screen, agents []starterAgent) {
	for _, a := range agents {
		if a.isModel() {
			out.Printf("\nThe team thinks with %s, since this machine can use it. covey models --probe tries it;\n"+
				"covey init --force --offline writes a team that plays scripts and costs nothing.\n", term.PlainLine(string(a)))
		}
	}
}

// writeStarter writes the starter into dir and returns the paths of its files. If a
// file exists already it writes nothing, because a spec without its scripts would be
// worse than no starter.
func writeStarter(ctx context.Context, dir string, opts starterOptions, force bool) (wrote []string, err error) {
	spec, files, err := makeStarter(ctx, dir, opts)
	if err != nil {
		return nil, err
	}
	files = maps.Clone(files)
	files[cli.DefaultSpec] = spec
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		_, err := os.Lstat(filepath.Join(dir, name))
		if err == nil && !force {
			return nil, fmt.Errorf("%s is there already; --force overwrites it", filepath.Join(dir, name))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := writeFile(path, files[name]); err != nil {
			return wrote, err
		}
		wrote = append(wrote, path)
	}
	return wrote, nil
}

// writeFile writes a file and creates its folder, with the usual permissions, because
// a starter is meant to be edited and committed.
func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}
