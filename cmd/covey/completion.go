package main

import (
	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/tasks"
)

// completionCommand returns `covey completion SHELL`. It replaces the library's own
// command, which does not say where the script goes.
func completionCommand(env *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print the script that completes covey's commands in a shell",
		Long: `Print the script that lets a shell complete covey's commands and flags, and the
names of existing teams, members and tasks.`,
		Example: `  source <(covey completion bash)   # this shell only
  covey completion bash > ~/.local/share/bash-completion/completions/covey
  covey completion zsh > "${fpath[1]}/_covey"
  covey completion fish > ~/.config/fish/completions/covey.fish`,
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		Args:      cli.ArgCount(1, 1, "the name of a shell: bash, zsh, fish or powershell"),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(env.Out.Writer, true)
			case "zsh":
				return root.GenZshCompletion(env.Out.Writer)
			case "fish":
				return root.GenFishCompletion(env.Out.Writer, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(env.Out.Writer)
			}
			return cli.Usagef("there is no completion for the shell %q; there is one for bash, zsh, fish and powershell",
				args[0])
		},
	}
}

// completeFlags completes the values of flags that name a team, a member or one of a few words, in all
// commands below root. Commands work without completion, so errors are ignored.
func completeFlags(env *cli.Env, root *cobra.Command) {
	_ = root.RegisterFlagCompletionFunc("team", cli.CompleteTeam)
	memberOf := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return env.MemberNames(), cobra.ShellCompDirectiveNoFileComp
	}
	status := []string{string(tasks.Pending), string(tasks.InProgress), string(tasks.Completed)}
	modes := []string{string(configs.Default), string(configs.Plan), string(configs.AcceptEdits), string(configs.DontAsk), string(configs.BypassPermissions)}
	enums := map[string][]string{"status": status, "permission-mode": modes, "mode": modes}
	commands := root.Commands()
	// The list grows while it is walked, so that subcommands at any depth are reached.
	for i := 0; i < len(commands); i++ {
		commands = append(commands, commands[i].Commands()...)
		for _, flag := range []string{"as", "owner"} {
			_ = commands[i].RegisterFlagCompletionFunc(flag, memberOf)
		}
		for flag, values := range enums {
			_ = commands[i].RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		}
	}
}
