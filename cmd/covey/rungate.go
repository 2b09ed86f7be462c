package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/doctor"
	"github.com/coveyteam/covey/cmd/covey/term"
)

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
