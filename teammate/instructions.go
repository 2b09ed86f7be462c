package teammate

import (
	"context"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/workspace"
)

// tellInstructions tells the InstructionsLoaded hooks of what was read for the
// session: before SessionStart what the workspace has, after it what that
// includes, in the order of recorded hosts.
func (at *scope) tellInstructions(ctx context.Context, included bool) {
	in := at.t.opts.Instructions
	if in == nil {
		return
	}
	for _, f := range in.Files {
		if (f.Parent != "") == included {
			at.instructed(ctx, f, "session_start", "")
		}
	}
	if included {
		return
	}
	for _, note := range in.Notes {
		if _, told := at.t.told.LoadOrStore(note, true); !told {
			at.warn("%s", note)
		}
	}
}

// instructed fires InstructionsLoaded. Its hooks decide nothing.
func (at *scope) instructed(ctx context.Context, f workspace.InstructionFile, reason, trigger string) {
	if f.Parent != "" {
		reason = "include"
	}
	at.try(ctx, hooks.InstructionsLoadedInput{
		FilePath: f.Path, MemoryType: f.Kind, LoadReason: reason, TriggerFilePath: trigger, ParentFilePath: f.Parent,
	})
}

// nested reads the instructions of the folders below the workspace that a Read
// has gone to for the first time. They are for the model, beside the result.
func (at *scope) nested(ctx context.Context, tl *permission.Tool, call agent.ToolCall) (beside []string) {
	if tl.Spec.Name != "Read" || ctx.Err() != nil {
		return nil
	}
	for _, path := range tl.Locations(call.Input, at.t.opts.Workdir.Dir()) {
		files, notes := at.t.nested.To(path)
		for _, note := range notes {
			at.warn("%s", note)
		}
		for _, f := range files {
			at.instructed(ctx, f, "nested_traversal", path)
			beside = append(beside, "<system-reminder>\n"+f.Shown()+"\n</system-reminder>")
		}
	}
	return beside
}
