package teammate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// maxReminder is how much of a file a model sees again after a compaction, in characters.
const maxReminder = 20_000

// MayCompact implements agent.Compactor.
func (run *agentRun) MayCompact(ctx context.Context, trigger, custom string) (instructions, refusal string) {
	in := hooks.PreCompactInput{Trigger: trigger}
	if custom != "" {
		in.CustomInstructions = &custom
	}
	out, _ := run.u.at.try(ctx, in)
	if out.Decision == hooks.Block {
		return "", "a PreCompact hook refuses: " + out.Refusal()
	}
	added := out.Text("customInstructions")
	return strings.TrimSpace(custom + "\n\n" + added), ""
}

// Reminders implements agent.Compactor. It reads files as the model's tool Read does, without
// hooks: the model has had them before. The instructions of their folders come with them.
func (run *agentRun) Reminders(ctx context.Context, files []string) []string {
	t := run.u.t
	var list []string
	if t.helper == nil && t.opts.Tasks != nil {
		owned, err := t.opts.Tasks.InProgress(ctx, t.opts.Name)
		if err != nil && ctx.Err() == nil {
			run.u.at.warn("after a compaction the tasks in progress could not be read: %v", err)
		}
		for _, task := range owned {
			list = append(list, fmt.Sprintf("Your task in progress: %s: %s\n%s", task.ID, task.Subject, task.Description))
		}
	}
	read := t.tools.Named("Read")
	if read == nil || read.Runner == nil {
		return list
	}
	t.nested = t.opts.Instructions.Nested() // those that the model has had are gone with its conversation
	for _, file := range files {
		input, _ := json.Marshal(map[string]string{"file_path": file}) // texts always marshal
		r := agent.Contained(ctx, func(ctx context.Context) agent.ToolResult {
			return read.Runner.Run(ctx, agent.ToolCall{Name: "Read", Input: input})
		})
		if !r.IsError {
			list = append(list, "Contents of "+file+" now:\n"+texts.Clip(r.Content, maxReminder))
			list = append(list, run.u.at.nestedOf(ctx, texts.Absolute(t.opts.Workdir.Dir(), file), "compact")...)
		}
	}
	return list
}

// Compacted implements agent.Compactor. The order of the hooks is that of recorded hosts.
//
// The summary is in the transcript before anything else happens: the messages that it
// replaces are gone for the model from here on, and a crash must find either them or the
// summary. Mail among the summarized inputs is confirmed only after that.
func (run *agentRun) Compacted(ctx context.Context, c agent.Compaction) ([]agent.Input, error) {
	u := run.u
	ln := transcript.SummaryOf(c)
	u.at.sign(&ln)
	ln.Voice, ln.CostUSD = cmp.Or(c.Model, u.t.voice), u.t.price(c.Usage, c.Model)
	if err := u.t.opts.Transcript.Append(ln); err != nil {
		return nil, err
	}
	run.given = agent.Without(run.given, c.Inputs)
	run.recorded = run.recorded.Plus(c.Usage)
	u.usage, u.usd = u.usage.Plus(c.Usage), u.usd+ln.CostUSD
	u.at.spend(events.TokensUsed{Model: c.Model, Usage: c.Usage, CostUSD: ln.CostUSD})
	u.at.emit(events.Compacted{Layer: "summary", Trigger: c.Trigger, Before: c.Before, After: c.After, Summary: c.Summary})
	if err := u.t.confirm(ln.Mail); err != nil {
		return nil, err
	}
	var told []agent.Input
	// A helper has no session of its own, so no SessionStart hooks run for it.
	if u.t.helper == nil {
		out, _ := u.at.try(ctx, hooks.SessionStartInput{Source: "compact"})
		u.at.applySessionOutput(out)
		u.at.watchPaths(out)
		told = agent.ContextInputs(out.AdditionalContext)
		if u.t.opts.Instructions != nil {
			for _, f := range u.t.opts.Instructions.Files {
				u.at.instructed(ctx, f, "compact", "")
			}
		}
	}
	u.at.try(ctx, hooks.PostCompactInput{Trigger: c.Trigger, CompactSummary: c.Summary})
	return told, nil
}
