package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/mcp"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtools"
)

// MCP returns `covey mcp`.
func MCP(env *cli.Env) *cobra.Command {
	var member configs.Member
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the team tools to a member's agent over MCP",
		Long: `Serve the team tools (messages, members, tasks) as an MCP server on standard input
and output, for agent programs that do not support MCP over HTTP. covey starts it
as a child of a member's agent, and it acts for that member. The operating system
identifies the process, so nothing else can use it. It ends with its input, or with
the team.`,
		Args: cli.NoArgs,
		RunE: env.OnTeam(func(ctx context.Context, place state.Place, _ []string) error {
			client, err := api.Dial(ctx, place)
			if err != nil {
				return err
			}
			defer client.Close()
			return mcp.ServeTools(ctx, client, mcp.Streams{
				In: io.NopCloser(env.In), Out: nopCloser{env.Out.Writer}, For: member,
			})
		}),
	}
	cmd.Flags().BoolVar(&member.PlanRequired, "plan", false, "offer the tool that submits a plan")
	cmd.Flags().StringSliceVar(&member.Spawns, "spawn", nil, "offer the tool that adds teammates from these `TEMPLATES`")
	for _, name := range []string{"plan", "spawn"} {
		_ = cmd.Flags().MarkHidden(name) // covey sets it for members that have the tool; the flag is defined above
	}
	return cmd
}

// nopCloser is a writer whose Close does nothing, because the caller owns it.
type nopCloser struct{ io.Writer }

// Close does nothing.
func (nopCloser) Close() error { return nil }

// Plan returns `covey plan`, with which a member whose agent lacks the team tools
// submits its plan. It is not for people, who approve plans.
func Plan(env *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "plan TEXT...",
		Short: "Submit a member's plan for approval",
		Long: `Submit the plan of a member with "plan: required", from a process that the member
started. A message tells the member whether the plan is approved. TEXT "-" reads
the plan from standard input.`,
		Example: `  covey plan - < plan.md`,
		Args:    cli.ArgCount(1, -1, "a plan"),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := env.TextOf(args, "the plan is empty; write what you mean to do, as in: covey plan 'first …, then …', or covey plan - < plan.md")
			if err != nil {
				return err
			}
			return callTool(cmd.Context(), env, teamtools.PlanTool, map[string]any{"plan": text})
		},
	}
}

// insteadOf returns what the operator, who has no team tools, can do instead.
func insteadOf(tool string) string {
	if tool == teamtools.PlanTool {
		return "only an agent of the team submits a plan; covey inbox shows those that wait for your answer"
	}
	return "only an agent of the team answers its goal; covey send MEMBER TEXT tells a member, covey down ends the team"
}

// callTool calls a team tool for the member below which this process runs.
func callTool(ctx context.Context, env *cli.Env, tool string, in map[string]any) error {
	input, err := json.Marshal(in)
	if err != nil {
		return err
	}
	a, err := cli.Call(ctx, env, cli.With((*api.Client).CallTool, api.TeamCall{Tool: tool, Input: input}))
	// The team tells callers apart by their process. A person is refused, too, and gets
	// told what people do instead.
	if errors.Is(err, api.ErrDenied) && cli.NotFromInside(tool) == nil {
		return fmt.Errorf("%w: %s", api.ErrDenied, insteadOf(tool))
	}
	if err != nil {
		return err
	}
	return printToolAnswer(env.Out, a)
}

// printToolAnswer prints what a team tool said. It may quote texts of members.
func printToolAnswer(out *term.Screen, a api.TeamAnswer) error {
	if a.IsError {
		return errors.New(a.Text)
	}
	out.Printf("%s\n", term.Plain(a.Text))
	return nil
}
