package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/orchestrator"
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
	style style
}

// maxBrief is how much of a foreign text a one-line entry shows, in columns.
const maxBrief = 200

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
	return entry{at: l.Time, who: teller(l, p), text: short(named(l, text)), style: st}, true
}

// teller is whom an entry is about: a member; the person who did it, whose
// lines have no member; or else the team.
func teller(l journal.Line, p payload) string {
	if m, ok := mergeOf(l); ok {
		return plainLine(m.Member)
	}
	return plainLine(firstOf(l.Member, p.From, p.By, "team"))
}

// briefText is the text of a brief entry; empty: not noteworthy.
func briefText(l journal.Line, p payload) (string, style) {
	switch l.Type {
	case "team_started":
		switch {
		case p.Merge != "":
			return "covey merge begins: " + p.Merge, bold
		case p.Resumed:
			return "the team goes on where it was", bold
		}
		return "the team starts: " + p.Goal, bold
	case "team_ended":
		if p.Merge != "" {
			return "covey merge ends: " + p.Reason, bold
		}
		return "the team ends: " + p.Reason, bold
	case "member_ended":
		if p.Reason != endedInOrder {
			return "ended: " + p.Reason, faint
		}
	case "turn_started":
		return fmt.Sprintf("turn %d begins (%s)", l.Turn, p.Cause), faint
	case "turn_ended":
		if p.Reason != "completed" && !isLockout(p.Reason) {
			return fmt.Sprintf("turn %d ended: %s", l.Turn, p.Reason), yellow
		}
	case "idle":
		switch {
		case isLockout(p.Reason), p.Reason == idleFailed:
			return "", normal
		case p.LastText != "":
			return "idle: " + p.LastText, faint
		}
		return "idle", faint
	case "message":
		if p.Kind == "goal" { // told with the start of the team
			return "", normal
		}
		return "to " + p.To + ": " + firstOf(p.Summary, p.Text), normal
	case "task":
		return taskText(l, p), taskStyle(p.Op)
	case "request":
		return requestText(l, p)
	case "merge":
		if m, ok := mergeOf(l); ok {
			return mergeText(m)
		}
	case "task_unchanged":
		return "task " + p.TaskID + " (" + p.Subject + ") was completed without a change: there is nothing to merge", yellow
	case "held_up":
		return "waits for " + p.For, faint
	case "member_held":
		return fmt.Sprintf("held by %s until covey resume %s or a text from you", byWhom(p.By), l.Member), yellow
	case "member_resumed":
		return "goes on: resumed by " + byWhom(p.By), normal
	case "program_restarts":
		return "its program is started again: " + p.Reason, yellow
	case "schedule":
		return scheduleText(p), faint
	case "budget":
		return budgetText(l)
	case "agent_changed":
		return fallbackText(l), yellow
	case "limited", "team_waits":
		return limitText(l, p), yellow
	case "turn_failed":
		return failureText(l, p), yellow
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
	at := orchestrator.ShortTime(p.Until.Local(), l.Time.Local())
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
			elapsed(p.Until.Sub(l.Time).Round(time.Second)), p.Left, p.Text)
	case p.Failed > 1:
		return fmt.Sprintf("turn %d failed, and so did the %d before it: %s", l.Turn, p.Failed-1, p.Text)
	}
	return fmt.Sprintf("turn %d failed: %s", l.Turn, p.Text)
}

