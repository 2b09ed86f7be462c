package runner

import (
	"cmp"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
)

// Late decides what the end of a hook in the background means: it cannot decide anything,
// but its answer may have texts, and one with asyncRewake may wake the agent with exit
// code 2.
func Late(known *hooks.EventInfo, h *hooks.Handler, found Finding) Verdict {
	v := found.verdict()
	switch {
	case found.Aborted || found.TimedOut:
		v.Outcome = hooks.Cancelled
		v.Warn("%s", found.Fault)
	case found.Fault != "":
		v.Outcome = hooks.NonBlockingError
		v.Warn("%s", found.Fault)
	case found.Code == 2 && h.AsyncRewake && known.Event != hooks.SessionEnd:
		v.Outcome, v.Feedback = hooks.Blocking, found.lateText()
	case found.Code == 2, found.Code != 0 && (found.Answer.fields == nil || found.Answer.fields.async):
		v.Outcome = hooks.NonBlockingError
		v.Warn("Failed with non-blocking status code %d: %s", found.Code, firstLine(found.Stderr))
	}
	// A hook with async but not asyncRewake guards nothing, so it cannot fail open.
	v.FailedOpen = h.AsyncRewake && !found.Aborted && v.Outcome != hooks.Success && v.Outcome != hooks.Blocking
	return v
}

// lateText returns the text of a hook that wakes an agent: stderr, else stdout.
func (found Finding) lateText() string {
	text := strings.TrimRight(found.Stderr, " \t\r\n")
	if text == "" {
		text = found.Answer.plain
	}
	return cmp.Or(text, noStderr)
}

// Hear reads what a hook in the background may say on stdout: systemMessage,
// additionalContext and rewakeSummary, which replaces the configured one. Fields of a wrong
// type are ignored. stdout is everything that it printed; byLine says that its first line
// asked for the background.
func (v *Verdict) Hear(event hooks.Event, stdout string, byLine bool) {
	if v.Outcome == hooks.Cancelled {
		return
	}
	if stdout = strings.TrimSpace(stdout); byLine {
		_, stdout, _ = strings.Cut(stdout, "\n")
	}
	answer, _ := texts.Map([]byte(stdout)) // empty if it is not an object
	v.Summary = strings.TrimSpace(texts.Text(answer["rewakeSummary"]))
	v.Message = texts.Text(answer["systemMessage"])
	specific, _ := texts.Map(answer["hookSpecificOutput"])
	if name := texts.Text(specific["hookEventName"]); name != "" && hooks.Event(name) != event {
		v.Warn("hookSpecificOutput is for %s, not for %s: it was left out", texts.Preview(name, 40), event)
		return
	}
	if text := texts.Text(specific["additionalContext"]); strings.TrimSpace(text) != "" {
		v.Contexts = []contextText{{additionalContext, text}}
	}
}
