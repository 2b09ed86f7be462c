package cases

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	coveyview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/teammate/agent"
)

// madeCall is a call that was seen, and what was decided about it.
type madeCall struct {
	id, member string
	rules.Call
	decision Decision
	by       string // what decided, for people
	denial   string // what the model reads instead of a result
	rule     string // the rule that decided; empty: none did
}

// call returns what was decided about a call with an id.
func (r *record) call(id, member string, c agent.ToolCall) madeCall {
	m := madeCall{id: id, member: member, decision: Allow, Call: rules.Call{Tool: c.Name, Input: c.Input, Cwd: r.workspace, Root: r.workspace}}
	decided := false
	for _, e := range r.lines {
		switch d := e.Data.(type) {
		case events.PermissionDecided:
			if d.ID == id {
				decided = true
				m.decision, m.by, m.rule = decisionOf(d), byWhat(d), d.Rule
			}
		case events.ToolReturned:
			if d.ID == id && d.IsError {
				m.denial = d.Content
			}
		case events.HookFinished:
			if d.ToolUseID == id && d.Event == "PreToolUse" && d.Outcome == "blocking" {
				m.by = "by hook " + texts.Preview(d.Command, hookWidth)
			}
		}
	}
	if !decided && m.denial != "" {
		m.decision, m.by = Deny, cmp.Or(m.by, "before permission was decided")
	}
	if m.decision == Allow {
		m.denial = ""
	}
	return m
}

// hookWidth is how much of a hook's command is shown.
const hookWidth = 80

// decisionOf returns the decision of a line. A call that nobody could be asked about is one that a person is
// asked about.
func decisionOf(d events.PermissionDecided) Decision {
	switch {
	case d.Decision == string(Allow):
		return Allow
	case d.By == "nobody" || d.By == "time limit":
		return Ask
	}
	return Deny
}

// byWhat says for people what decided a call.
func byWhat(d events.PermissionDecided) string {
	decision := decisionOf(d)
	switch {
	case d.Rule != "" && decision == Deny && !isRule(d.Rule):
		return "by " + d.Rule
	case d.Rule != "":
		return fmt.Sprintf("by %s rule %q", decision, d.Rule)
	case d.By == "hook":
		return "by a hook"
	case d.By == "mode":
		return strings.TrimSpace("by permission mode " + d.Mode)
	case decision == Ask:
		return "no rule, hook or mode decides, so a person is asked"
	}
	return "by " + d.By
}

// isRule reports whether what decided is a permission rule, and not a key of the spec.
func isRule(text string) bool {
	rule, err := rules.Parse(text)
	return err == nil && (rule.Spec != "" || isTool(rule.Tool))
}

// String describes the call as a rule would name it.
func (m madeCall) String() string {
	if text := texts.MainInput(m.Input); text != "" && text != "{}" {
		return m.Tool + "(" + texts.OneLine(text) + ")"
	}
	return m.Tool
}

// verdict describes the decision.
func (m madeCall) verdict() string {
	text := string(m.decision)
	if m.by != "" {
		text += ", " + m.by
	}
	if m.denial != "" {
		text += ": " + texts.Preview(texts.Unbroken(m.denial), 300)
	}
	return text
}

// matches reports whether what was said about the call fits a pattern.
func (m madeCall) matches(reason *regexp.Regexp) bool {
	return reason == nil || reason.MatchString(m.by) || reason.MatchString(m.denial)
}

// callText describes a tool call.
func callText(tool string, input json.RawMessage) string {
	return madeCall{Call: rules.Call{Tool: tool, Input: input}}.String()
}

// calls returns the calls that members made, in order.
func (r *record) calls() (list []madeCall) {
	for _, e := range r.lines {
		if d, ok := e.Data.(events.ToolCalled); ok {
			list = append(list, r.call(d.ID, e.Member, agent.ToolCall{ID: d.ID, Name: d.Name, Input: d.Input}))
		}
	}
	return list
}

