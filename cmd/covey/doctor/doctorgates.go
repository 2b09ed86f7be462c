package doctor

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/teamhooks"
	"github.com/coveyteam/covey/orchestrator/trust"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/orchestrator/workcopies"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// tryGates runs each gate of a spec once, and reports its decision. A spec with mistakes has
// findings already, and no gates to run.
func tryGates(ctx context.Context, env *cli.Env, spec string, trusts bool) ([]finding, error) {
	team, err := configs.Load(spec)
	if err != nil {
		return nil, nil
	}
	if err := env.MayRun(ctx, team, spec, trusts); err != nil {
		return nil, err
	}
	return runGates(ctx, env, team)
}

// TryTeam runs the setup of a new working copy and each command gate of a team once. It prints what
// members would trip over, and returns an error if nothing could ever pass a gate, because it cannot
// run. A gate that refuses is no error: the goal may be to satisfy it.
func TryTeam(ctx context.Context, env *cli.Env, team *configs.Team) error {
	findings, err := runGates(ctx, env, team)
	if err != nil {
		return err
	}
	for _, f := range findings {
		switch f.Verdict {
		case isFail:
			return cli.Usagef("%s; %s", f.Text, f.WayOut)
		case isWarn:
			env.Err.Printf("warning: %s\n", term.PlainLine(f.Text))
		}
	}
	return nil
}

// runGates runs the gates of a team once where a member of it would begin: in a fresh working copy,
// after its setup, or in the workspace.
func runGates(ctx context.Context, env *cli.Env, team *configs.Team) ([]finding, error) {
	gates, err := teamhooks.Gates(team)
	if err != nil {
		return nil, err
	}
	if len(gates) == 0 {
		return []finding{ok("gates", "the spec has none")}, nil
	}
	layers, err := teamhooks.LoadLayers(team)
	if err != nil {
		return nil, err
	}
	at := tryPlace{dir: team.Workspace, words: team.Workspace}
	if !workcopies.MadeByHook(layers.Sources) {
		git := worktree.Git{Filters: func() []worktree.Filter { return trust.TrustedFilters(ctx, team) }}
		dir, ports, remove, err := workcopies.Fresh(ctx, git, team, launch.Environment(os.Environ()), func(what string) {
			env.Err.Printf("a fresh working copy: %s\n", term.PlainLine(what))
		})
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return []finding{fail("gates", "no gate can run: "+err.Error(),
				"correct that; members could not begin, either")}, nil
		}
		defer remove()
		if dir != at.dir {
			at = tryPlace{dir: dir, words: "a fresh working copy", ports: ports}
		}
	}
	var findings []finding
	for _, g := range gates {
		f, err := tryGate(ctx, team, g, at)
		if err != nil {
			return findings, err
		}
		findings = append(findings, f)
	}
	return findings, nil
}

// tryPlace is where gates are tried.
type tryPlace struct {
	dir, words string
	ports      []string // the variables that name its ports
}

// tryGate runs one gate.
func tryGate(ctx context.Context, team *configs.Team, g teamhooks.Gate, at tryPlace) (finding, error) {
	what := fmt.Sprintf("gate on %s: %s", g.Moment, term.Short(g.Label))
	if g.Handler.Policy != "" {
		return ok("gates", "%s: it looks at a running team, so it was not tried", what), nil
	}
	began := time.Now()
	out, err := teamhooks.TryGate(ctx, team, g, hooks.Common{SessionID: uuid.NewString(), Cwd: at.dir}, at.ports)
	took := term.Elapsed(time.Since(began))
	switch {
	case err != nil:
		return finding{}, err
	case ctx.Err() != nil:
		return finding{}, context.Cause(ctx)
	case out.Decision == hooks.Pass:
		return ok("gates", "%s: agrees (%s)", what, took), nil
	}
	for i, text := range out.Feedback { // what names the gate
		out.Feedback[i] = view.Feedback(string(g.Moment), text)
	}
	said := strings.TrimSpace(strings.Join(append(out.Feedback, out.StopReason), "\n"))
	if len(out.Results) > 0 {
		// The shell's codes for a missing program, or one that may not be run.
		if code := out.Results[0].ExitCode; code == 126 || code == 127 || code < 0 {
			return fail("gates", fmt.Sprintf("%s: cannot run (%s): %s", what, took, said),
				"correct the gate, or install what it needs"), nil
		}
	}
	return warn("gates", fmt.Sprintf("%s: refuses in %s (%s): %s", what, at.words, took, said),
		"nothing passes this gate until that is fixed; members can, unless they play scripts"), nil
}

// NewTeam returns what the team of a new spec lacks on this machine, what it would make and set up, and
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
