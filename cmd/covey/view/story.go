// Package view draws a team for people: the journal as text, the board of the live
// view, the attach view, the result of a last run, and the results of a CI job. It takes
// data and a screen, and knows neither commands nor flags. It makes no promise of compatibility to
// programs outside covey.
//
// The facts come from orchestrator/view, which folds the journal; this package only words and lays them
// out. A line of the journal becomes an entry, brief or in full. All texts of members, models and
// programs pass through term.Plain or term.PlainLine here, once, when the entry is made: after that
// nothing in them can act on a terminal.
//
// The live view and attach are models of the terminal library: a key or a line of the journal changes
// the model, and the library asks it for the screen. They draw what is visible and keep a bounded number
// of entries; older ones are read again from the journal when somebody scrolls up to them. Text that a
// model is still writing stands below the entries, fainter, until the line with the whole text takes its
// place.
package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/hooklist"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/tasks/actors"
)

// Entry is a journal line as text. The texts are plain, and Text may have several lines; a
// journal line without meaning for people has no entry. The code that makes an entry
// makes its texts plain; the code that shows one lays it out.
type Entry struct {
	Time  time.Time
	Who   string
	Text  string
	Style term.Style
}

// brief describes the noteworthy lines of the journal in one line each, for `covey
// up` on a pipe and the news below its live view: who works on what, what was
// refused, and what went wrong. It omits tool calls and texts, which logs shows.
func brief(l journal.Line) (Entry, bool) {
	p := data(l)
	text, st := briefText(l, p)
	if text == "" {
		return Entry{}, false
	}
	short := term.Short
	if forPeople(st) {
		short = term.ShortMiddle
	}
	return Entry{Time: l.Time, Who: subjectOf(l, p), Text: short(named(l, text)), Style: st}, true
}

// forPeople reports whether a text of that style may ask a person for something, or warn of it. Its end
// says what to do.
func forPeople(st term.Style) bool { return st == term.Yellow || st == term.Red }

// subjectOf returns whom an entry is about: a member; the author of a line without
// member; or the team.
func subjectOf(l journal.Line, p payload) string {
	if m, ok := mergeOf(l); ok {
		return term.PlainLine(m.Member)
	}
	return term.PlainLine(cmp.Or(l.Member, p.From, p.By, "team"))
}

// briefText returns the text of a brief entry; empty: not noteworthy.
func briefText(l journal.Line, p payload) (string, term.Style) {
	switch l.Type {
	case "team_started":
		switch {
		case p.Merge != "":
			return "covey merge begins: " + p.Merge, term.Bold
		case p.Resumed:
			return "the team goes on where it was", term.Bold
		}
		return "the team starts: " + p.Goal, term.Bold
	case "team_ended":
		if p.Merge != "" {
			return "covey merge ends: " + p.Reason, term.Bold
		}
		return "the team ends: " + p.Reason, term.Bold
	case "member_ended":
		if p.Reason != endedInOrder {
			return "ended: " + p.Reason, term.Faint
		}
	case "turn_started":
		return fmt.Sprintf("turn %d begins (%s)", l.Turn, p.Cause), term.Faint
	case "turn_ended":
		if p.Reason != "completed" && !isLockout(p.Reason) {
			return fmt.Sprintf("turn %d ended: %s", l.Turn, p.Reason), term.Yellow
		}
	case "idle":
		switch {
		case isLockout(p.Reason), p.Reason == idleFailed:
			return "", term.Normal
		case p.LastText != "":
			return "idle: " + p.LastText, term.Faint
		}
		return "idle", term.Faint
	case "message":
		if p.Kind == "goal" { // told with the start of the team
			return "", term.Normal
		}
		// A notice repeats why a member needs attention, which the member's own line has said.
		text, _, told := strings.Cut(cmp.Or(p.Summary, p.Text), needsAttention)
		if told {
			text += strings.TrimSuffix(needsAttention, ": ")
		}
		return "to " + p.To + ": " + text, term.Normal
	case "task":
		return taskText(l, p), taskStyle(p.Op)
	case "request":
		return requestText(l, p)
	case "merge":
		if m, ok := mergeOf(l); ok {
			return mergeText(m)
		}
	case "task_unchanged":
		return "task " + p.TaskID + " (" + p.Subject + ") was completed without a change: there is nothing to merge", term.Yellow
	case "target_moved":
		return p.Text, term.Yellow
	case "held_up":
		return "waits for " + p.For, term.Faint
	case "member_held":
		return fmt.Sprintf("held by %s until covey resume %s or a text from you", byWhom(p.By), l.Member), term.Yellow
	case "member_resumed":
		return "goes on: resumed by " + byWhom(p.By), term.Normal
	case "fresh_session":
		return "fresh session: the old one could not be opened (" + p.Reason + ")", term.Yellow
	case "program_restarts":
		return "its program is started again: " + p.Reason, term.Yellow
	case "schedule":
		return scheduleText(p), term.Faint
	case "notified":
		return notifiedText(p), term.Faint
	case "budget":
		return budgetText(l)
	case "agent_changed", "compacted", "session_rotated", "model_switched":
		return agentText(l, p)
	case "limited", "team_waits":
		return limitText(l, p), term.Yellow
	case "turn_failed":
		return failureText(l, p), term.Yellow
	}
	return problemText(l, p)
}

