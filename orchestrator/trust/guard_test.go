package trust

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
)

// What an operator announces and the file does not have yet is no forgery, nor is what the
// file still has.
func TestAnnouncedTrustIsWrittenLater(t *testing.T) {
	_, load := trustRig(t)
	mustTrust(t, load())
	key, err := keyOf(load())
	if err != nil {
		t.Fatal(err)
	}
	place, err := state.PlaceOf("crew", key.Workspace)
	if err != nil {
		t.Fatal(err)
	}
	g := NewGuard(place, t.Errorf)
	g.Begin()
	g.Check()
	next := trustEntry{Items: []Item{{Hash: "x"}}}
	if err := g.Announce(key.notice(next.digest())); err != nil {
		t.Fatal(err)
	}
	g.Check()
	testkit.Must(t, updateTrust(func(all *trustFile) { all.put(trustKey{Workspace: "/elsewhere", Spec: "x"}, nil) }))
	g.Check() // the file has changed, and the entry has not
	testkit.Must(t, updateTrust(func(all *trustFile) { all.put(key, next.Items) }))
	g.Check()
	if !g.Counts(key.notice(next.digest())) {
		t.Error("what was announced does not count")
	}
	if err := g.Announce(api.TrustNotice{Workspace: "/elsewhere", Spec: key.Spec, Digest: "x"}); err == nil {
		t.Error("trust for another workspace was taken")
	}
	told := 0
	g.tell = func(string, ...any) { told++ }
	if err := os.WriteFile(filepath.Join(os.Getenv("COVEY_STATE_HOME"), "trust.json"), []byte("{"),
		0o600); err != nil {
		t.Fatal(err)
	}
	g.Check()
	g.Check()
	if told != 1 {
		t.Errorf("a damaged file was told of %d times", told)
	}
}
