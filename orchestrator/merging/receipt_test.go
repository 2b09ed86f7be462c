package merging

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/receipts"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
)

// withReceipts lets a shop write receipts, with the key in a folder that is not there yet.
func (s *shop) withReceipts() (home string) {
	home = filepath.Join(s.t.TempDir(), "home")
	s.Receipts = &receiptWriter{repo: s.Repo, deps: Deps{
		Version: "1", Place: state.Place{Dir: filepath.Join(home, "crew-1")}, Store: s.Store, Team: s.Team, State: view.NewLive(nil), Mask: s.Mask,
	}}
	return home
}

// receipt returns the receipt of a merge.
func (s *shop) receipt(home string, m tasks.Merge) receipts.Merge {
	s.t.Helper()
	all, err := s.Repo.Blobs(s.t.Context(), receipts.Refs)
	testkit.Must(s.t, err)
	keys, err := receipts.PublicKeys(home)
	testkit.Must(s.t, err)
	r, _, err := receipts.Open(all[m.Result], keys)
	testkit.Must(s.t, err)
	return r
}

// TestReceiptAfterCrash: a merge that was cut off after its branch had moved gets the receipt that was
// written down before, once, though the spec has changed since.
func TestReceiptAfterCrash(t *testing.T) {
	t.Parallel()
	s := newShop(t, "echo 1 >a", "ana")
	home := s.withReceipts()
	s.does("ana", "echo secret >x")
	s.work()
	s.want("held") // there is no folder for the key
	if m := s.merges()[0]; s.on("main", "x") != "secret\n" || m.Reason == "" {
		t.Fatalf("not merged: %+v", m)
	}
	// This is what a kill at the same moment leaves.
	m := s.merges()[0]
	for _, state := range []tasks.MergeState{tasks.MergeQueued, tasks.MergeTesting, tasks.MergeLanding} {
		var err error
		m, err = s.set(t.Context(), m, state, "")
		testkit.Must(t, err)
	}
	testkit.Must(t, os.Mkdir(home, 0o700))
	s.spec.Name = "another"
	testkit.Must(t, s.Recover(t.Context()))
	s.work()
	s.want("merged")
	m = s.merges()[0]
	r := s.receipt(home, m)
	if r.Team != "" || r.Commit != m.Result || r.Base != m.Base || r.Work != m.Commit || r.Author != "ana" || r.Tasks[0].Subject != "echo *** >x" {
		t.Errorf("the receipt of %+v says %+v", m, r)
	}
	tree, err := s.Repo.TreeOf(t.Context(), "main")
	if err != nil || r.Tree != tree {
		t.Errorf("main has the tree %s, %v; the receipt says %s", tree, err, r.Tree)
	}
	if _, there, err := s.Store.Value(t.Context(), receiptKey(m)); there || err != nil {
		t.Errorf("the draft is still there: %v", err)
	}
	s.does("ana", "echo more >y")
	s.work()
	s.want("merged merged")
	if r := s.receipt(home, s.merges()[1]); r.Team != "another" {
		t.Errorf("the next receipt is of team %q", r.Team)
	}
}

// TestReceiptNamesWhoCouldForgeIt: who is not held, or may read the folder of the key, is named.
func TestReceiptNamesWhoCouldForgeIt(t *testing.T) {
	t.Parallel()
	var s view.State
	for i, name := range []string{"held", "reads", "none"} {
		s.Apply(events.Event{Seq: uint64(i + 1), Member: name, Data: events.Sandboxed{Level: 2 - i, Lost: []string{"network"}}})
	}
	team := specOf([]string{"held", "reads", "none", "idle"})
	team.Workspace, team.Lead = "/ws", configs.Member{Name: "held"}
	team.Teammates = team.Teammates[1:]
	team.Teammates[0].Sandbox.Read = []string{"/home/state"}
	b := boxesIn(&s, team, "held", "/home/state/operator.key")
	if want := []string{"reads", "none", "idle"}; !slices.Equal(b.Open, want) || b.Author != 2 || b.Held() {
		t.Errorf("got %+v, want open %v", b, want)
	}
	team.Workspace = "/home"
	if b := boxesIn(&s, team, "held", "/home/state/operator.key"); b.Open[0] != "held" {
		t.Errorf("the workspace holds the key: %+v", b)
	}
}
