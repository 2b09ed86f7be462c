package doctor

import (
	"context"
	"slices"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
)

// NewTeam says what the team of a new spec lacks on this machine, what it would make and set up, and
// what its gate means. It tries the gate only if the operator agrees, because that runs what is in the folder.
func NewTeam(ctx context.Context, env *cli.Env, path string, test FoundTest) error {
	team, err := env.LoadSpec(path) // warns of what is not installed, and of keys that are not set
	if err != nil {
		return err
	}
	for _, f := range agentFindings(ctx, team) {
		if f.Verdict != isOK {
			env.Err.Printf("warning: %s; %s\n", term.PlainLine(f.Text), term.PlainLine(f.WayOut))
		}
	}
	if copies := cli.CopiesText(ctx, team); copies != "" {
		env.Out.Printf("\n%s\n", copies)
	}
	setup := FindSetup(ctx, team.Workspace)
	commands := term.PlainLine(strings.Join(setup.Commands, "`, `"))
	switch {
	case len(setup.Missing) > 0:
		env.Err.Printf("warning: the setup of new working copies (`%s`) is a comment in the spec, because %s is not installed\n",
			commands, strings.Join(setup.Missing, ", "))
	case commands != "":
		env.Out.Printf("\nworktree.setup runs in each new working copy: `%s`, found by %s.\n", commands, strings.Join(setup.Files, ", "))
	}
	switch {
	case test.Command == "" && test.Hook == "":
		env.Out.Printf("\nNo test command was found here, so tasks have no gate: write yours under gates in %s,\n"+
			"such as `task: [make test]`.\n", term.PlainLine(path))
		return nil
	case test.Missing != "":
		env.Err.Printf("warning: this folder's tests (%s) are no gate yet, because %s is not installed; "+
			"the spec has them as a comment\n", term.PlainLine(test.Command), term.PlainLine(test.Missing))
		return nil
	}
	means := "members can mend what it finds."
	if !slices.ContainsFunc(team.Members(), func(m configs.Member) bool { return m.Agent.Model.Script == "" }) {
		means = "this team plays scripts and cannot mend that, so it ends stuck; once it agrees, covey up --fresh begins anew."
	}
	env.Out.Printf("\nTasks have a gate: `%s`. While it refuses, no task can be completed; %s\n",
		term.PlainLine(strings.Join(test.Gates(), "`, `")), means)
	if !env.Interactive() || !env.Agreed("Run it once now, to see whether it agrees?") {
		env.Out.Printf("covey doctor --gates%s tries it.\n", cli.SpecArg(path))
		return nil
	}
	findings, err := runGates(ctx, env, team)
	printFindings(env.Out, findings)
	return err
}
