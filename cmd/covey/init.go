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
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/doctor"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/launch"
)

// initFlags are the flags of `covey init`.
type initFlags struct {
	force, offline bool
	with           []string
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
	asks := len(found) > 0 && term.IsTerminal(env.In) && env.Out.TTY()
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
	wrote, err := writeStarter(ctx, dir, agents, f.force)
	if err != nil {
		return err
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

// printChosen lists paid models chosen by default.
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
func writeStarter(ctx context.Context, dir string, agents []starterAgent, force bool) (wrote []string, err error) {
	spec, files, err := makeStarter(ctx, dir, agents)
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

// candidate is an agent that this machine can offer to a new team.
type candidate struct {
	agent starterAgent
	words string // what people should know of it
	ready bool   // it can work now, as far as covey can tell
}

// candidates returns the agent programs that are installed, and then the models that this
// machine can use. It asks the models' hosts, so it may take a few seconds.
func candidates(ctx context.Context) []candidate {
	var list []candidate
	for _, a := range launch.InstalledPresets() {
		list = append(list, candidate{starterAgent(a.Name), loginWords(a), a.Login == launch.LoginYes})
	}
	for _, m := range launch.MachineModels(ctx, launch.ModelInquiry{}) {
		words := "covey's own agent; key " + m.Key
		if m.Problem != "" {
			words = m.Problem
		}
		list = append(list, candidate{starterAgent(m.Model), words, m.Usable()})
	}
	return list
}

// chooseAgents asks the operator which of the candidates to use; none
// means the offline team. Enter selects the default in brackets: the usual ones or, if
// there are none, the offline team, which always runs.
func chooseAgents(out *term.Screen, in *bufio.Reader, found []candidate) ([]starterAgent, error) {
	out.Printf("Agent programs and models that you can use here:\n")
	for i, c := range found {
		out.Printf("  %d  %-9s %s\n", i+1, term.PlainLine(string(c.agent)), term.PlainLine(c.words))
	}
	usual := usualAgents(found)
	offer := "offline"
	if len(usual) > 0 {
		offer = strings.Trim(fmt.Sprint(usual), "[]")
	}
	out.Printf("\nWhich of them should be in the team? The first one named leads. \"offline\" is a\n" +
		"team that plays scripts: it needs no login, costs nothing, and shows covey.\n")
	for {
		out.Printf("Names or numbers [%s]: ", offer)
		answer, err := in.ReadString('\n')
		if err != nil {
			out.Printf("\n")
			return nil, fmt.Errorf("nothing was chosen, and nothing was written; use --with or --offline to choose without a question")
		}
		if strings.TrimSpace(answer) == "" {
			return usual, nil
		}
		agents, err := readChoice(answer, found)
		if err == nil {
			return agents, nil
		}
		out.Printf("%s\n", term.PlainLine(err.Error()))
	}
}

// loginWords describes a login state in a few words.
func loginWords(a launch.AgentInfo) string {
	switch a.Login {
	case launch.LoginYes:
		return "logged in"
	case launch.LoginKey:
		return "an API key is set (the agent needs auth: key for it)"
	case launch.LoginNo:
		return "logged out"
	}
	return "login not known"
}

// usualAgents returns the programs that are logged in. Where no program is installed, it is
// the first model that can be used.
func usualAgents(found []candidate) []starterAgent {
	var list []starterAgent
	programs := false
	for _, c := range found {
		programs = programs || c.agent.Program()
		if c.ready && (c.agent.Program() || !programs && len(list) == 0) {
			list = append(list, c.agent)
		}
	}
	return list
}

// readChoice parses an answer: names and numbers, or "offline".
func readChoice(answer string, found []candidate) ([]starterAgent, error) {
	words := strings.FieldsFunc(strings.ToLower(answer), func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) })
	if slices.Equal(words, []string{"offline"}) {
		return nil, nil
	}
	var list []starterAgent
	for _, word := range words {
		i := slices.IndexFunc(found, func(c candidate) bool { return strings.EqualFold(string(c.agent), word) })
		// A number counts in the list above, from 1; no agent has a number for its name.
		if no, err := strconv.Atoi(word); err == nil {
			i = no - 1
		}
		if i < 0 || i >= len(found) {
			return nil, fmt.Errorf("%q is not one of %s", word, strings.Join(append(candidateNames(found), "offline"), ", "))
		}
		list = append(list, found[i].agent)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("name one of %s", strings.Join(append(candidateNames(found), "offline"), ", "))
	}
	return list, nil
}

// namedAgents returns the agents that --with names. They need not be installed, because
// others may run the spec elsewhere.
func namedAgents(names []string) ([]starterAgent, error) {
	var list []starterAgent
	for _, name := range names {
		agent := starterAgent(strings.TrimSpace(name))
		if agent.Program() && !slices.Contains(configs.Presets(), string(agent)) {
			return nil, cli.Usagef("covey knows no agent program %q; it knows %s; a model is named as PROVIDER/MODEL", agent,
				strings.Join(configs.Presets(), ", "))
		}
		list = append(list, agent)
	}
	return list, nil
}

// candidateNames returns the names of candidates.
func candidateNames(list []candidate) []string {
	var names []string
	for _, c := range list {
		names = append(names, string(c.agent))
	}
	return names
}
