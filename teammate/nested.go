package teammate

import (
	"context"
	"path/filepath"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
)

// tellInstructions tells the InstructionsLoaded hooks of what was read for the
// session: before SessionStart what the workspace has, after it what that
// includes, in the order of recorded hosts.
func (at *scope) tellInstructions(ctx context.Context, included bool) {
	in := at.t.opts.Instructions
	if in == nil {
		return
	}
	for _, f := range in.files {
		if (f.parent != "") == included {
			at.instructed(ctx, f, "session_start", "")
		}
	}
	if included {
		return
	}
	for _, note := range in.notes {
		if _, told := at.t.told.LoadOrStore(note, true); !told {
			at.warn("%s", note)
		}
	}
}

// instructed fires InstructionsLoaded. Its hooks decide nothing.
func (at *scope) instructed(ctx context.Context, f instructionFile, reason, trigger string) {
	if f.parent != "" {
		reason = "include"
	}
	_, err := at.fire(ctx, hooks.InstructionsLoadedInput{
		FilePath: f.path, MemoryType: f.kind, LoadReason: reason, TriggerFilePath: trigger, ParentFilePath: f.parent,
	})
	if err != nil && ctx.Err() == nil {
		at.warn("InstructionsLoaded hook failed: %v", err)
	}
}

// nested reads the instructions of the folders below the workspace that a Read
// has gone to for the first time. They are for the model, beside the result.
func (at *scope) nested(ctx context.Context, tl *tool, call agent.ToolCall) (beside []string) {
	in := at.t.opts.Instructions
	if in == nil || tl.spec.Name != "Read" || ctx.Err() != nil {
		return nil
	}
	root := real(in.root)
	for _, path := range locations(tl, call.Input, at.t.opts.Workdir.Dir()) {
		dir := filepath.Dir(real(path))
		if dir == root || !reaches(root, dir, false) {
			continue
		}
		for _, f := range at.t.newInstructions(downTo(root, dir)[1:]) {
			at.instructed(ctx, f, "nested_traversal", path)
			beside = append(beside, "<system-reminder>\n"+f.shown()+"\n</system-reminder>")
		}
	}
	return beside
}

// newInstructions reads those of dirs that were not read yet.
func (t *Teammate) newInstructions(dirs []string) []instructionFile {
	if t.folders == nil {
		t.folders = map[string]bool{}
	}
	var found []instructionFile
	for _, dir := range dirs {
		if t.folders[dir] {
			continue
		}
		t.folders[dir] = true
		r := instructionReader{top: t.opts.Instructions.top, room: maxInstructionFile, seen: map[string]bool{}}
		for _, known := range t.opts.Instructions.files {
			r.seen[real(known.path)] = true
		}
		r.folder(dir)
		found = append(found, r.files...)
		for _, note := range r.notes {
			t.emit(agent.Warning{Text: note})
		}
	}
	return found
}
