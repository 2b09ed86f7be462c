package ask

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/hooks/sandbox"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/state"
)

// Show returns `covey show MEMBER`.
func Show(env *cli.Env) *cobra.Command {
	var asJSON, stat bool
	cmd := &cobra.Command{
		Use:   "show MEMBER",
		Short: "Show what is in the working copy of a member",
		Long: `Show the working copy of a member: its folder and branch, the commits of its work,
what is not committed, and all changes. Git in that folder would run what the member
has written into its settings; covey show runs nothing of it.`,
		Example: `  covey show backend
  covey show backend --stat`,
		Args: cli.ArgCount(1, 1, "a member"),
		RunE: env.OnTeam(func(ctx context.Context, place state.Place, args []string) error {
			if err := cli.KnownMember(place, args[0]); err != nil {
				return err
			}
			team, err := env.TeamOf(place)
			if err != nil {
				return err
			}
			work, err := merging.ReadCopy(ctx, place, team,
				merging.DiffRequest{Member: args[0], Stat: stat, Color: env.Out.Color && !asJSON})
			if err != nil {
				return err
			}
			return env.Out.Show(asJSON, work, func() { printCopy(env.Out, work) })
		}),
		ValidArgsFunction: env.CompleteMember,
	}
	cmd.Flags().BoolVar(&stat, "stat", false, "show one line for each file instead of its changes")
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// printCopy prints what is in a working copy. All of it are texts of its member.
func printCopy(out *term.Screen, w merging.CopyState) {
	out.Printf("%s\n", out.Paint(term.Bold, term.PlainLine(w.Title)))
	out.Printf("folder %s\n", term.PlainLine(w.Folder))
	for _, c := range w.Commits {
		out.Printf("%s %s\n", out.Paint(term.Faint, c.ID[:min(len(c.ID), 12)]), term.PlainLine(c.Subject))
	}
	for _, line := range w.Uncommitted {
		out.Printf("%s\n", out.Paint(term.Yellow, term.PlainLine("not committed: "+line)))
	}
	if w.Text == "" && w.Withheld == "" {
		out.Printf("nothing has been changed\n")
		return
	}
	out.Printf("\n")
	printDiffs(out, []merging.Diff{w.Diff}, true)
}

// Shell returns `covey shell MEMBER`.
func Shell(env *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "shell MEMBER [-- COMMAND [ARG...]]",
		Short: "Open a shell in a member's folder and sandbox",
		Long: `Open a shell in the folder of a member, or run a command there, in the sandbox of the
member's commands: what the member has left there can harm you no more than it could by
itself. Without a sandbox the shell has all your rights, and covey says so. The team
need not run. The exit code is that of the shell.`,
		Example: `  covey shell backend
  covey shell backend -- git log --oneline`,
		Args: cobra.MinimumNArgs(1),
		RunE: env.OnTeam(func(ctx context.Context, place state.Place, args []string) error {
			if err := cli.NotFromInside("covey shell"); err != nil {
				return err
			}
			if err := cli.KnownMember(place, args[0]); err != nil {
				return err
			}
			team, err := env.TeamOf(place)
			if err != nil {
				return err
			}
			bin, err := os.Executable()
			if err != nil {
				return err
			}
			shell, err := orchestrator.ShellOf(ctx, team, place, bin, args[0])
			if err != nil {
				return err
			}
			return runShell(env, shell, args[1:])
		}),
		ValidArgsFunction: env.CompleteMember,
	}
}

// runShell runs a command or, without one, a shell, and returns its exit code as an error.
func runShell(env *cli.Env, s orchestrator.Shell, args []string) error {
	box := s.Kit.Box()
	if level := box.Level(); level == sandbox.None {
		env.Err.Printf("warning: no sandbox holds this shell in %s: it has all rights of yours\n", term.PlainLine(s.Dir))
	} else if len(args) == 0 {
		env.Err.Printf("a shell in %s, in a sandbox of level %d; exit ends it\n", term.PlainLine(s.Dir), level)
	}
	if len(args) == 0 {
		args = []string{"/bin/sh"}
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Dir, s.Env, env.In, env.Out.Writer, env.Err.Writer
	// The shell is asked by the terminal, too, and this process must outlive it.
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(asked)
	session, err := box.Start(cmd)
	if err != nil {
		return fmt.Errorf("start %s: %w", args[0], err)
	}
	defer session.Close()
	err = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); err != nil && code > 0 {
		return &cli.EndError{Code: code}
	}
	return err
}
