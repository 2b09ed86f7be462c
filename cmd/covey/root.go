package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/configs"
)

// cli holds what all commands share: the streams and the global flags. There is
// one per run of the program and nothing else is shared, so that tests can run
// the program many times in one process.
type cli struct {
	in  io.Reader
	out *screen
	err *screen

	dir  string // -C: where to look for specs and teams; default the current folder
	team string // --team: a team's name, instead of the one that belongs to dir

	managed []string // folders of managed settings; no flag and no variable changes them
}

// newCLI returns the program on three streams. Which of them are terminals is
// found out here, once: a command must not change its ways in the middle
// because a stream was redirected meanwhile.
func newCLI(stdin io.Reader, stdout, stderr io.Writer) *cli {
	return &cli{in: stdin, out: newScreen(stdout), err: newScreen(stderr), managed: configs.ManagedFolders()}
}

// The groups that `covey help` lists commands in.
const (
	groupRun   = "run"
	groupTalk  = "talk"
	groupSetup = "setup"
)

// rootCommand builds the tree of commands. Errors are printed by run and not by
// the library, which would show the whole help below each of them and hide what
// was wrong.
func (c *cli) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "covey",
		Short: "Run a team of AI agents as one program",
		Long: `covey runs a team of AI agents as one program: a lead and its teammates exchange
messages, share one task list, and cannot end a turn before the team's gates
agree. A team is described by a spec, team.yaml.`,
		Example: `  covey init              write a first team.yaml
  covey up                run the team of this folder
  covey ps                see what its members do
  covey attach backend    look over a member's shoulder, and talk to it
  covey down              stop the team; "covey up" takes it up again`,
		Args:          noArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(c.in)
	root.SetOut(c.out.w)
	root.SetErr(c.err.w)
	root.SetFlagErrorFunc(flagError)
	flags := root.PersistentFlags()
	flags.StringVarP(&c.dir, "directory", "C", "", "work as if started in `DIR`")
	flags.StringVar(&c.team, "team", "", "the team called `NAME`, wherever it runs")
	root.AddGroup(&cobra.Group{ID: groupRun, Title: "Run a team:"},
		&cobra.Group{ID: groupTalk, Title: "Look at a team and talk to it:"},
		&cobra.Group{ID: groupSetup, Title: "Set up and check:"})
	c.addCommands(root)
	root.SetHelpCommandGroupID(groupSetup)
	root.CompletionOptions.DisableDefaultCmd = true
	return root
}

// addCommands hangs the subcommands below root, each in its group. Each command
// is a file of its own, which holds its flags, its help and what it does;
// commands of later versions are not there before they work.
func (c *cli) addCommands(root *cobra.Command) {
	for group, commands := range map[string][]*cobra.Command{
		groupRun: {c.upCommand(), c.runCommand(), c.downCommand(), c.trustCommand(), c.initCommand()},
		groupTalk: {
			c.psCommand(), c.attachCommand(), c.logsCommand(), c.sendCommand(), c.interruptCommand(), c.holdCommand(), c.resumeCommand(), c.tasksCommand(),
			c.diffCommand(), c.reviewCommand(), c.mergeCommand(),
			c.inboxCommand(),
		},
		groupSetup: {
			c.agentsCommand(), c.hooksCommand(), c.validateCommand(), c.schemaCommand(), c.doctorCommand(), c.modelCommand(),
			c.mcpCommand(), c.planCommand(), c.versionCommand(), c.completionCommand(),
		},
	} {
		for _, cmd := range commands {
			cmd.GroupID = group
			root.AddCommand(cmd)
		}
	}
	c.completeFlags(root)
}

// flagError makes a mistake in a flag an error of usage that says where the
// flags are listed. The library knows the name of the flag, and that is all a
// person needs to find the line in the list.
func flagError(cmd *cobra.Command, err error) error {
	return usagef("%v; see %q", err, cmd.CommandPath()+" --help")
}

// path is p as seen from the folder that -C names. Nothing here changes the
// process's own folder: that would also move what was opened or named by a path
// before.
func (c *cli) path(p string) string {
	if c.dir == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(c.dir, p)
}

// folder is the folder that -C names, or the current one, and there. It is
// checked before anything is looked up in it, because a team that is "not
// found" from a folder that does not exist would send people the wrong way.
func (c *cli) folder() (string, error) {
	dir, err := filepath.Abs(c.path("."))
	if err != nil {
		return "", err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return "", usagef("-C %s: there is no such folder", c.dir)
	}
	if !info.IsDir() {
		return "", usagef("-C %s is not a folder", c.dir)
	}
	return dir, nil
}

// noArgs refuses arguments, and names the nearest command where one was meant.
// A mistyped command looks like an argument of the command above it, so this is
// where most typing mistakes end up.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !cmd.HasSubCommands() {
		return usagef("%s takes no arguments, but got %q", cmd.CommandPath(), args[0])
	}
	hint := fmt.Sprintf("%s --help lists the commands", cmd.CommandPath())
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf("did you mean %q?", cmd.CommandPath()+" "+near[0])
	}
	return usagef("%s has no command %q; %s", cmd.CommandPath(), args[0], hint)
}

// argCount wants between lo and hi arguments; names says what they are. hi
// below zero means any number. One argument too many is mostly a text that was
// not put in quotes, so that is what the error says.
func argCount(lo, hi int, names string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < lo:
			return usagef("%s needs %s; see %q", cmd.CommandPath(), names, cmd.CommandPath()+" --help")
		case hi >= 0 && len(args) > hi:
			return usagef("%s takes %s, but got %q, too; put text of several words in quotes",
				cmd.CommandPath(), names, args[hi])
		}
		return nil
	}
}

// jsonFlag adds --json. Every command that prints has it, with the same words,
// so that scripts need not look it up.
func jsonFlag(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "json", false, "print JSON")
}
