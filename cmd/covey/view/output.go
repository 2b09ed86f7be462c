package view

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/coveyteam/covey/orchestrator/hooklist"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/view"
)

// OutputOf returns what a hook has printed: output, then errors. A text longer than most bytes loses
// its beginning, because the end says what failed. If the journal cannot be read, it is the first
// line, which the run has.
func OutputOf(place state.Place, h view.HookRun, most int) (text string, isCut bool) {
	for l, err := range journal.Range(place.Journal(), h.Seq, h.Seq) {
		var said struct{ Stdout, Stderr string }
		if err != nil || json.Unmarshal(l.Data, &said) != nil {
			break
		}
		text = strings.TrimRight(said.Stdout, "\n")
		if said.Stderr != "" {
			text = strings.TrimLeft(text+"\n"+strings.TrimRight(said.Stderr, "\n"), "\n")
		}
		return endOf(text, most)
	}
	return h.Output, false
}

// feedbackOf returns the whole text with which a gate refused or halted, from the line of the journal
// that reports it; otherwise brief, which is that text in short.
func feedbackOf(place state.Place, event string, seq uint64, brief string) string {
	for l, err := range journal.Range(place.Journal(), seq, seq) {
		if err != nil {
			break
		}
		text := ""
		var said struct{ Text, Message string } // of agent.HookFeedback, and of agent.HookStopped
		if _, r, ok := view.RefusalOf(l); ok {
			text = r.Reason
		} else if json.Unmarshal(l.Data, &said) == nil {
			text = cmp.Or(said.Text, said.Message)
		}
		if text = hooklist.Feedback(event, text); text != "" {
			return text
		}
	}
	return brief
}

// endOf returns the last bytes of a text, at most so many.
func endOf(text string, most int) (end string, isCut bool) {
	if len(text) <= most {
		return text, false
	}
	return strings.ToValidUTF8(text[len(text)-most:], ""), true
}
