package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
)

// explainEnd records why a hook in the background was ended before it exited by itself.
func explainEnd(ctx context.Context, found *Finding, limit time.Duration) {
	if !found.TimedOut {
		return
	}
	found.Fault = fmt.Sprintf("timed out after %v", limit)
	if cause := context.Cause(ctx); errors.Is(cause, errSessionEnded) {
		found.Aborted, found.Fault = true, cause.Error()
	}
}

// effect returns what the end of a background hook means to the caller that fired its
// event. refused says that the last turn end of its session was refused. As recorded, hosts show their models the output of hooks that are configured as
// async; the output of a hook that detached by its first line goes to people only.
func (h *backgroundHook) effect(known *hooks.EventInfo, name string, refused bool,
	v *Verdict) *hooks.Background {
	b := &hooks.Background{ID: h.id, Rewake: h.AsyncRewake}
	if v.Observed != "" {
		return b
	}
	if v.Message != "" {
		b.SystemMessages = []string{v.Message}
	}
	if v.Outcome == hooks.Blocking {
		b.Wakes, b.Feedback = true, known.EndsTurn()
		b.Messages = []string{h.wakeText(known, name, refused, v)}
		b.Summary = cmp.Or(h.summary(v), defaultRewakeSummary)
	}
	if h.byLine {
		return b
	}
	if v.Message != "" {
		b.Messages = append(b.Messages, Reminder(fmt.Sprintf("%s hook system message: %s", name, v.Message)))
	}
	for _, n := range v.Contexts {
		b.Messages = append(b.Messages, n.Shown(known, name))
	}
	return b
}

// summary returns the hook's line about a wake: the one it printed, else the configured
// one, which may be empty.
func (h *backgroundHook) summary(v *Verdict) string {
	return cmp.Or(v.Summary, h.RewakeSummary)
}

// wakeText returns what the model reads when a hook wakes it: a notification, as recorded
// of interactive sessions. A headless host waits for the hooks of a turn end before it
// exits and gives their feedback as if they had run in the foreground, unless the hook has
// a wake message or a summary of its own, or the turn goes on because it was refused.
func (h *backgroundHook) wakeText(known *hooks.EventInfo, name string, refused bool, v *Verdict) string {
	summary := h.summary(v)
	if known.EndsTurn() && !h.interactive && !refused && h.RewakeMessage == "" && summary == "" {
		command, plugin := h.shown()
		return hooks.Framed(plugin, fmt.Sprintf("%s[%s]: %s", Heading(known.Event), command, v.Feedback))
	}
	heading := cmp.Or(h.RewakeMessage, fmt.Sprintf("Stop hook blocking error from command \"%s\":", name))
	return hooks.FramedWake("<task-notification>\n<summary>" + cmp.Or(summary, defaultRewakeSummary) +
		"</summary>\n</task-notification>\n" + Reminder(heading+" "+texts.Defuse(v.Feedback)))
}