// agentText is briefText for changes of what a member works with: its agent, its model, its
// session.
func agentText(l journal.Line, p payload) (string, term.Style) {
	switch l.Type {
	case "agent_changed":
		return fallbackText(l), term.Yellow
	case "compacted":
		return compactedText(p), term.Faint
	case "session_rotated":
		return "begins a new session with a brief of the one before", term.Faint
	case "model_switched":
		if p.BySpec {
			return "goes on with the model " + p.To + " in place of " + p.From + ": " + p.Why, term.Normal
		}
		return fmt.Sprintf("the model %s cannot answer, so %s answers the rest of the turn: %s",
			p.From, p.To, p.Why), term.Yellow
	}
	return "", term.Normal
}

// compactedText says what was left out of a conversation, and what that saved.
func compactedText(p payload) string {
	what := "the conversation was replaced by a summary"
	if p.Layer == "results" {
		what = "old results of tools are not shown to the model any more"
	}
	return fmt.Sprintf("%s: about %d tokens became %d", what, p.Before, p.After)
}

// byWhom names the author of an action.
func byWhom(name string) string {
	if name == actors.Operator {
		return "a person"
	}
	return name
}

// isLockout reports whether a turn ended because its agent may not go on for now.
// Another line reports that, so this one is omitted.
func isLockout(reason string) bool {
	return reason == "usage_limit" || reason == "logged_out"
}

// limitText describes a usage limit and how long it lasts.
func limitText(l journal.Line, p payload) string {
	at := notation.ShortTime(p.Until.Local(), l.Time.Local())
	switch {
	case l.Type == "team_waits":
		return fmt.Sprintf("waits until %s for %s (usage limit)", at, strings.Join(p.Members, ", "))
	case p.Known:
		return fmt.Sprintf("usage limit of %s reached; it goes on at %s", p.Agent, at)
	}
	return fmt.Sprintf("usage limit of %s reached; it tries again at %s", p.Agent, at)
}

// idleFailed is the idle reason after a failed turn, which a line turn_failed has
// reported.
const idleFailed = "failed"

// failureText describes a failed turn, and when it is retried.
func failureText(l journal.Line, p payload) string {
	switch {
	case !p.Until.IsZero():
		left := fmt.Sprintf("%d tries left", p.Left)
		if p.Left == 1 {
			left = "1 try left"
		}
		return fmt.Sprintf("turn %d failed; it is tried again in %s (%s): %s", l.Turn,
			term.Elapsed(p.Until.Sub(l.Time).Round(time.Second)), left, p.Text)
	case p.Failed > 1:
		return fmt.Sprintf("turn %d failed, and so did the %d before it: %s", l.Turn, p.Failed-1, p.Text)
	}
	return fmt.Sprintf("turn %d failed: %s", l.Turn, p.Text)
}

// needsAttention comes before the reason in texts about a member that needs attention.
const needsAttention = " needs attention: "

