package main

import (
	"testing"

	"github.com/coveyteam/covey/orchestrator"
)

// TestAnswerLine: only a line that says so answers; anything close to it is a text
// for the member.
func TestAnswerLine(t *testing.T) {
	for text, want := range map[string]*orchestrator.InboxAnswer{
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

// TestRequestText: what is told of a question, and to whom.
func TestRequestText(t *testing.T) {
	for text, want := range map[string]string{
		`{"state":"open","to":"operator","id":"X","text":"dev asks"}`:                         "asks you: dev asks\n  :approve X or :deny X answers in attach; covey inbox elsewhere",
		`{"state":"open","to":"lead","text":"dev asks"}`:                                      "asks lead: dev asks",
		`{"state":"approved","kind":"plan","member":"dev","by":"operator"}`:                   "plan request of dev approved by a person",
		`{"state":"denied","kind":"approval","member":"dev","by":"rev","feedback":"mend it"}`: "approval request of dev denied by rev: mend it",
		`{"state":"expired","kind":"permission","member":"dev"}`:                              "permission request of dev was not answered in time",
		`{"state":"withdrawn","kind":"permission","member":"dev"}`:                            "",
	} {
		l := lineAt(1, "dev", "request", text)
		if got, _ := briefText(l, data(l)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestAttachOrders: a line with a colon in front is a command or an error, and never a
// text for the member; there is no team here that could be asked.
func TestAttachOrders(t *testing.T) {
	a := &attachment{member: "ben"}
	for text, want := range map[string]sentMsg{
		":help":           {text: attachHelp},
		":aprove r7":      {"there is no :aprove: " + attachHelp, ":aprove r7"},
		":":               {"there is no :: " + attachHelp, ":"},
		":resumé":         {"there is no :resumé: " + attachHelp, ":resumé"},
		":approve":        {"not answered: name the request by its id, such as r7", ":approve"},
		":deny   ":        {"not answered: name the request by its id, such as r7", ":deny   "},
		":D it works now": {"there is no :D: " + attachHelp, ":D it works now"},
	} {
		if got := a.send(t.Context(), text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}