// entries returns the lines that want wants, as people read them: the last of them, because a failure shows
// them all.
func (r *record) entries(want func(events.Event) bool) []string {
	list := []string{}
	for _, e := range r.lines {
		if !want(e) {
			continue
		}
		entry, ok := coveyview.Full(e)
		if !ok {
			continue
		}
		list = append(list, fmt.Sprintf("%4d %s  %s", e.Seq, entry.Who, texts.Preview(texts.Unbroken(entry.Text), 160)))
	}
	if over := len(list) - maxEntries; over > 0 {
		list = append([]string{fmt.Sprintf("     … %d lines before", over)}, list[over:]...)
	}
	return list
}

// maxEntries is how many lines of the journal a failure shows.
const maxEntries = 8

// ofCall wants the lines of a call.
func ofCall(id string) func(events.Event) bool {
	return func(e events.Event) bool {
		switch d := e.Data.(type) {
		case events.ToolCalled:
			return d.ID == id
		case events.ToolReturned:
			return d.ID == id
		case events.PermissionDecided:
			return d.ID == id
		case events.HookFinished:
			return d.ToolUseID == id
		case events.HookFeedback:
			return d.ToolUseID == id
		case events.HookStopped:
			return d.ToolUseID == id
		}
		return false
	}
}

// decisionOfGate returns the decision of a gate; empty: it has none. A gate that waits for an answer refuses
// a call that completes a task.
func decisionOfGate(g *view.Gate) Decision {
	is := func(v view.Verdict) bool {
		return slices.ContainsFunc(g.Hooks, func(h view.HookRun) bool { return h.Verdict() == v })
	}
	if g.Verdict == view.Refused && is(view.Awaits) && !is(view.Refused) {
		return Await
	}
	return map[view.Verdict]Decision{view.Agreed: Pass, view.Refused: Block, view.Awaits: Await, view.Halted: Stop}[g.Verdict]
}

// said returns the texts that were said at a gate, first what the member reads.
func (r *record) said(g *view.Gate) []string {
	var all []string
	for _, e := range r.lines {
		switch d := e.Data.(type) {
		case events.HookFeedback:
			if d.ToolUseID == g.ID {
				all = append([]string{view.Feedback(d.Event, d.Text)}, all...)
			}
		case events.HookFinished:
			if d.ToolUseID == g.ID {
				all = append(all, d.Stdout, d.Stderr)
			}
		case events.HookStopped:
			if d.ToolUseID == g.ID {
				all = append(all, d.Message)
			}
		}
	}
	if len(all) == 0 {
		all = append(all, g.Reason)
	}
	return slices.DeleteFunc(all, func(text string) bool { return strings.TrimSpace(text) == "" })
}

// gateText describes what a gate decided.
func (r *record) gateText(g *view.Gate) string {
	text := g.Event
	switch {
	case g.Merge != "":
		text = "merge " + g.Merge
	case g.Task != "":
		text += " of task " + g.Task
	}
	text += " (" + g.Member + "): " + cmp.Or(string(decisionOfGate(g)), "no decision")
	if len(g.By) > 0 {
		text += ", by " + texts.Preview(strings.Join(g.By, ", "), hookWidth)
	}
	if said := r.said(g); len(said) > 0 && g.Verdict != view.Agreed {
		text += ": " + texts.Preview(texts.Unbroken(said[0]), 200)
	}
	return text
}

// ofGate wants the lines of gates of one event and task.
func (r *record) ofGate(s Sight) func(events.Event) bool {
	ids := map[string]bool{}
	for _, g := range r.state.Gates {
		if s.isGate(g) {
			ids[g.ID] = true
		}
	}
	return func(e events.Event) bool {
		switch d := e.Data.(type) {
		case events.HookFinished:
			return ids[d.ToolUseID]
		case events.HookFeedback:
			return ids[d.ToolUseID]
		case events.HookStopped:
			return ids[d.ToolUseID]
		case events.TaskChanged:
			return s.Task != "" && d.Task.ID == s.Task
		}
		return false
	}
}
