package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/doctor"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/trust"
)

// runFlags are the flags of `covey run`: some of up's, and those that replace a spec.
type runFlags struct {
	upFlags
	with         []string
	lead, mode   string
	gates, allow []string
	setup        []string // commands for new working copies
	noGate       bool
}

// runCommand returns `covey run GOAL`.
func runCommand(env *cli.Env) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run GOAL",
		Short: "Run a team of the installed agent programs, without a spec",
		Long: `Run a team in this folder without a team.yaml: a lead, and a teammate for each agent
program of --with (see covey agents). By default these are all that are installed and
logged in; if covey knows that of none, all that may be. The lead plans, the teammates
take its tasks, and a gate must agree before a task counts as completed: the commands
of --gate, else the folder's own test command. A lock file, such as package-lock.json,
brings the command that fills a new working copy. Both run once before the team starts,
and what cannot run ends covey run. What is changed without a task is judged as one. If there is no test command, run asks for one; without a terminal it
fails unless you give --no-gate.

A run that changed no file and completed no task ends with code 1, unless the goal
was a question that the lead has answered.

With the same goal, run continues the earlier run; with another goal, the same team
gets that goal. covey ps, logs, send, attach and down work as for any team. covey
init writes a spec, which has more settings.`,
		Example: `  covey run "fix the flaky test in pkg/store" --with codex,claude
  covey run "add a --json flag" --with gemini --gate "make check"
  covey run "review the last commit" --with codex --lead claude --detach`,
		Args: cli.ArgCount(1, 1, "a goal"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if env.Spec != "" {
				return cli.Usagef("covey run needs no spec; covey up --spec %s runs that one", env.Spec)
			}
			return withFault(runWithout(cmd.Context(), env, f, args[0]))
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.with, "with", nil, "the agent `PROGRAMS` of the team, separated by commas")
	flags.StringVar(&f.lead, "lead", "", "the agent `PROGRAM` of the lead; default: the first of --with")
	flags.StringArrayVar(&f.gates, "gate", nil,
		"a `COMMAND` that must succeed before a task is completed; may be repeated; default: this folder's test command")
	flags.BoolVar(&f.noGate, "no-gate", false, "complete tasks without a gate")
	flags.StringArrayVar(&f.allow, "allow", nil,
		`a permission `+"`RULE`"+` such as "Bash(go test *)"; may be repeated`)
	flags.StringVar(&f.mode, "permission-mode", string(configs.AcceptEdits),
		"the permission `MODE` of members: default, plan, acceptEdits, dontAsk or bypassPermissions")
	flags.BoolVarP(&f.detach, "detach", "d", false, "return when the team is up; it continues in the background")
	flags.BoolVar(&f.keep, "keep", false, "stay up when all is done, and wait for more")
	flags.BoolVar(&f.fresh, "fresh", false, "forget the earlier run: its tasks, mail and transcripts")
	flags.BoolVar(&f.allowUnenforced, "allow-unenforced", false, allowUnenforcedHelp)
	f.addWeb(cmd)
	flags.BoolVar(&f.json, "json", false, "print the journal of this run, one JSON object a line, and nothing else")
	_ = cmd.RegisterFlagCompletionFunc("with", completeAgent)
	_ = cmd.RegisterFlagCompletionFunc("lead", completeAgent)
	return cmd
}

// runWithout runs a team without a spec of its own. It does not ask for trust,
// because the operator has typed what it runs; an agent of a running team is refused.
func runWithout(ctx context.Context, env *cli.Env, f runFlags, goal string) error {
	if err := runsTeams(env, runtime.GOOS); err != nil {
		return err
	}
	if f.detach && f.json {
		return cli.Usagef("--detach and --json exclude each other; follow a team in the background with covey logs -f --json")
	}
	if strings.TrimSpace(goal) == "" {
		return cli.Usagef("the goal is empty; say what the team is to do")
	}
	if err := cli.NotFromInside("covey run"); err != nil {
		return err
	}
	dir, err := env.Folder()
	if err != nil {
		return err
	}
	// The steps are in the order of their cost for the operator: flags, then what is
	// installed, then a question about the gate, and only then something is written.
	members, err := f.members()
	if err != nil {
		return err
	}
	if err := findGates(ctx, env, dir, &f); err != nil {
		return err
	}
	findSetup(ctx, env, dir, &f)
	team, tried, err := writeRunSpec(ctx, env, dir, members.spec(dir, goal, f), f)
	if err != nil {
		return err
	}
	announceRun(env, team, members)
	if !tried {
		if err := doctor.TryTeam(ctx, env, team); err != nil {
			return err
		}
	}
	if f.detach {
		return startDetached(ctx, env, team, f.upFlags, "")
	}
	return runTeam(ctx, env, team, f.upFlags, "")
}