// troubleText is briefText for what went wrong or was refused.
func troubleText(l journal.Line, p payload) (string, style) {
	switch l.Type {
	case "needs_attention":
		if p.Kind == "login" { // it says itself what is to be done
			return p.Reason, red
		}
		return "needs attention: " + p.Reason, red
	case "hook_feedback":
		return "refused by " + p.Event + ": " + complaint(p.Event, p.Text), yellow
	case "hook_stopped_continuation":
		return "stopped by " + p.Event + ": " + p.Message, red
	case "hook_finished":
		if p.Warning != "" {
			return fmt.Sprintf("%s hook %s: %s", p.Event, p.Command, p.Warning), yellow
		}
		if hasFailed(p.Outcome) {
			return fmt.Sprintf("%s hook %s failed (%s): %s", p.Event, p.Command, p.Outcome, p.Stderr), yellow
		}
	case "permission":
		if p.Decision == "deny" && p.By != "hook" { // the hook's feedback says it
			return fmt.Sprintf("may not use %s (%s)", p.Tool, firstOf(p.Rule, "decided by "+p.By)), yellow
		}
	case "subagent_ended":
		if p.Problem != "" {
			return helperEnds(p)
		}
	case "warning":
		return "warning: " + p.Text, yellow
	}
	return "", normal
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
func taskStyle(op string) style {
	switch op {
	case "completed":
		return green
	case "refused":
		return yellow
	}
	return normal
}

// full tells a line of the journal with all that a person may want to read:
// what `covey logs` and `covey attach` show.
func full(l journal.Line) (entry, bool) {
	p := data(l)
	e := entry{at: l.Time, who: teller(l, p)}
	switch l.Type {
	case "turn_started":
		e.text, e.style = fmt.Sprintf("turn %d begins (%s)\n%s", l.Turn, p.Cause, quoted(p.Prompt)), cyan
	case "text":
		e.text = p.Text
	case "tool_call":
		e.text, e.style = "calls "+callText(p.Name, p.Input), bold
	case "tool_result":
		e.text, e.style = quoted(p.Content), faint
		if p.IsError {
			e.style = red
		}
	case "hook_feedback":
		e.text, e.style = "refused\n"+quoted(p.Text), yellow
	case "message":
		e.text = "to " + p.To + "\n" + quoted(p.Text)
	case "idle":
		e.text, e.style = "idle", faint
	case "turn_ended":
		e.text, e.style = fmt.Sprintf("turn %d ended: %s", l.Turn, p.Reason), faint
	case "hook_finished":
		e.text, e.style = hookText(p)
	case "limited":
		e.text, e.style = limitText(l, p)+"\n"+quoted(p.Text), yellow
	case "logged_out":
		e.text, e.style = p.Agent+" is not logged in\n"+quoted(p.Hint), yellow
	case "request":
		e.text, e.style = requestText(l, p)
	case "waiting", "held_up":
		e.text, e.style = "waits for "+p.For, faint
	case "subagent_started":
		e.text, e.style = helperBegins(p), faint
	case "subagent_ended":
		e.text, e.style = helperEnds(p)
	case "member_started":
		e.text, e.style = "starts, agent "+p.Agent, faint
	default:
		e.text, e.style = briefText(l, p)
	}
	e.text = named(l, strings.Trim(plain(e.text), "\n"))
	return e, e.text != ""
}

// hookText tells how a hook ended, and what it complained of if it has no say
// in what follows.
func hookText(p payload) (string, style) {
	outcome := p.Outcome
	if p.Awaits != "" {
		outcome = "waits for " + p.Awaits
	}
	text := fmt.Sprintf("%s hook %s: %s (%d ms)", p.Event, plainLine(p.Command), outcome, p.MS)
	trouble := p.Warning
	if trouble == "" && hasFailed(p.Outcome) {
		trouble = p.Stderr
	}
	switch {
	case trouble != "":
		return text + "\n" + quoted(trouble), yellow
	case hasFailed(p.Outcome):
		return text, yellow
	}
	return text, faint
}

// hasFailed tells whether a hook with that outcome had no say. Such a hook let
// everything pass, which people should know: a gate that nobody keeps watch at
// looks like one that agrees.
func hasFailed(outcome string) bool {
	return outcome == "non_blocking_error" || outcome == "cancelled"
}

// quoteBar stands before each line of a text that somebody else has written.
const quoteBar = "│ "

// quoted sets foreign text of several lines off by a bar. Then a reader, who
// knows that covey never begins a line so, can tell what covey says from what
// an agent wants it to have said.
func quoted(text string) string {
	text = strings.TrimRight(text, " \n\t")
	if text == "" {
		return ""
	}
	return quoteBar + strings.ReplaceAll(text, "\n", "\n"+quoteBar)
}

// short makes one plain line of text, cut where it gets long.
func short(text string) string {
	if len(text) > 8*maxBrief {
		text = text[:8*maxBrief] // the rest will not be seen; do not disarm megabytes
	}
	return fit(plainLine(text), maxBrief)
}

// firstOf is the first text that is not empty. It serves to say one thing and,
// where that is missing, the next best.
func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
