package orchestrator

import (
	"context"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/workspace"
)

// workspaceFiles are the instructions, commands and watched files of a workspace, which
// members share.
type workspaceFiles struct {
	files        *workspace.Watcher
	instructions *workspace.Instructions
}

// workspaceFilesOf reads the workspace's instructions once for all members.
func workspaceFilesOf(ctx context.Context, root string) workspaceFiles {
	top := worktree.Git{}.TopOf(ctx, root)
	return workspaceFiles{files: workspace.NewWatcher(), instructions: workspace.ReadInstructions(root, top)}
}

// instructionsOf returns the instructions of the folder that a member works in, without
// those that its rules deny it. On the branch of its own working copy they may differ from
// the workspace's.
func (h *seatBuilder) instructionsOf(m *members.Member, dir *workspace.Workdir, now func() permission.Policy) *workspace.Instructions {
	shown := h.around.instructions
	if copy, own := h.copies.Of(m.Name); own {
		shown = workspace.ReadInstructions(m.Dir, copy.Top)
	}
	return shown.Without(func(file string) bool {
		return now().Withhold(rules.Call{Tool: "Read", Cwd: dir.Dir(), Root: dir.Root()}, file)
	})
}

// surround adds what is around a member to its options: the files of the workspace, and nobody, if its calls
// are only decided. An agent program reads instructions and commands itself.
func (h *seatBuilder) surround(opts *teammate.Options, m *members.Member, instructions *workspace.Instructions) {
	if h.only.Decide != nil {
		decides(opts, m)
	}
	opts.Files = teammate.FileWatch{Watcher: h.around.files, Names: h.hooks.WatchNames}
	if kind := m.CurrentAgent().Kind; kind == configs.ACP || kind == configs.Command {
		return
	}
	opts.Instructions = instructions
	workdir := opts.Workdir // do not capture opts, which would then live as long as the member
	opts.Commands = func(name string) (workspace.PromptCommand, bool) {
		if c, ok := workspace.FindCommand(workdir.Root(), name); ok {
			return c, true
		}
		s, ok := h.Seats.BySession(m.Session.Session)
		if !ok {
			return workspace.PromptCommand{}, false
		}
		c, err := s.Skills().Command(name)
		return c, err == nil // else what was typed is a text like any other
	}
}

// systemPrompt returns the part of the prompt that every member's model gets.
func (h *seatBuilder) systemPrompt(m *members.Member) string {
	team, trees := h.o.team(), h.copies
	return teamtools.SystemPrompt(team, m, teamtools.Place{
		Here: trees.PlaceText(m, team.Workspace), Branches: trees.BranchesText(),
	})
}

// system returns the system prompt of a member whose model covey calls.
func (h *seatBuilder) system(m *members.Member, instructions *workspace.Instructions) string {
	text := h.systemPrompt(m)
	if brief := h.boxes.Of(m.Name).Brief(); brief != "" {
		text += "\n" + brief
	}
	if more := instructions.Text(); more != "" {
		text += "\n" + more
	}
	return text
}
