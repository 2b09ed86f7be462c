package ask

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/orchestrator/mcp"
)

// MCP returns `covey mcp`.
func MCP(env *cli.Env) *cobra.Command {
	plan := false
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the team tools to a member's agent over MCP",
		Long: `Serve the team tools (messages, members, tasks) as an MCP server on standard input
and output, for agent programs that do not support MCP over HTTP. covey starts it
as a child of a member's agent, and it acts for that member. The operating system
identifies the process, so nothing else can use it. It ends with its input, or with
the team.`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := env.Connect(cmd.Context())
			if err != nil {
				return err
			}
			defer client.Close()
			return mcp.ServeTools(cmd.Context(), client, mcp.Streams{
				In: io.NopCloser(env.In), Out: nopCloser{env.Out.Writer}, Plan: plan,
			})
		},
	}
	cmd.Flags().BoolVar(&plan, "plan", false, "offer the tool that submits a plan")
	_ = cmd.Flags().MarkHidden("plan") // covey sets it for members that must plan; the flag is defined above
	return cmd
}

// nopCloser is a writer whose Close does nothing, because the caller owns it.
type nopCloser struct{ io.Writer }

// Close does nothing.
func (nopCloser) Close() error { return nil }
