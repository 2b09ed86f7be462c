package teammate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/transcript"
)

// requestDecision holds the parts of a PermissionRequest hook's decision that an
// Outcome has no fields for.
type requestDecision struct {
	Interrupt   bool                     `json:"interrupt"`
	Permissions []hooks.PermissionUpdate `json:"updatedPermissions"`
}

// request runs the PermissionRequest hooks for a call before a person is asked, or
// before it is denied because nobody is present. decided reports that they decided; an
// empty denial then allows call with its present input.
func (p permitter) request(
	ctx context.Context, tl *permission.Tool, r permission.Ruling, call *agent.ToolCall,
) (denial string, decided bool) {
	out, ok := p.at.try(ctx, hooks.PermissionRequestInput{
		ToolName: call.Name, ToolInput: call.Input, MCPServer: tl.Server(),
		Suggestions: r.Suggestions(tl, *call, p.inside(tl, *call)),
	})
	switch {
	case ctx.Err() != nil:
		return transcript.InterruptedResult, true
	case !ok: // as if there were no such hooks
		return "", false
	}
	// An Outcome has the decision itself; the rest of it is read here, and if that is
	// malformed only the rest is lost.
	var more requestDecision
	if raw, ok := out.Output["decision"]; ok {
		if err := json.Unmarshal(raw, &more); err != nil {
			p.at.warn("PermissionRequest:%s: the rest of its decision was ignored: %v", call.Name, err)
			more = requestDecision{}
		}
	}
	switch out.Permission.Decision {
	case string(permission.Deny):
		return p.requestDenied(out, more, call), true
	case string(permission.Allow):
		p.change(ctx, more.Permissions)
		return p.requestAllowed(tl, out, call), true
	}
	return "", false
}

// requestDenied returns the denial for the model. It halts the turn if the hook interrupts.
func (p permitter) requestDenied(out hooks.Outcome, more requestDecision, call *agent.ToolCall) string {
	text := out.Permission.Reason
	if text == "" {
		text = fmt.Sprintf("Permission to use %s has been denied by a PermissionRequest hook.", call.Name)
	}
	if more.Interrupt {
		out.StopReason = text
		p.at.interrupted = p.at.interrupted || p.at.halted == ""
		p.at.halt(hooks.PermissionRequest, out)
	}
	return text
}

// requestAllowed applies the input with which a hook allowed the call. An allow does not
// override a deny rule (HOOKS.md 5.10), and no rule has seen the new input yet.
func (p permitter) requestAllowed(tl *permission.Tool, out hooks.Outcome, call *agent.ToolCall) (denial string) {
	if out.UpdatedInput == nil {
		return ""
	}
	call.Input = out.UpdatedInput
	if err := tl.Prepare(call, p.at.t.opts.Workdir.Dir()); err != nil {
		return permission.Invalid(call.Name, fmt.Errorf("a PermissionRequest hook changed it: %w", err))
	}
	now := p.at.t.opts.Rights.Now()
	if r, broken := permission.ForbiddenBy(now.Deny, p.callOf(*call)); broken {
		return now.Denial(p.at.t.opts.Name, permission.DeniedBy(r, p.callOf(*call)), *call, hooks.Outcome{})
	}
	return ""
}

// change applies the permission updates of a hook, and fires DirectoryAdded for new
// folders.
func (p permitter) change(ctx context.Context, updates []hooks.PermissionUpdate) {
	for _, update := range updates {
		added, err := p.at.t.opts.Rights.Change(update)
		switch {
		case errors.Is(err, permission.ErrNotKept):
			p.at.warn("a PermissionRequest hook's %s for %s: %v", update.Type, update.Destination, err)
		case err != nil:
			p.at.warn("a PermissionRequest hook's updatedPermissions: %v", err)
		}
		for _, dir := range added {
			p.folderAdded(ctx, dir)
		}
	}
}

// folderAdded fires DirectoryAdded in the background. Its messages go to the model with
// the next request.
func (p permitter) folderAdded(ctx context.Context, dir string) {
	p.at.t.hookRuns.Start(ctx, func(ctx context.Context) {
		in := hooks.DirectoryAddedInput{Directory: dir, Source: "slash_command"}
		out, _ := p.at.try(ctx, in)
		for _, text := range out.SystemMessages {
			p.at.t.later.Add(agent.Input{Kind: agent.FromContext, Text: text})
		}
	})
}

// mayRetry is what the model reads when a PermissionDenied hook allows another try, as
// recorded hosts word it, and that a hook is not the user.
const mayRetry = "The PermissionDenied hook indicated you may retry this tool call. " +
	"Do that only if the user has asked for this call."

// denied fires PermissionDenied for a call that an automatic decision denied. It returns
// text for the model in addition to the denial.
func (p permitter) denied(
	ctx context.Context, tl *permission.Tool, call agent.ToolCall, reason string,
) (extra []string) {
	out, ok := p.at.try(ctx, hooks.PermissionDeniedInput{
		ToolName: call.Name, ToolInput: call.Input, ToolUseID: call.ID, Reason: reason, MCPServer: tl.Server(),
	})
	if ok && string(out.Output["retry"]) == "true" {
		return []string{mayRetry}
	}
	return nil
}
