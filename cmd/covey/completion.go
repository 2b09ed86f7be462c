package main

import (
	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/orchestrator"
)

// completionCommand is `covey completion SHELL`. It replaces the library's own,
// which does not say where the script goes.
func (c *cli) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print the script that completes covey's commands in a shell",
		Long: `Print the script that lets a shell complete covey's commands, flags, and the
names of teams, members and tasks that are there at that moment.`,
		Example: `  source <(covey completion bash)                                  # this shell only
  covey completion bash > ~/.local/share/bash-completion/completions/covey
  covey completion zsh > "${fpath[1]}/_covey"
  covey completion fish > ~/.config/fish/completions/covey.fish`,
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		Args:      argCount(1, 1, "the name of a shell: bash, zsh, fish or powershell"),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(c.out.w, true)
			case "zsh":
				return root.GenZshCompletion(c.out.w)
			case "fish":
				return root.GenFishCompletion(c.out.w, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(c.out.w)
			}
			return usagef("there is no completion for the shell %q; there is one for bash, zsh, fish and powershell",
				args[0])
		},
	}
}

// completeMember completes the first argument with the members of the team.
// Completion never fails: in the middle of a line nobody can read an error.
func (c *cli) completeMember(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return c.memberNames(), cobra.ShellCompDirectiveNoFileComp
}

// memberNames are the members of the team that is meant; none if it is not
// clear which. They are those of run.json: a member that the spec has got since
// is completed only when the team has come up with it.
func (c *cli) memberNames() []string {
	place, err := c.find()
	if err != nil {
		return nil
	}
	return members(place)
}

// completeTask completes the first argument with the tasks of the team. The
// subject stands beside the id where the shell shows such things.
func (c *cli) completeTask(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	place, err := c.find()
	if len(args) > 0 || err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, err := readOutline(cmd.Context(), place)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, t := range list {
		names = append(names, t.ID+"\t"+plainLine(t.Subject))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeFlags completes the values of the flags that name a team or a member,
// wherever they stand below root. Without completion a command still works, so
// that a flag that cannot be completed is no error.
func (c *cli) completeFlags(root *cobra.Command) {
	_ = root.RegisterFlagCompletionFunc("team", completeTeam)
	memberOf := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return c.memberNames(), cobra.ShellCompDirectiveNoFileComp
	}
	commands := root.Commands()
	for i := 0; i < len(commands); i++ {
		commands = append(commands, commands[i].Commands()...)
		for _, flag := range []string{"as", "owner"} {
			_ = commands[i].RegisterFlagCompletionFunc(flag, memberOf)
		}
	}
}

// completeTeam completes the name of a team of this user. Teams that ended are
// among them: up, logs and ps take those, too.
func completeTeam(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	places, err := orchestrator.All()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, p := range places {
		names = append(names, p.Team+"\t"+plainLine(p.Workspace))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
