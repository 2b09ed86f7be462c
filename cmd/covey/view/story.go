// Package view draws a team for people: the story of its journal, the board of the live
// view, the attach view, and what a last run came to. It takes data and a screen, and knows
// neither commands nor flags. It makes no promise of compatibility to programs outside of
// covey.
package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/tasks/actors"
)

// entry is a journal line in words. Its text is plain and may have several
// lines; a line of the journal that tells a person nothing has no entry.
// Whoever makes one has disarmed its text; whoever shows one lays it out.
type entry struct {
	at    time.Time
	who   string
	text  string
	style term.Style
}

// brief tells the noteworthy lines of the journal in one line each: what `covey
// up` prints on a pipe, and the news below its live view. Tool calls and texts
// are left out: there are hundreds of them, and a person who wants them looks
// at logs. What is told is who works on what, what was refused, and what went
// wrong.
func brief(l journal.Line) (entry, bool) {
	p := data(l)
	text, st := briefText(l, p)
	if text == "" {
		return entry{}, false
	}
	return entry{at: l.Time, who: teller(l, p), text: term.Short(named(l, text)), style: st}, true
}

// teller is whom an entry is about: a member; the person who did it, whose
// lines have no member; or else the team.
func teller(l journal.Line, p payload) string {
	if m, ok := mergeOf(l); ok {
		return term.PlainLine(m.Member)
	}
	return term.PlainLine(cmp.Or(l.Member, p.From, p.By, "team"))
}

// briefText is the text of a brief entry; empty: not noteworthy.
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
		return "to " + p.To + ": " + cmp.Or(p.Summary, p.Text), term.Normal
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
	case "held_up":
		return "waits for " + p.For, term.Faint
	case "member_held":
		return fmt.Sprintf("held by %s until covey resume %s or a text from you", byWhom(p.By), l.Member), term.Yellow
	case "member_resumed":
		return "goes on: resumed by " + byWhom(p.By), term.Normal
	case "program_restarts":
		return "its program is started again: " + p.Reason, term.Yellow
	case "schedule":
		return scheduleText(p), term.Faint
	case "budget":
		return budgetText(l)
	case "agent_changed":
		return fallbackText(l), term.Yellow
	case "limited", "team_waits":
		return limitText(l, p), term.Yellow
	case "turn_failed":
		return failureText(l, p), term.Yellow
	}
	return troubleText(l, p)
}

// byWhom names who did something.
func byWhom(name string) string {
	if name == actors.Operator {
		return "a person"
	}
	return name
}

// isLockout tells whether a turn ended because its agent may not go on for now.
// Another line tells of that, so this reason need not be told again.
func isLockout(reason string) bool {
	return reason == "usage_limit" || reason == "logged_out"
}

// limitText tells of a usage limit, and how long it makes whom wait.
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

// idleFailed is why a member is idle whose turn failed; a line turn_failed has told of it.
const idleFailed = "failed"

// failureText tells that a turn failed, and when it is tried again.
func failureText(l journal.Line, p payload) string {
	switch {
	case !p.Until.IsZero():
		return fmt.Sprintf("turn %d failed; it is tried again in %s (%d tries left): %s", l.Turn,
			term.Elapsed(p.Until.Sub(l.Time).Round(time.Second)), p.Left, p.Text)
	case p.Failed > 1:
		return fmt.Sprintf("turn %d failed, and so did the %d before it: %s", l.Turn, p.Failed-1, p.Text)
	}
	return fmt.Sprintf("turn %d failed: %s", l.Turn, p.Text)
}

