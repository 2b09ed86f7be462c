// Package doctor has covey doctor and covey hooks: they examine a machine, a spec and its
// hooks, say what is wrong and what to do about it, list hooks and events, and fire an
// event by hand. The package makes no promise of compatibility to programs
// outside covey.
package doctor

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
)

// verdict is the result of a check of `covey doctor`.
type verdict string

// The verdicts. Only a failure gives exit code 1.
const (
	isOK   verdict = "ok"
	isWarn verdict = "warn"
	isFail verdict = "fail"
)

// finding is the result of one check. A finding that is not ok always says what to
// do.
type finding struct {
	Check   string  `json:"check"`
	Verdict verdict `json:"verdict"`
	Place   string  `json:"place,omitempty"` // the file and line that it is about
	Text    string  `json:"text"`
	WayOut  string  `json:"way_out,omitempty"` // what to do about it
}

// ok returns a finding without a problem.
func ok(check, format string, args ...any) finding {
	return finding{Check: check, Verdict: isOK, Text: fmt.Sprintf(format, args...)}
}

// warn returns a finding that may become a problem.
func warn(check, text, wayOut string) finding {
	return finding{Check: check, Verdict: isWarn, Text: text, WayOut: wayOut}
}

// fail returns a finding that keeps a team from running.
func fail(check, text, wayOut string) finding {
	return finding{Check: check, Verdict: isFail, Text: text, WayOut: wayOut}
}

// Command returns `covey doctor`.
func Command(env *cli.Env) *cobra.Command {
	var asJSON, gates, trusts bool
	cmd := &cobra.Command{
		Use:   "doctor [SPEC]",
		Short: "Check what covey needs on this machine and in this folder",
		Long: `Check what a team needs: one covey on the PATH, a state folder, disk space, a
socket, git, a shell, a spec without mistakes, models that have their keys and can
be reached, hooks that can run, targets of notices, no interrupted runs, and fresh
backups of the store.
Each finding that is not "ok" says what to do. With --gates each gate of the spec
runs once, if the spec is trusted: in a fresh working copy after worktree.setup, or
in the workspace if members have no copies. A refusal is a warning, and a gate that
cannot run is a failure.`,
		Example: `  covey doctor
  covey doctor --gates
  covey doctor examples/quickstart/team.yaml
  covey doctor --json | jq '.[] | select(.verdict != "ok")'`,
		Args: cli.ArgCount(0, 1, "at most one spec"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if trusts && !gates {
				return cli.Usagef("--trust is for --gates; without that, doctor runs nothing of the spec's")
			}
			dir, err := env.Folder()
			if err != nil {
				return err
			}
			spec, err := env.SpecPath(args)
			if err != nil {
				return err
			}
			d := &examination{
				dir: dir, spec: spec, named: len(args) > 0 || env.Spec+env.Team != "", managed: env.Managed, version: env.Version,
			}
			// Gates run only when asked for, and after the checks: they are the only part
			// that runs what the spec names.
			findings := d.all(cmd.Context())
			if gates {
				tried, err := tryGates(cmd.Context(), env, d.spec, trusts)
				if err != nil {
					return err
				}
				findings = append(findings, tried...)
			}
			return show(env.Out, findings, asJSON)
		},
	}
	cmd.Flags().BoolVar(&gates, "gates", false, "run each gate once and show its verdict")
	cmd.Flags().BoolVar(&trusts, "trust", false, "with --gates: trust what the spec would run, for this command")
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// printFindings prints one line per check, and below it what to do. The columns have
// a fixed width, because the possible words are known.
func printFindings(out *term.Screen, findings []finding) {
	styles := map[verdict]term.Style{isOK: term.Green, isWarn: term.Yellow, isFail: term.Red}
	for _, f := range findings {
		text := term.PlainLine(f.Text)
		if f.Place != "" {
			text = term.PlainLine(f.Place) + ": " + text
		}
		out.Printf("%s  %s  %s\n", out.Paint(styles[f.Verdict], term.Padded(string(f.Verdict), 4)),
			term.Padded(f.Check, 10), text)
		if f.WayOut != "" {
			out.Printf("%s\n", out.Paint(term.Faint, "                  → "+term.PlainLine(f.WayOut)))
		}
	}
}

// show prints findings, and returns an error without text if there is a failure. Warnings do not count:
// scripts run doctor, and a missing git must not stop a team that does not need it.
func show(out *term.Screen, findings []finding, asJSON bool) error {
	err := out.Show(asJSON, findings, func() { printFindings(out, findings) })
	if err == nil && slices.ContainsFunc(findings, func(f finding) bool { return f.Verdict == isFail }) {
		err = &cli.EndError{Code: cli.ExitFailed}
	}
	return err
}
