package orchestrator

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// TestInboxListBegins: the oldest open question is listed however many come after it; of all
// questions, the newest are.
func TestInboxListBegins(t *testing.T) {
	t.Parallel()
	store, err := tasks.Open(filepath.Join(t.TempDir(), "tasks.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for i := range api.InboxMost + 5 {
		_, err := store.Requests().Ask(t.Context(), actors.Actor{Name: "dev"}, requests.New{
			Kind: requests.AskForm, Member: "dev", To: actors.Operator, Text: fmt.Sprint(i),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for all, want := range map[bool]string{false: "0", true: "5"} {
		list, err := inboxList(t.Context(), store, all)
		if err != nil || len(list) != api.InboxMost || list[0].Text != want {
			t.Errorf("all %v: %d from %q, %v; want them from %q", all, len(list), list[0].Text, err, want)
		}
	}
}
