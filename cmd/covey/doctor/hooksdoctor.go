package doctor

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/configs"
)

// hookDoctorFlags are the flags of `covey hooks doctor`.
type hookDoctorFlags struct {
	hookFlags
	probe, json bool
}

// hooksDoctorCommand returns `covey hooks doctor`.
func hooksDoctorCommand(env *cli.Env) *cobra.Command {
	var f hookDoctorFlags
	cmd := &cobra.Command{
		Use:   "doctor [SPEC]",
		Short: "Find hooks that cannot run, never run, or decide nothing",
		Long: `Check all hooks of a spec (team.yaml by default), or of settings files and
plugins, without running them. It finds commands that are missing or not
executable, scripts without an interpreter, misspelt events, fields and keys,
matchers and "if" conditions that no agent of this team can trigger, time-outs
that are too long, hooks that other hooks or a policy keep from running, and hooks
that have no effect. Each finding names the place and the correction. The exit code
is 1 if something is wrong.`,
		Example: `  covey hooks doctor
  covey hooks doctor --settings .claude/settings.json
  covey hooks doctor --probe     # try whether http hooks' servers answer, too
  covey hooks doctor --json | jq '.[] | select(.verdict == "fail")'`,
		Args: cli.ArgCount(0, 1, "at most one spec"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				spec, err := env.SpecPath(args)
				if err != nil {
					return err
				}
				f.Spec = spec
			}
			return hooksDoctor(cmd.Context(), env, f)
		},
	}
	f.Add(env, cmd)
	cmd.Flags().BoolVar(&f.probe, "probe", false, "check whether the servers of http hooks answer")
	cli.JSONFlag(cmd, &f.json)
	return cmd
}

// hooksDoctor examines hooks and prints the findings.
func hooksDoctor(ctx context.Context, env *cli.Env, f hookDoctorFlags) error {
	var findings []finding
	set, err := readHookSet(env, f.hookFlags)
	var mistakes configs.Errors
	switch {
	// A spec that cannot be read is a finding too. So --json always prints a list.
	case errors.As(err, &mistakes):
		findings = specFindings(mistakes)
	case err != nil:
		return err
	default:
		var count int
		if findings, count, err = examineHooks(ctx, set, f.probe); err != nil {
			return err
		}
		// No output would look the same as a doctor that found no hooks, so print the
		// count.
		if len(findings) == 0 {
			findings = []finding{ok("hooks", "%s, nothing wrong", hooksAndGates(count))}
		}
	}
	if f.json {
		if err := env.Out.JSON(findings); err != nil {
			return err
		}
	} else {
		printFindings(env.Out, findings)
	}
	return worst(findings)
}