// runMembers are the agents of a team without a spec.
type runMembers struct {
	lead  launch.AgentInfo
	mates []launch.AgentInfo
}

// members returns the agents that the flags name, or the installed ones. A single
// agent is both lead and teammate, because gates apply to what teammates complete.
func (f *runFlags) members() (runMembers, error) {
	found, err := f.found()
	if err != nil {
		return runMembers{}, err
	}
	lead := found[0]
	if f.lead != "" {
		if lead, err = programNamed(f.lead); err != nil {
			return runMembers{}, err
		}
		// The lead is not a teammate as well, unless it was named twice.
		if i := slices.IndexFunc(found, func(a launch.AgentInfo) bool { return a.Name == f.lead }); i >= 0 {
			found[0], found[i] = found[i], found[0]
			found = found[1:]
		}
	} else {
		found = found[1:]
	}
	if len(found) == 0 {
		found = []launch.AgentInfo{lead}
	}
	return runMembers{lead: lead, mates: found}, nil
}

// found returns the programs that --with names; without it, those that are certainly
// logged in or, if there are none, those that may be.
func (f *runFlags) found() ([]launch.AgentInfo, error) {
	if len(f.with) > 0 {
		var list []launch.AgentInfo
		var errs []error
		for _, name := range f.with {
			a, err := programNamed(strings.TrimSpace(name))
			list, errs = append(list, a), append(errs, err)
		}
		return list, joinUsage(errs)
	}
	all := launch.InstalledPresets()
	for _, fits := range []func(launch.AgentInfo) bool{
		func(a launch.AgentInfo) bool {
			return a.Login == launch.LoginYes || a.Login == launch.LoginKey
		},
		launch.AgentInfo.Usable,
	} {
		list := slices.DeleteFunc(slices.Clone(all), func(a launch.AgentInfo) bool { return !fits(a) })
		if len(list) > 0 {
			return list, nil
		}
	}
	if len(all) > 0 {
		return nil, cli.Usagef("no agent program here is logged in; %s: %s", all[0].Name, all[0].LoginBy)
	}
	return nil, cli.Usagef("no agent program is installed that covey knows (%s); covey agents NAME says how to install one, "+
		"and covey init --offline, or --with PROVIDER/MODEL, writes a team that needs none",
		strings.Join(configs.Presets(), ", "))
}

// programNamed returns the agent program of a preset.
func programNamed(name string) (launch.AgentInfo, error) {
	a, ok := launch.PresetInfo(configs.Preset(name))
	switch {
	case starterAgent(name).isModel():
		return a, cli.Usagef("covey run takes agent programs, and %s is a model; covey init --with %s "+
			"writes a team with it, which covey up runs", name, name)
	case !ok:
		return a, cli.Usagef("covey knows no agent program %q; it knows %s", name,
			strings.Join(configs.Presets(), ", "))
	case !a.Installed():
		return a, cli.Usagef("%s is not installed; %s installs it", name, a.HowToInstall())
	}
	return a, nil
}

// joinUsage joins several errors into one usage error.
func joinUsage(errs []error) error {
	if err := errors.Join(errs...); err != nil {
		return cli.Usagef("%v", err)
	}
	return nil
}

