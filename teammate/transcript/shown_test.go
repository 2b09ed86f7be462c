package transcript

import (
	"testing"

	"github.com/coveyteam/covey/teammate/agent"
)

// TestShown: a message counts as shown from the history on, and is unconfirmed until the inbox
// knows of it.
func TestShown(t *testing.T) {
	h := History{Delivered: map[string]bool{"old": true}}
	s := h.Shown()
	s.Add([]string{"new"})
	fresh, shown := s.Split([]agent.Input{{MessageID: "old"}, {Text: "no id"}, {MessageID: "new"}, {MessageID: "next"}})
	if len(fresh) != 2 || fresh[0].Text != "no id" || fresh[1].MessageID != "next" {
		t.Errorf("fresh are %+v", fresh)
	}
	equal(t, "shown", shown, []string{"old", "new"})
	s.Confirm([]string{"new", "old"}, false)
	s.Confirm([]string{"new"}, true)
	equal(t, "with one unconfirmed", s.Confirmed(), false)
	s.Confirm([]string{"old", "never"}, true)
	equal(t, "all confirmed", s.Confirmed(), true)
	if h.Delivered["new"] {
		t.Error("the history has changed")
	}
	var none Shown
	none.Confirm([]string{"x"}, false)
	equal(t, "of none", none.Has("x") || none.Confirmed(), false)
}
