package crew

import (
	"path/filepath"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
)

// TestTheLeadsMailboxIsFull: the team goes on if the lead has no room for a notice.
func TestTheLeadsMailboxIsFull(t *testing.T) {
	t.Parallel()
	store, err := tasks.Open(filepath.Join(t.TempDir(), "tasks.db"), &tasks.Options{MaxUnread: 1})
	testkit.Must(t, err)
	defer func() { testkit.Must(t, store.Close()) }()
	c := crewOf(t, Deps{Store: store}, "lead", "dev")
	addSeat(t, c, &configs.Member{Name: "lead"})
	dev := addSeat(t, c, &configs.Member{Name: "dev"})
	_, err = store.Mail().Send(t.Context(), actors.Actor{Name: "dev"}, mail.Outgoing{To: []string{"lead"}, Text: "Hello."})
	testkit.Must(t, err)
	d := director{c: c}
	testkit.Must(t, c.tellLeadOf(t.Context(), dev, "Teammate dev needs attention."))
	testkit.Must(t, d.mailLeadOnce(t.Context(), keyTold, "mark", "Nobody can go on."))
	_, stored, err := store.Value(t.Context(), keyTold)
	if testkit.Must(t, err); d.told != "mark" || stored {
		t.Errorf("told %q, stored: %v", d.told, stored)
	}
	if letters, err := store.Mail().Unread(t.Context(), "lead"); err != nil || len(letters) != 1 {
		t.Errorf("the lead has %+v, %v", letters, err)
	}
}
