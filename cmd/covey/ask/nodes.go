package ask

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/api"
)

// Nodes returns `covey nodes`.
func Nodes(env *cli.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "nodes",
		Short: "Show the hosts that carry members",
		Long: `Show the hosts that carry members of a team, besides the one that runs it: for each its
labels, the places that are used and free, its version of covey, who sits there, and since
when it is away or lost. covey node makes a host such a node.`,
		Example: `  covey nodes
  covey nodes --json`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			place, err := env.Find()
			if err != nil {
				return err
			}
			status, err := readStatus(cmd.Context(), place)
			if err != nil {
				return err
			}
			list := status.Nodes
			if list == nil {
				list = []api.NodeStatus{}
			}
			return env.Out.Show(asJSON, list, func() {
				if len(list) == 0 {
					env.Out.Printf("team %s has no nodes; nodes in the spec and covey node add some\n", status.Team)
					return
				}
				nodeTable(list, time.Now()).Print(env.Out)
				for _, n := range list {
					if n.Trouble != "" {
						env.Out.Printf("! %s: %s\n", n.Node, n.Trouble)
					}
				}
			})
		},
	}
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// nodeTable is the table of `covey nodes`.
func nodeTable(list []api.NodeStatus, now time.Time) *term.Table {
	type node = api.NodeStatus
	return term.TableOf(list,
		term.Text("NODE", func(n node) string { return n.Node }),
		term.Text("STATE", func(n node) string {
			switch {
			case n.Draining && n.State == "here":
				return "drains"
			case n.State == "here":
				return n.State
			}
			return n.State + " for " + term.Elapsed(now.Sub(n.Since))
		}),
		term.Text("LABELS", func(n node) string { return strings.Join(n.Labels, ", ") }),
		term.Text("USED", func(n node) string { return fmt.Sprint(len(n.Members)) }),
		term.Text("FREE", func(n node) string { return fmt.Sprint(n.Free) }),
		term.Text("COVEY", func(n node) string { return n.Version }),
		term.Text("MEMBERS", func(n node) string { return strings.Join(n.Members, ", ") }),
	)
}
