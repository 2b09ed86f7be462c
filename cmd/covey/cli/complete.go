package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/state"
)

// CompleteMember completes the first argument with the members of the team.
// Completion never fails, because an error could not be read.
func (e *Env) CompleteMember(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return e.MemberNames(), cobra.ShellCompDirectiveNoFileComp
}

// MemberNames returns the members of the selected team; nil if that is unclear. They
// come from run.json: a member that is new in the spec is completed only after the
// team has started with it.
func (e *Env) MemberNames() []string {
	place, err := e.Find()
	if err != nil {
		return nil
	}
	return Members(place)
}

// CompleteTask completes the first argument with the tasks of the team. Shells that
// show descriptions show the subject.
func (e *Env) CompleteTask(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	place, err := e.Find()
	if len(args) > 0 || err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, err := ReadOutline(cmd.Context(), place)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, t := range list {
		names = append(names, t.ID+"\t"+term.PlainLine(t.Subject))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// CompleteTeam completes the name of a team of this user, including teams that ended,
// which up, logs and ps accept.
func CompleteTeam(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	places, err := state.All()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, p := range places {
		names = append(names, p.Team+"\t"+term.PlainLine(p.Workspace))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// CompleteWork completes a task or a member.
func (e *Env) CompleteWork(
	cmd *cobra.Command, args []string, part string,
) ([]string, cobra.ShellCompDirective) {
	names, how := e.CompleteTask(cmd, args, part)
	if len(args) > 0 {
		return nil, how
	}
	return slices.Concat(names, e.MemberNames()), how
}
