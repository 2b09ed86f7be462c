package tasks

import (
	"errors"
	"strings"
	"testing"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/store"
)

// TestSendTexts: each receiver gets the text that is its own, and a call that
// does not say whose is whose sends nothing.
func TestSendTexts(t *testing.T) {
	s := open(t, nil)
	sent, err := s.mail.Send(t.Context(), actors.Actor{}, mail.Outgoing{
		To: []string{"ana", "ben"}, Text: "the start", Texts: []string{"for ana", "for\x00ben"},
	})
	if err != nil || len(sent) != 2 {
		t.Fatalf("sent %+v, %v", sent, err)
	}
	for i, want := range []string{"for ana", "for\uFFFDben"} {
		mail, err := s.mail.Unread(t.Context(), sent[i].To)
		if err != nil || len(mail) != 1 || mail[0].Text != want || mail[0].Summary != "the start" {
			t.Errorf("%s has %+v, %v; want %q", sent[i].To, mail, err, want)
		}
	}
	for name, bad := range map[string]mail.Outgoing{
		"too few":  {To: []string{"ana", "ben"}, Texts: []string{"one"}},
		"repeated": {To: []string{"ana", "ana"}, Texts: []string{"one", "two"}},
		"too long": {To: []string{"ana"}, Texts: []string{strings.Repeat("x", store.InlineLimit+1)}},
	} {
		if _, err := s.mail.Send(t.Context(), actors.Actor{}, bad); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
