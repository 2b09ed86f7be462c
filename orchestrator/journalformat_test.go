package orchestrator_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// The journal of a run says its version, and one of a newer format is neither
// read as ours nor written on.
func TestJournalSaysItsFormat(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{"team.yaml": testkit.SoloSpec, "lead.yaml": "steps: [{say: Done.}]\n"})
	r.Want(r.Run(orchestrator.Options{Version: "1.2.3"}), orchestrator.CodeDone, "all work is done")
	begun := teamtest.Of[events.TeamStarted](r, "team_started")
	if len(begun) != 1 || begun[0].Version != "1.2.3" {
		t.Fatalf("the run began with %+v", begun)
	}
	run, err := state.ReadRunFile(r.Place())
	if err != nil || run.Version != "1.2.3" || run.Protocol != api.Protocol {
		t.Errorf("run.json has %+v, %v", run, err)
	}
	path := r.Place().Journal()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, `{"seq":900,"team":"crew","type":"team_started","data":{"goal":"x"},"format":2}`)
	fmt.Fprint(w, `{"seq":901,"team":"cr`)
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
	before := testkit.Read(t, path)
	if _, err := r.Orchestrator(orchestrator.Options{Goal: "More."}).Run(t.Context()); !errors.Is(err, state.ErrNewer) {
		t.Errorf("it goes on: %v", err)
	}
	if after := testkit.Read(t, path); after != before {
		t.Error("the newer journal was changed")
	}
	var last error
	for _, err := range state.ReadJournal(path, 0) {
		last = err
	}
	if !errors.Is(last, state.ErrNewer) {
		t.Errorf("reading it: %v", last)
	}
}

// A team with a transcript of a newer covey does not go on, and the transcript stays as it is.
func TestNewerTranscriptEndsTheRun(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{"team.yaml": testkit.SoloSpec, "lead.yaml": "steps: [{say: Done., times: -1}]\n"})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	path := teamtest.GlobAll(t, r.Place().Transcripts())[0]
	text := testkit.Read(t, path)
	if !strings.Contains(text, `"format":1`) {
		t.Fatalf("lines without a format:\n%s", text)
	}
	newer := strings.Replace(text, `"format":1`, `"format":2`, 1)
	if err := os.WriteFile(path, []byte(newer), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := r.Orchestrator(orchestrator.Options{Goal: "More."}).Run(t.Context())
	if orchestrator.FaultOf(err) != "newer-files" || !strings.Contains(err.Error(), path) {
		t.Errorf("it ended with %q: %v", orchestrator.FaultOf(err), err)
	}
	if testkit.Read(t, path) != newer {
		t.Error("the newer transcript was changed")
	}
}
