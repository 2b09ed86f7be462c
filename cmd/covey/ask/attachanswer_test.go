package ask

import (
	"testing"

	"github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/orchestrator/api"
)

// TestAnswerLine: only a line that says so answers; anything close to it is a text
// for the member.
func TestAnswerLine(t *testing.T) {
	for text, want := range map[string]*api.InboxAnswer{
		":approve X9Y0ZA":             {ID: "X9Y0ZA", Approve: true},
		" :deny X9Y0ZA  use v2, now ": {ID: "X9Y0ZA", Feedback: "use v2, now"},
		":approve":                    {Approve: true},
		"approve X9Y0ZA":              nil,
		":approved X9Y0ZA":            nil,
		"/deny X9Y0ZA":                nil,
		"see :deny X9Y0ZA":            nil,
	} {
		got, ok := answerLine(text)
		if ok != (want != nil) || ok && got != *want {
			t.Errorf("%q: %+v, %t", text, got, ok)
		}
	}
}

// TestAttachOrders: a line with a colon in front is a command or an error, and never a
// text for the member; there is no team here that could be asked.
func TestAttachOrders(t *testing.T) {
	a := &attachment{member: "ben"}
	for text, want := range map[string]view.Answer{
		":help":           {Text: attachHelp},
		":aprove r7":      {Text: "there is no :aprove: " + attachHelp, Unsent: ":aprove r7"},
		":":               {Text: "there is no :: " + attachHelp, Unsent: ":"},
		":resumé":         {Text: "there is no :resumé: " + attachHelp, Unsent: ":resumé"},
		":approve":        {Text: "not answered: name the request by its id, such as r7", Unsent: ":approve"},
		":deny   ":        {Text: "not answered: name the request by its id, such as r7", Unsent: ":deny   "},
		":D it works now": {Text: "there is no :D: " + attachHelp, Unsent: ":D it works now"},
	} {
		if got := a.send(t.Context(), text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}