// problemText is briefText for errors and refusals.
func problemText(l journal.Line, p payload) (string, term.Style) {
	switch l.Type {
	case "needs_attention":
		if p.Kind == "login" { // the reason says what to do
			return p.Reason, term.Red
		}
		return "needs attention: " + p.Reason, term.Red
	case "hook_feedback":
		return "refused by " + p.Event + ": " + hooklist.Feedback(p.Event, p.Text), term.Yellow
	case "hook_stopped_continuation":
		return "stopped by " + p.Event + ": " + p.Message, term.Red
	case "hook_finished":
		if p.Warning != "" {
			return fmt.Sprintf("%s hook %s: %s", p.Event, p.Command, p.Warning), term.Yellow
		}
		if hasFailed(p.Outcome) {
			return fmt.Sprintf("%s hook %s failed (%s): %s", p.Event, p.Command, p.Outcome, p.Stderr), term.Yellow
		}
	case "permission":
		if p.Decision == "deny" && p.By != "hook" { // the hook's feedback reports it
			tool := p.Tool
			if p.Call != "" {
				tool += " (" + notation.Clip(p.Call, maxCall) + ")"
			}
			return "may not use " + tool + whyDenied(p), term.Yellow
		}
	case "subagent_ended":
		if p.Problem != "" {
			return helperEnds(p)
		}
	case "warning":
		return "warning: " + p.Text, term.Yellow
	}
	return "", term.Normal
}

// maxCall is how much of a denied call stands before the reason, in characters.
const maxCall = 100

// whyDenied returns why a tool call was denied, as the end of a sentence.
func whyDenied(p payload) string {
	asked := "" // a rule that wants a person to decide
	if p.Rule != "" {
		asked = p.Rule + " asks, and "
	}
	switch p.By {
	case "rule", "":
		return " (" + cmp.Or(p.Rule, "denied") + ")"
	case "mode":
		return strings.TrimRight(": its permission mode "+p.Mode, " ") + " forbids it"
	case "nobody":
		return ": " + asked + "nobody can be asked"
	case "time limit":
		return ": " + asked + "nobody answered in time"
	}
	return ": " + asked + p.By + " said no"
}

// endedInOrder is the reason with which members end when their team does.
const endedInOrder = "done"

// taskText describes what happened to a task. Other changes than those of its status
// and refusals are not noteworthy.
func taskText(l journal.Line, p payload) string {
	if p.Task == nil {
		return ""
	}
	task := "task " + p.Task.ID + " (" + p.Task.Subject + ")"
	switch p.Op {
	case "claimed":
		if p.Task.Owner == l.Member {
			return "takes " + task
		}
		return p.Task.Owner + " gets " + task
	case "created", "completed", "released", "deleted", "refused":
		return task + " " + p.Op
	case "awaits":
		return task + " waits for " + p.Reason
	}
	return ""
}

// taskStyle highlights completed and refused tasks only: colour everywhere would say
// nothing.
func taskStyle(op string) term.Style {
	switch op {
	case "completed":
		return term.Green
	case "refused":
		return term.Yellow
	}
	return term.Normal
}

// Full describes a line of the journal in full, for `covey logs` and `covey attach`.
func Full(l journal.Line) (Entry, bool) { return full(l, data(l)) }

