package main

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/acpserver"
	"github.com/coveyteam/covey/cmd/covey/ask"
	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/doctor"
	"github.com/coveyteam/covey/cmd/covey/pages"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/cmd/covey/web"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/tasks"
)

// The groups of commands in `covey help`.
const (
	groupRun   = "run"
	groupTalk  = "talk"
	groupSetup = "setup"
	groupAgent = "agent"
)

// rootCommand builds the tree of commands. run prints errors, not the library, which
// would print the whole help below each of them and hide what was wrong.
//
// It is built anew for each call of execute, because flags keep their values: tests run
// many commands in one process.
func rootCommand(env *cli.Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "covey",
		Short: "Run a team of AI agents as one program",
		Long: `covey runs a team of AI agents as one program. A lead and its teammates exchange
messages and share one task list, and a turn ends only when the team's gates agree.
A spec, team.yaml, describes the team.`,
		Example: `  covey init              write a first team.yaml
  covey up                run the team of this folder
  covey ps                see what its members do
  covey attach backend    watch a member, and talk to it
  covey down              stop the team; "covey up" continues it`,
		Version:       thisBuild().String(),
		Args:          cli.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetIn(env.In)
	root.SetOut(env.Out.Writer)
	root.SetErr(env.Err.Writer)
	root.SetFlagErrorFunc(flagError)
	flags := root.PersistentFlags()
	flags.StringVarP(&env.Dir, "directory", "C", "", "work as if covey had been started in `DIR`")
	flags.StringVar(&env.Team, "team", "", "the team called `NAME`, wherever it runs")
	flags.StringVar(&env.Spec, "spec", "", "the spec `FILE`, instead of the team.yaml of the folder")
	root.AddGroup(&cobra.Group{ID: groupRun, Title: "Run a team:"},
		&cobra.Group{ID: groupTalk, Title: "Look at a team and talk to it:"},
		&cobra.Group{ID: groupSetup, Title: "Set up and check:"},
		&cobra.Group{ID: groupAgent, Title: "For members' agents:"})
	addCommands(env, root)
	root.SetHelpCommand(helpCommand(root))
	root.SetHelpCommandGroupID(groupSetup)
	root.CompletionOptions.DisableDefaultCmd = true
	wrapHelp(root)
	return root
}

// addCommands adds the subcommands to root, each in its group. Each command is a file
// of its own with its flags, help and code. Commands of later versions are not listed
// before they work.
func addCommands(env *cli.Env, root *cobra.Command) {
	for group, commands := range map[string][]*cobra.Command{
		groupRun: {
			upCommand(env), runCommand(env), nodeCommand(env), ciCommand(env), compareCommand(env), ask.Down(env), ask.Remove(env), ask.Prune(env),
			ask.Trust(env), initCommand(env), acpserver.Command(env),
		},
		groupTalk: {
			ask.Ps(env), ask.Nodes(env), ask.Attach(env), ask.Logs(env), ask.Send(env), ask.Interrupt(env), ask.Hold(env),
			ask.Resume(env), ask.Tasks(env), ask.Diff(env), ask.Show(env), ask.Shell(env), ask.Review(env), ask.Merge(env), verifyCommand(env),
			ask.Inbox(env),
			web.Command(env), pages.Command(env),
		},
		groupSetup: {
			agentsCommand(env), modelsCommand(env), doctor.HooksCommand(env), validateCommand(env), configCommand(env),
			testCommand(env), natsCommand(env),
			schemaCommand(env), doctor.Command(env),
			doctor.BugReport(env, thisBuild().String()), versionCommand(env), completionCommand(env),
		},
		groupAgent: {modelCommand(env), ask.MCP(env), ask.Plan(env)},
	} {
		for _, cmd := range commands {
			cmd.GroupID = group
			root.AddCommand(cmd)
		}
	}
	completeFlags(env, root)
}

// helpCommand returns `covey help`. That of the library succeeds for a command that is not there.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Show the help of a command",
		Example: "  covey help hooks run",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, _ := root.Find(args) // NoArgs says better what is wrong
			if err := cli.NoArgs(cmd, rest); err != nil {
				return err
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			cmd, _, _ := root.Find(args)
			var names []string
			for _, sub := range cmd.Commands() {
				if sub.IsAvailableCommand() {
					names = append(names, sub.Name()+"\t"+sub.Short)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// helpWidth is the width of help texts in columns.
const helpWidth = 80

// wrapHelp has the help of root and of all its subcommands wrapped when it is shown.
func wrapHelp(root *cobra.Command) {
	wide := strconv.Itoa(helpWidth)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "Flags.FlagUsages", "Flags.FlagUsagesWrapped "+wide))
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		cmd.Long = term.Fill(cmd.Long, helpWidth)
		help(cmd, args)
	})
}

// flagError turns a mistake in a flag into a usage error that says where the flags
// are listed. The library's error names the flag. A mistyped command has no flags at all, so
// that is said instead.
func flagError(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 {
		return cli.NoArgs(cmd, args)
	}
	return cli.Usagef("%v; see %q", err, cmd.CommandPath()+" --help")
}

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

// schemaCommand returns `covey schema`.
func schemaCommand(env *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of a spec, for editors",
		Long: `Print the JSON Schema of a spec. With it, editors complete team.yaml and mark
mistakes. Most find it by a comment in the spec's first line:

  # yaml-language-server: $schema=team.schema.json`,
		Example: "  covey schema > team.schema.json",
		Args:    cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := env.Out.Writer.Write(configs.Schema())
			return err
		},
	}
}
