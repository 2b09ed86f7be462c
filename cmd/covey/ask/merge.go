package ask

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/hooks/shell"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
)

// Merge returns `covey merge [TASK|MEMBER]`.
func Merge(env *cli.Env) *cobra.Command {
	var asJSON, all, unmarked, trust, noWait, force bool
	cmd := &cobra.Command{
		Use:   "merge [TASK|MEMBER]",
		Short: "Merge finished work: that of a task, of a member, or all",
		Long: `Merge finished work into its target branch (merge.into, else the branch of the
workspace), one piece after another. The gates check the merged state, and the
branch moves to exactly the commit that they agree to. Your uncommitted changes are
never overwritten: work that would do so is held, with the reason. After a conflict
or a refusal the author gets a task to repair the work; with --force the gates of
the named work are not asked, and such tasks are deleted.

The work of a task is what its member had made when the task was completed, with
earlier work that is not merged: covey review names it. The work of a member is everything in its working copy. With via: pr nothing is merged;
covey prints the commands that open the pull request.`,
		Example: `  covey review
  covey merge 3
  covey merge backend
  covey merge --unmarked
  covey merge --all`,
		Args: cli.ArgCount(0, 1, "a task or a member"),
		RunE: env.OnTeam(func(ctx context.Context, place state.Place, args []string) error {
			r, err := mergeRequest(place, args, api.MergeRequest{All: all, Unmarked: unmarked, Force: force})
			if err != nil {
				return err
			}
			// Without a running team the work is merged here, and the command waits in any
			// case.
			r.Wait = !noWait
			reply, err := env.Merge(ctx, place, r, trust)
			if err != nil {
				return err
			}
			return printMerged(env.Out, place, reply, asJSON)
		}),
		ValidArgsFunction: env.CompleteWork,
	}
	cmd.Flags().BoolVar(&all, "all", false, "all waiting work, and what is in members' working copies")
	cmd.Flags().BoolVar(&unmarked, "unmarked", false, "all waiting work in which covey review marks nothing")
	cmd.Flags().BoolVar(&force, "force", false, "merge a task or a member without asking the gates")
	cmd.Flags().BoolVar(&trust, "trust", false, "trust the spec for this command")
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "return at once; the running team merges")
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// mergeRequest returns the request that the arguments describe.
func mergeRequest(place state.Place, args []string, r api.MergeRequest) (api.MergeRequest, error) {
	many := r.All || r.Unmarked
	switch {
	case r.All && r.Unmarked:
		return r, cli.Usagef("--all and --unmarked exclude each other")
	case many && r.Force:
		return r, cli.Usagef("--force overrides the gates of one task or member; name it instead")
	case len(args) == 0 && !many:
		return r, cli.Usagef("say what to merge: a task, a member, --unmarked or --all; covey review lists what there is")
	case len(args) > 0 && many:
		return r, cli.Usagef("the flag stands for all; leave out %q, or the flag", args[0])
	case many:
		return r, nil
	}
	task, member, err := workOf(place, args[0])
	r.Task, r.Member = task, member
	return r, err
}

// workOf parses an argument that names a task or a member. A number is always a task,
// even if a member has that name.
func workOf(place state.Place, arg string) (task, member string, err error) {
	if isTaskID(arg) {
		return taskID(arg), "", nil
	}
	return "", arg, cli.KnownMember(place, arg)
}

// isTaskID reports whether an argument has the form of a task's id.
func isTaskID(arg string) bool {
	_, err := strconv.ParseUint(taskID(arg), 10, 64)
	return err == nil
}

// printMerged prints what became of the work. It returns an error if some of it is
// not merged, for scripts.
func printMerged(out *term.Screen, place state.Place, reply api.MergeReply, asJSON bool) error {
	if asJSON {
		if err := out.JSON(reply); err != nil {
			return err
		}
	}
	// Work whose pull request is ready, that was dropped, or that the team is busy with is
	// no reason for an error: nobody has to do something about it now.
	open, returned := 0, false
	for _, m := range reply.Merges {
		returned = returned || m.State == tasks.MergeReturned
		if m.State != tasks.MergeDone && m.State != tasks.MergeDropped && m.State != tasks.MergeReady &&
			!m.State.Busy() {
			open++
		}
		if asJSON {
			continue
		}
		out.Printf("%s\n", term.PlainLine(mergeLine(m)))
		for _, file := range m.Files {
			out.Printf("  %s\n", term.PlainLine(file))
		}
		if m.State == tasks.MergeReady {
			pull := merging.PullOf(place.Pulls(), m)
			out.Printf("  %s\n  %s\n", term.PlainLine(shell.Join(pull.Push)),
				term.PlainLine(shell.Join(pull.Open)))
		}
	}
	// The author repairs returned work in a turn, which needs a running team.
	_, up := state.Running(place)
	switch {
	case open > 0 && returned && !up:
		return fmt.Errorf("%d of %d not merged; covey up starts the team again, so that the author repairs "+
			"what has come back", open, len(reply.Merges))
	case open > 0:
		return fmt.Errorf("%d of %d not merged; covey review shows more", open, len(reply.Merges))
	}
	return nil
}

// mergeLine describes the state of a piece of work in one line.
func mergeLine(m tasks.Merge) string {
	return m.Authored() + ": " + view.MergeState(m) + view.Because(m)
}