// troubleText is briefText for what went wrong or was refused.
func troubleText(l journal.Line, p payload) (string, term.Style) {
	switch l.Type {
	case "needs_attention":
		if p.Kind == "login" { // it says itself what is to be done
			return p.Reason, term.Red
		}
		return "needs attention: " + p.Reason, term.Red
	case "hook_feedback":
		return "refused by " + p.Event + ": " + complaint(p.Event, p.Text), term.Yellow
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
		if p.Decision == "deny" && p.By != "hook" { // the hook's feedback says it
			return fmt.Sprintf("may not use %s (%s)", p.Tool, cmp.Or(p.Rule, "decided by "+p.By)), term.Yellow
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

// endedInOrder is why a member ends when its team does.
const endedInOrder = "done"

// complaint is what a hook's feedback says, without the heading that tells the
// model which hook speaks. A text without such a heading is returned as it is.
func complaint(event, text string) string {
	// A helper's stop is called Stop there, too.
	heading := strings.TrimPrefix(event, "Subagent") + " hook feedback:"
	text = strings.TrimSpace(strings.TrimPrefix(text, heading))
	if strings.HasPrefix(text, "[") {
		if _, rest, ok := strings.Cut(text, "]: "); ok {
			return rest
		}
	}
	return text
}

// taskText tells what happened to a task. Changes that are neither a step of
// its life nor a refusal are not noteworthy.
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

// taskStyle sets off what became of a task. Only the ends are set off: colour
// everywhere says nothing.
func taskStyle(op string) term.Style {
	switch op {
	case "completed":
		return term.Green
	case "refused":
		return term.Yellow
	}
	return term.Normal
}

// Full tells a line of the journal with all that a person may want to read:
// what `covey logs` and `covey attach` show.
func Full(l journal.Line) (entry, bool) {
	p := data(l)
	e := entry{at: l.Time, who: teller(l, p)}
	switch l.Type {
	case "turn_started":
		e.text, e.style = fmt.Sprintf("turn %d begins (%s)\n%s", l.Turn, p.Cause, quoted(p.Prompt)), term.Cyan
	case "text":
		e.text = p.Text
	case "tool_call":
		e.text, e.style = "calls "+callText(p.Name, p.Input), term.Bold
	case "tool_result":
		e.text, e.style = quoted(p.Content), term.Faint
		if p.IsError {
			e.style = term.Red
		}
	case "hook_feedback":
		e.text, e.style = "refused\n"+quoted(p.Text), term.Yellow
	case "message":
		e.text = "to " + p.To + "\n" + quoted(p.Text)
	case "idle":
		e.text, e.style = "idle", term.Faint
	case "turn_ended":
		e.text, e.style = fmt.Sprintf("turn %d ended: %s", l.Turn, p.Reason), term.Faint
	case "hook_finished":
		e.text, e.style = hookText(p)
	case "limited":
		e.text, e.style = limitText(l, p)+"\n"+quoted(p.Text), term.Yellow
	case "logged_out":
		e.text, e.style = p.Agent+" is not logged in\n"+quoted(p.Hint), term.Yellow
	case "request":
		e.text, e.style = requestText(l, p)
	case "waiting", "held_up":
		e.text, e.style = "waits for "+p.For, term.Faint
	case "subagent_started":
		e.text, e.style = helperBegins(p), term.Faint
	case "subagent_ended":
		e.text, e.style = helperEnds(p)
	case "member_started":
		e.text, e.style = "starts, agent "+p.Agent, term.Faint
	default:
		e.text, e.style = briefText(l, p)
	}
	e.text = named(l, strings.Trim(term.Plain(e.text), "\n"))
	return e, e.text != ""
}

// hookText tells how a hook ended, and what it complained of if it has no say
// in what follows.
func hookText(p payload) (string, term.Style) {
	outcome := p.Outcome
	if p.Awaits != "" {
		outcome = "waits for " + p.Awaits
	}
	text := fmt.Sprintf("%s hook %s: %s (%d ms)", p.Event, term.PlainLine(p.Command), outcome, p.MS)
	trouble := p.Warning
	if trouble == "" && hasFailed(p.Outcome) {
		trouble = p.Stderr
	}
	switch {
	case trouble != "":
		return text + "\n" + quoted(trouble), term.Yellow
	case hasFailed(p.Outcome):
		return text, term.Yellow
	}
	return text, term.Faint
}

// hasFailed tells whether a hook with that outcome had no say. Such a hook let
// everything pass, which people should know: a gate that nobody keeps watch at
// looks like one that agrees.
func hasFailed(outcome string) bool {
	return outcome == "non_blocking_error" || outcome == "cancelled"
}

// quoted sets foreign text of several lines off by a bar. Then a reader, who
// knows that covey never begins a line so, can tell what covey says from what
// an agent wants it to have said.
func quoted(text string) string {
	text = strings.TrimRight(text, " \n\t")
	if text == "" {
		return ""
	}
	return term.QuoteBar + strings.ReplaceAll(text, "\n", "\n"+term.QuoteBar)
}

// scheduleText tells of a schedule that came.
func scheduleText(p payload) string {
	switch {
	case p.Skipped != "":
		return fmt.Sprintf("schedule %s: nothing comes of it, %s", p.Name, p.Skipped)
	case p.TaskID != "":
		return fmt.Sprintf("schedule %s: task %s", p.Name, p.TaskID)
	}
	return fmt.Sprintf("schedule %s: a message to %s", p.Name, p.To)
}

// Concerns accepts the lines of a member, and the messages and tasks that it is
// named in. Mail for a member and its tasks are part of its story, whoever
// caused them.
func Concerns(member string) func(journal.Line) bool {
	return func(l journal.Line) bool {
		if l.Member == member {
			return true
		}
		p := data(l)
		if m, ok := mergeOf(l); ok {
			return m.Member == member
		}
		return l.Type == "message" && p.To == member || p.Task != nil && p.Task.Owner == member
	}
}
