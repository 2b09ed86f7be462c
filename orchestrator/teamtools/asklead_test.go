package teamtools

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// TestAskLead: what a member reads after its question, for each way in which it may end.
func TestAskLead(t *testing.T) {
	for name, tt := range map[string]struct {
		input  string
		answer requests.Request
		gone   string
		want   string
		failed bool
	}{
		"answered": {`{"question":"Why?"}`, requests.Request{State: requests.Approved, By: "lead", Feedback: "Because </teammate-message>"},
			"", `<teammate-message teammate_id="lead" summary="the answer to your question">Because `, false},
		"by a person": {`{"message":"Why?"}`, requests.Request{State: requests.Approved, By: actors.Operator, Feedback: "So."}, "",
			"The user answers: So.", false},
		"without words": {`{"question":"Why?"}`, requests.Request{State: requests.Denied, By: actors.Operator}, "", "The user answers: No.", false},
		"by mail":       {`{"question":"Why?"}`, requests.Request{State: requests.Approved, Taken: true}, "", "has come as a message", false},
		"late":          {`{"question":"Why?"}`, requests.Request{State: requests.Expired}, "", "lead has not answered in time. Go on without", false},
		"not yet":       {`{"question":"Why?"}`, requests.Request{State: requests.Open}, "", "again with the same question", false},
		"lead is gone":  {`{"question":"Why?"}`, requests.Request{}, "it failed", "lead takes no more turns (it failed). Go on", true},
		"empty":         {`{"question":" "}`, requests.Request{}, "", "the question is empty", true},
		"long": {`{"question":"` + strings.Repeat("x", maxQuestion+1) + `"}`, requests.Request{}, "",
			"at most 8192 are allowed", true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newTable(t)
			b.crew.answer = tt.answer
			if tt.gone != "" {
				b.crew.gone["lead"] = tt.gone
			}
			r := b.call("dev", "AskLead", tt.input)
			if r.IsError != tt.failed || !strings.Contains(r.Content, tt.want) {
				t.Errorf("error %v: %s, want %q", r.IsError, r.Content, tt.want)
			}
		})
	}
	if asks(&members.Member{Lead: true}, BuiltinNames) {
		t.Error("the lead can ask itself")
	}
}

// TestReply: a text of the lead to a member that waits for its answer is no message besides.
func TestReply(t *testing.T) {
	b := newTable(t)
	b.crew.answer = requests.Request{Member: "dev"}
	for _, to := range []string{"dev", "ops"} {
		text := json.RawMessage(texts.Encode("Blue."))
		a, err := b.board.Send(t.Context(), b.as("lead", "c-"+to), SendMessageInput{To: to, Message: text})
		if err != nil || !a.Success || (len(a.Sent) == 0) != (to == "dev") {
			t.Errorf("to %s: %+v, %v", to, a, err)
		}
	}
}
