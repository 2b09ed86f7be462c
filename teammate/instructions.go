package teammate

import (
	"context"
	"slices"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/workspace"
)

// tellInstructions runs the InstructionsLoaded hooks for the files read at the start of
// the session. Like recorded hosts, it is called before SessionStart for the files of
// the workspace and after it for the files that those include.
func (s *hookContext) tellInstructions(ctx context.Context, included bool) {
	in := s.t.opts.Instructions
	if in == nil {
		return
	}
	for _, f := range in.Files {
		if (f.Parent != "") == included {
			s.instructed(ctx, f, "session_start", "")
		}
	}
	if included {
		return
	}
	for _, note := range in.Notes {
		if s.t.told.first(note) {
			s.warn("%s", note)
		}
	}
}

// instructed fires InstructionsLoaded for one file. Its hooks decide nothing.
func (s *hookContext) instructed(ctx context.Context, f workspace.InstructionFile, reason, trigger string) {
	if f.Parent != "" {
		reason = "include"
	}
	s.try(ctx, hooks.InstructionsLoadedInput{
		FilePath: f.Path, MemoryType: f.Kind, LoadReason: reason, TriggerFilePath: trigger, ParentFilePath: f.Parent,
	})
}

// nested loads the instructions of folders below the workspace that a call has touched a file of
// for the first time. They go to the model with the tool's result.
func (s *hookContext) nested(ctx context.Context, tl *permission.Tool, call agent.ToolCall) (extra []string) {
	if !slices.Contains([]string{"Read", "Edit", "Write"}, tl.Spec.Name) || ctx.Err() != nil {
		return nil
	}
	for _, path := range tl.Locations(call.Input, s.t.opts.Workdir.Dir()) {
		extra = append(extra, s.nestedOf(ctx, path, "nested_traversal")...)
	}
	return extra
}

// nestedOf loads the instructions for a file that the model has not had.
func (s *hookContext) nestedOf(ctx context.Context, path, reason string) (texts []string) {
	files, notes := s.t.nested.To(path)
	for _, note := range notes {
		s.warn("%s", note)
	}
	for _, f := range files {
		s.instructed(ctx, f, reason, path)
		texts = append(texts, "<system-reminder>\n"+f.Shown()+"\n</system-reminder>")
	}
	return texts
}
