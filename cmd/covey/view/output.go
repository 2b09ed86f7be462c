package view

import (
	"strings"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/view"
)

// OutputOf returns what a hook has printed: output, then errors. A text longer than most bytes loses
// its beginning, because the end says what failed. If the journal cannot be read, it is the first
// line, which the run has.
func OutputOf(place state.Place, h view.HookRun, most int) (text string, isCut bool) {
	for l, err := range state.JournalRange(place.Journal(), h.Seq, h.Seq) {
		said, ok := l.Event().Data.(events.HookFinished)
		if err != nil || !ok {
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
	for l, err := range state.JournalRange(place.Journal(), seq, seq) {
		if err != nil {
			break
		}
		text := ""
		switch said := l.Event().Data.(type) {
		case events.HookFeedback:
			text = said.Text
		case events.HookStopped:
			text = said.Message
		case events.TaskChanged:
			text = said.Reason
		}
		if text = view.Feedback(event, text); text != "" {
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