// full is Full for a line whose data are decoded.
func full(l journal.Line, p payload) (Entry, bool) {
	e := Entry{Time: l.Time, Who: subjectOf(l, p)}
	switch l.Type {
	case "turn_started":
		e.Text, e.Style = fmt.Sprintf("turn %d begins (%s)\n%s", l.Turn, p.Cause, quoted(p.Prompt)), term.Cyan
	case "text":
		e.Text = p.Text
	case "tool_call":
		e.Text, e.Style = "calls "+callText(p.Name, p.Input), term.Bold
	case "tool_result":
		e.Text, e.Style = quoted(p.Content), term.Faint
		if p.IsError {
			e.Style = term.Red
		}
	case "hook_feedback":
		e.Text, e.Style = "refused\n"+quoted(hooklist.Untagged(p.Text)), term.Yellow
	case "message":
		e.Text = "to " + p.To + "\n" + quoted(p.Text)
	case "idle":
		e.Text, e.Style = "idle", term.Faint
	case "turn_ended":
		reason := p.Reason
		if p.ModelFailed && reason == "completed" { // as programs know it; the line before says more
			reason = "failed"
		}
		e.Text, e.Style = fmt.Sprintf("turn %d ended: %s", l.Turn, reason), term.Faint
	case "hook_finished":
		e.Text, e.Style = hookText(p)
	case "limited":
		e.Text, e.Style = limitText(l, p)+"\n"+quoted(p.Text), term.Yellow
	case "logged_out":
		e.Text, e.Style = p.Agent+" is not logged in\n"+quoted(p.Hint), term.Yellow
	case "request":
		e.Text, e.Style = requestText(l, p)
	case "waiting", "held_up":
		e.Text, e.Style = "waits for "+p.For, term.Faint
	case "subagent_started":
		e.Text, e.Style = helperBegins(p), term.Faint
	case "subagent_ended":
		e.Text, e.Style = helperEnds(p)
	case "compacted":
		e.Text, e.Style = strings.TrimRight(compactedText(p)+"\n"+quoted(p.Summary), "\n"), term.Faint
	case "session_rotated":
		e.Text, e.Style = "begins a new session with this brief of the one before:\n"+quoted(p.Brief), term.Faint
	case "program_starts":
		e.Text, e.Style = "its program "+p.Program+" starts", term.Faint
		if p.Ready {
			e.Text = "its program " + p.Program + " is ready"
		}
	case "member_started":
		e.Text, e.Style = "starts, agent "+p.Agent, term.Faint
	default:
		e.Text, e.Style = briefText(l, p)
	}
	e.Text = named(l, strings.Trim(term.Plain(e.Text), "\n"))
	return e, e.Text != ""
}

// hookText describes how a hook ended, and its error if it failed open.
func hookText(p payload) (string, term.Style) {
	outcome := p.Outcome
	if p.Awaits != "" {
		outcome = "waits for " + p.Awaits
	}
	text := fmt.Sprintf("%s hook %s: %s (%d ms)", p.Event, term.PlainLine(p.Command), outcome, p.MS)
	problem := p.Warning
	if problem == "" && hasFailed(p.Outcome) {
		problem = p.Stderr
	}
	switch {
	case problem != "":
		return text + "\n" + quoted(problem), term.Yellow
	case hasFailed(p.Outcome):
		return text, term.Yellow
	}
	return text, term.Faint
}

// hasFailed reports whether a hook with that outcome failed open. People should know
// about that: such a gate looks like one that agrees.
func hasFailed(outcome string) bool {
	return outcome == "non_blocking_error" || outcome == "cancelled"
}

// quoted marks each line of a foreign text with a bar. covey never begins a line of
// its own with it, so a reader can tell covey's text from that of an agent.
func quoted(text string) string {
	text = strings.TrimRight(text, " \n\t")
	if text == "" {
		return ""
	}
	return term.QuoteBar + strings.ReplaceAll(text, "\n", "\n"+term.QuoteBar)
}

// notifiedText describes a notice that was sent. A warning reports one that was given up.
func notifiedText(p payload) string {
	switch {
	case p.GivenUp != "":
		return ""
	case p.Member != "":
		return fmt.Sprintf("notice sent (%s): %s of %s", p.To, p.Kind, p.Member)
	}
	return fmt.Sprintf("notice sent (%s): %s", p.To, p.Kind)
}

// scheduleText describes a schedule that was due.
func scheduleText(p payload) string {
	switch {
	case p.Skipped != "":
		return fmt.Sprintf("schedule %s: skipped, %s", p.Name, p.Skipped)
	case p.TaskID != "":
		return fmt.Sprintf("schedule %s: task %s", p.Name, p.TaskID)
	}
	return fmt.Sprintf("schedule %s: a message to %s", p.Name, p.To)
}

// Concerns returns a filter for the lines of a member, and the messages and tasks
// that name it, whoever caused them.
func Concerns(member string) func(journal.Line) bool {
	return func(l journal.Line) bool {
		return l.Member == member || slices.Contains(concerned(l, data(l)), member)
	}
}

// concerned returns the members whom a line concerns: its own, and those that a message, a task
// or a merge names.
func concerned(l journal.Line, p payload) []string {
	names := []string{l.Member}
	if m, ok := mergeOf(l); ok {
		return append(names, m.Member)
	}
	if l.Type == "message" {
		names = append(names, p.To)
	}
	if p.Task != nil {
		names = append(names, p.Task.Owner)
	}
	return names
}
