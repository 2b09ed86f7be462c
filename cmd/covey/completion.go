package main

import (
	"github.com/spf13/cobra"
)

// completionCommand is `covey completion SHELL`.
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