// spec returns the team.yaml for these agents. Each text is written as JSON, which is
// valid YAML.
func (r runMembers) spec(dir, goal string, f runFlags) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Written by covey run; covey init writes a spec to be edited.\ncovey: 1\ngoal: %s\nworkspace: %s\n",
		texts.Encode(goal), texts.Encode(dir))
	agents := map[string]string{} // program -> the agent's name
	b.WriteString("agents:\n")
	for _, a := range append([]launch.AgentInfo{r.lead}, r.mates...) {
		// A program that is both lead and teammate has one entry under agents.
		if agents[a.Name] == "" {
			agents[a.Name] = a.Name
			auth := configs.Login
			if a.Login == launch.LoginKey {
				auth = configs.Key
			}
			fmt.Fprintf(&b, "  %s: {use: %s, auth: %s}\n", a.Name, a.Name, auth)
		}
	}
	fmt.Fprintf(&b, "defaults: {permission_mode: %s, permissions: {allow: %s}}\n", texts.Encode(f.mode),
		texts.Encode(f.rules()))
	fmt.Fprintf(&b, "lead: {agent: %s}\nteammates:\n", r.lead.Name)
	seen := map[string]int{}
	for _, a := range r.mates {
		name := a.Name
		if seen[name]++; seen[name] > 1 {
			name = fmt.Sprintf("%s-%d", name, seen[name])
		}
		fmt.Fprintf(&b, "  %s: {agent: %s}\n", name, a.Name)
	}
	b.WriteString("sandbox: {level: best}\n")
	fmt.Fprintf(&b, "gates: {task: %s}\n", texts.Encode(append([]string{}, f.gates...)))
	if len(f.setup) > 0 {
		fmt.Fprintf(&b, "worktree: {setup: %s}\n", texts.Encode(f.setup))
	}
	return []byte(b.String())
}

// rules returns the permission rules of all members: those of --allow, and rules that
// allow the gates' commands, so that members can try them before the gates run. A
// command with brackets is left out, because no rule can express it.
func (f runFlags) rules() []string {
	rules := append([]string{}, f.allow...)
	for _, gate := range f.gates {
		if !strings.ContainsAny(gate, "()*&\n") {
			rules = append(rules, "Bash("+gate+")")
		}
	}
	return rules
}

// writeRunSpec writes the spec next to the team's state, so that the team can be
// resumed like any other. It fails for a running team, which keeps its spec, and
// writes nothing before confirmStandIns agrees. tried says that the team has run with the same
// gates and setup.
func writeRunSpec(ctx context.Context, env *cli.Env, dir string, spec []byte, f runFlags) (
	team *configs.Team, tried bool, err error,
) {
	// Parse once for the name alone, which determines the place.
	team, err = configs.Parse(filepath.Join(dir, "run.yaml"), spec)
	if err != nil {
		return nil, false, flagsError(err)
	}
	name := env.Team
	if name == "" {
		// A spec of this folder gives its team the same name; the two teams must
		// differ.
		name = strings.TrimRight(team.Name[:min(len(team.Name), 28)], "-") + "-run"
	}
	place, err := state.PlaceOf(name, dir)
	if err != nil {
		return nil, false, cli.Usagef("--team %v", err)
	}
	path := place.RunSpec()
	spec = append(spec, "name: "+name+"\n"...)
	if team, err = configs.ParseWith(path, spec, configs.Options{Managed: env.Managed}); err != nil {
		return nil, false, flagsError(err)
	}
	if _, err := orchestrator.New(team, orchestrator.Options{ManagedFolders: env.Managed}); err != nil {
		return nil, false, flagsError(err)
	}
	if run, up := state.Running(place); up {
		return nil, false, fmt.Errorf("team %s runs already (process %d); give it more to do with covey send, or end it with covey down",
			name, run.PID)
	}
	// After the check for a running team: its operator need not decide about programs that
	// are not started.
	if err := confirmStandIns(env, team, f.allowUnenforced); err != nil {
		return nil, false, err
	}
	if err := place.Create(); err != nil {
		return nil, false, err
	}
	if earlier, err := configs.Load(path); err == nil && !f.fresh {
		_, ran := state.ReadRunFile(place)
		tried = ran == nil && reflect.DeepEqual(earlier.Gates, team.Gates) &&
			slices.Equal(earlier.Worktree.Setup, team.Worktree.Setup)
	}
	if err := state.WriteAtomic(path, spec); err != nil {
		return nil, false, err
	}
	// Record trust, so that a later covey up does not ask.
	report, err := trust.Check(ctx, team)
	if err != nil {
		return nil, false, err
	}
	return team, tried, trust.Remember(ctx, team, report)
}

