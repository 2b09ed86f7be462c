package accounts

import (
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// TestCoordinationCounts: each request that a notice stands in counts it, and a
// turn for notes alone counts as a whole.
func TestCoordinationCounts(t *testing.T) {
	c := &Notices{showing: map[string]int64{"idle-1": 10, "m2": 20}}
	pass, end := events.PassStarted{}, events.TurnEnded{Usage: agent.Usage{InputTokens: 900, OutputTokens: 100}}
	c.Shown([]string{"idle-1", "other"}, 0) // with the prompt, before the first request
	c.see(pass)
	c.Shown([]string{"m2", "idle-1"}, 1) // between requests, and once
	c.see(pass)
	if over, ok := c.see(end); !ok || over != (events.Coordination{Tokens: 10 + 20 + 30, Of: 1000, Notices: 2,
		Estimated: true}) {
		t.Errorf("the first turn: %+v, %v", over, ok)
	}
	c.see(pass)
	if over, _ := c.see(end); over.Tokens != 30 || over.Notices != 0 {
		t.Errorf("the conversation still carries them: %+v", over)
	}
	c.Assigned(&members.Member{Lead: true}, teammate.Work{Digest: true})
	c.see(pass)
	if over, _ := c.see(end); over.Tokens != 1000 || over.Turns != 1 {
		t.Errorf("a turn for notes alone: %+v", over)
	}
	if over, _ := c.see(events.TurnEnded{}); over.Of != 0 || over.Share() != 0 {
		t.Errorf("a turn of an agent that does not tell: %+v", over)
	}
	if _, ok := (&Notices{}).see(end); ok {
		t.Error("a turn without notices is told of")
	}
}

func TestIsNotice(t *testing.T) {
	for _, tt := range []struct {
		m    mail.Message
		want bool
	}{
		{mail.Message{Kind: mail.Notice}, true},
		{mail.Message{Kind: mail.IdleNotification, From: "ana"}, true},
		{mail.Message{Kind: mail.Terminated, From: "ana"}, true},
		{mail.Message{Kind: mail.Text, From: "ana"}, false},
		{mail.Message{Kind: mail.Goal}, false},
		{mail.Message{Kind: mail.OperatorMessage, From: actors.Operator}, false},
		{mail.Message{Kind: mail.PlanAsked, From: "ana"}, false},
	} {
		if got := isNotice(tt.m); got != tt.want {
			t.Errorf("%s from %q: %v", tt.m.Kind, tt.m.From, got)
		}
	}
}
