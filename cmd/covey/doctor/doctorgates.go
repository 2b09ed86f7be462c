package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/hooking"
	"github.com/coveyteam/covey/orchestrator/hooklist"
)

// tryGates runs each gate of a spec once, in the workspace as it is now, and reports
// its decision. A spec with mistakes has findings already, and no gates to run.
func tryGates(ctx context.Context, env *cli.Env, spec string, trusts bool) ([]finding, error) {
	team, err := configs.Load(spec)
	if err != nil {
		return nil, nil
	}
	if err := env.MayRun(ctx, team, spec, trusts); err != nil {
		return nil, err
	}
	gates, err := hooklist.Gates(team)
	if err != nil {
		return nil, err
	}
	if len(gates) == 0 {
		return []finding{ok("gates", "the spec has none")}, nil
	}
	return runGates(ctx, team, gates)
}

// tryCommands runs each gate of a team that is a command once, and prints its decision.
func tryCommands(ctx context.Context, out *term.Screen, team *configs.Team) error {
	gates, err := hooklist.Gates(team)
	if err != nil {
		return err
	}
	gates = slices.DeleteFunc(gates, func(g hooklist.Gate) bool { return g.Handler.Policy != "" })
	findings, err := runGates(ctx, team, gates)
	printFindings(out, findings)
	return err
}

// runGates runs gates once.
func runGates(ctx context.Context, team *configs.Team, gates []hooklist.Gate) ([]finding, error) {
	var findings []finding
	for _, g := range gates {
		f, err := tryGate(ctx, team, g)
		if err != nil {
			return findings, err
		}
		findings = append(findings, f)
	}
	return findings, nil
}

// tryGate runs one gate.
func tryGate(ctx context.Context, team *configs.Team, g hooklist.Gate) (finding, error) {
	what := fmt.Sprintf("gate on %s: %s", g.Moment, term.Short(g.Label))
	if g.Handler.Policy != "" {
		return ok("gates", "%s: it looks at a running team, so it was not tried", what), nil
	}
	began := time.Now()
	out, err := hooking.TryGate(ctx, team, g, hooks.Common{SessionID: uuid.NewString()})
	took := term.Elapsed(time.Since(began))
	switch {
	case err != nil:
		return finding{}, err
	case out.Decision == hooks.Pass:
		return ok("gates", "%s: agrees (%s)", what, took), nil
	}
	said := strings.TrimSpace(strings.Join(append(out.Feedback, out.StopReason), "\n"))
	if len(out.Results) > 0 {
		// The shell's codes for a missing program, or one that may not be run.
		if code := out.Results[0].ExitCode; code == 126 || code == 127 || code < 0 {
			return fail("gates", fmt.Sprintf("%s: cannot run (%s): %s", what, took, said),
				"correct the gate, or install what it needs"), nil
		}
	}
	return warn("gates", fmt.Sprintf("%s: refuses in %s (%s): %s", what, team.Workspace, took, said),
		"nothing passes this gate until that is fixed; members can, unless they play scripts"), nil
}
