package main

import (
	"encoding/json"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/coveyteam/covey/cmd/covey/teamtest"
	"github.com/coveyteam/covey/orchestrator/api"
)

// scriptSameFacts is `samefacts`: what `covey ps` says of the team, running or not, is what its
// journal says (view.State). A running team may be asked while lines are written, so the command
// asks again until both are the same.
func scriptSameFacts(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: samefacts")
	}
	differences := ""
	for end := time.Now().Add(scriptPatience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		ts.Check(ts.Exec("covey", "ps", "--json"))
		var shown api.Status
		ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &shown))
		files, err := filepath.Glob(ts.Getenv("COVEY_STATE_HOME") + "/" + shown.Team + "-*/journal.jsonl")
		ts.Check(err)
		state, err := teamtest.Fold(files[0])
		ts.Check(err)
		if differences = teamtest.Differences(shown, state); differences == "" {
			return
		}
	}
	ts.Fatalf("covey ps and the journal differ:\n%s", differences)
}
