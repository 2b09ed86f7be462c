package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/coveyteam/covey/cmd/covey/pages"
	"github.com/coveyteam/covey/cmd/covey/teamtest"
	termview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/view"
)

// scriptSameFacts is `samefacts`: what `covey ps` says of the team, running or not, is what its
// journal says (view.State), and of a team that has ended, its report. A running team may be asked while lines are written, so the command
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
			if shown.PID == 0 {
				reportSays(ts, state)
			}
			return
		}
	}
	ts.Fatalf("covey ps and the journal differ:\n%s", differences)
}

// reportSays checks that the report, whose rows are those of the page, words each member and task as
// the board does.
func reportSays(ts *testscript.TestScript, state *view.State) {
	ts.Check(ts.Exec("covey", "report", "--out", ts.Getenv("TMPDIR")+"/facts.html"))
	text := ts.ReadFile(ts.Getenv("TMPDIR") + "/facts.html")
	row := func(id, word string) {
		_, after, found := strings.Cut(text, `<article id="`+id+`"`)
		if row, _, _ := strings.Cut(after, "</article>"); !found || !strings.Contains(row, `">`+word+"</b>") {
			ts.Fatalf("the report does not say %q of %s:\n%s", word, id, row)
		}
	}
	for _, m := range state.Roster(false) {
		word, _ := termview.MemberWord(m)
		row("member-"+pages.DomID(m.Name), word)
	}
	for _, t := range state.Tasks {
		if !t.Deleted {
			word, _ := termview.TaskWord(t, state.Works().Merges[t.ID], state.OpenBlockers(t))
			row("task-"+pages.DomID(t.ID), word)
		}
	}
}