// flagsError turns an error in the generated spec into a usage error. The cause must
// be in the flags, so lines of the spec are left out.
func flagsError(err error) error {
	var mistakes configs.Errors
	if !errors.As(err, &mistakes) {
		return cli.Usagef("%v", err)
	}
	var texts []string
	for _, m := range mistakes {
		texts = append(texts, m.Message)
	}
	return cli.Usagef("%s", strings.Join(texts, "\n"))
}

// announceRun prints the members of the team and warnings about them. It prints to
// stderr: stdout is for the output of the run.
func announceRun(env *cli.Env, team *configs.Team, members runMembers) {
	var mates []string
	for _, m := range team.Teammates {
		mates = append(mates, m.Name)
	}
	env.Err.Printf("team %s: lead on %s; teammates %s\n", team.Name, members.lead.Name, strings.Join(mates, ", "))
	warned := map[string]bool{}
	for _, a := range append([]launch.AgentInfo{members.lead}, members.mates...) {
		if a.Login == launch.LoginNo && !warned[a.Name] {
			warned[a.Name] = true
			env.Err.Printf("warning: %s seems to be logged out: %s\n", a.Name, a.LoginBy)
		}
	}
}

// findGates determines the gates of a team without a spec: those of --gate, else the
// project's own test command, else what the operator answers. Only --no-gate allows a
// team without gates, because "all work is done" would then rest on the agents' word
// alone.
func findGates(ctx context.Context, env *cli.Env, dir string, f *runFlags) error {
	switch {
	case f.noGate && len(f.gates) > 0:
		return cli.Usagef("--gate and --no-gate exclude each other")
	case f.noGate || len(f.gates) > 0:
		return nil
	}
	test := doctor.FindTest(ctx, dir)
	f.gates = test.Gates()
	for _, gate := range f.gates {
		what := "this folder's tests"
		if gate == test.Hook {
			what = "the repository's pre-commit hook"
		}
		env.Err.Printf("gate: %s (%s; --gate names another command, --no-gate none)\n", term.PlainLine(gate), what)
	}
	if len(f.gates) > 0 {
		return nil
	}
	why := "no test command is known for this folder"
	if test.Missing != "" {
		why = fmt.Sprintf("this folder's tests are %q, and %s is not installed", test.Command, test.Missing)
	}
	if !env.Interactive() {
		return cli.Usagef("%s; name a command that must succeed before a task is completed with --gate COMMAND, or --no-gate for none", why)
	}
	return askGate(env, why, f)
}

// askGate asks the operator for a gate.
func askGate(env *cli.Env, why string, f *runFlags) error {
	answer, err := env.Ask(strings.ToUpper(why[:1]) + term.PlainLine(why[1:]) + ".\nA gate is a command that must succeed before " +
		"a task counts as completed.\nGate (\"none\" to go without): ")
	switch {
	case err != nil || answer == "":
		return cli.Usagef("no gate was named, and nothing was started; use --gate COMMAND or --no-gate")
	case answer == "none":
		return nil
	}
	f.gates = []string{answer}
	return nil
}

// findSetup adds the commands that a new working copy needs before its gates can run.
func findSetup(ctx context.Context, env *cli.Env, dir string, f *runFlags) {
	setup := doctor.FindSetup(ctx, dir)
	switch {
	case len(setup.Missing) > 0:
		env.Err.Printf("warning: new working copies would need %s (found by %s), but %s is not installed\n",
			term.PlainLine(strings.Join(setup.Commands, ", ")), strings.Join(setup.Files, ", "), strings.Join(setup.Missing, ", "))
	case len(setup.Commands) > 0:
		f.setup = setup.Commands
		env.Err.Printf("setup of new working copies: %s (found by %s)\n", strings.Join(f.setup, "; "), strings.Join(setup.Files, ", "))
	}
}
