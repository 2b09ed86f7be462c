package ask

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
)

// What members write into files must not act on a terminal, and git's colours must.
func TestPaintedPlain(t *testing.T) {
	for text, want := range map[string]string{
		"\x1b[32m+new\x1b[m\n":    "\x1b[32m+new\x1b[m\n",
		"\x1b[1;31m-old\x1b[0m":   "\x1b[1;31m-old\x1b[0m",
		"\x1b[2J\x1b[Hgone":       `\x1b[2J\x1b[Hgone`,
		"\x1b]0;title\x07":        `\x1b]0;title\x07`,
		"\x1b[38;5;1mx":           "\x1b[38;5;1mx",
		"\x1b[":                   `\x1b[`,
		"\x1b[31":                 `\x1b[31`,
		"a\u202eb\x1b[31mc\r\nd":  `a\u202eb` + "\x1b[31mc\nd",
		"no colour, no character": "no colour, no character",
	} {
		if got := paintedPlain(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestMergeRequests(t *testing.T) {
	place := state.Place{Dir: t.TempDir(), Team: "crew"}
	for _, tc := range []struct {
		args  []string
		all   bool
		over  bool
		clean bool
		want  api.MergeRequest
		err   string
	}{
		{args: []string{"3"}, want: api.MergeRequest{Task: "3"}},
		{args: []string{"#12"}, want: api.MergeRequest{Task: "12"}},
		{all: true, want: api.MergeRequest{All: true}},
		{args: []string{"3"}, over: true, want: api.MergeRequest{Task: "3", Force: true}},
		{all: true, over: true, err: "name it instead"},
		{over: true, err: "say what to merge"},
		{err: "say what to merge"},
		{args: []string{"3"}, all: true, err: "the flag stands for all"},
		{clean: true, want: api.MergeRequest{Unmarked: true}},
		{clean: true, all: true, err: "exclude each other"},
		{clean: true, over: true, err: "name it instead"},
		{args: []string{"nobody"}, err: "no record of its members"},
	} {
		got, err := mergeRequest(place, tc.args, api.MergeRequest{All: tc.all, Unmarked: tc.clean, Force: tc.over})
		switch {
		case tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)):
			t.Errorf("%q %v: error %v, want %q", tc.args, tc.all, err, tc.err)
		case tc.err == "" && (err != nil || got != tc.want):
			t.Errorf("%q %v: %+v, %v", tc.args, tc.all, got, err)
		}
	}
}

func TestMergeLines(t *testing.T) {
	work := tasks.Merge{Branch: "covey/crew/ana", Title: "work of ana", Member: "ana", Into: "main"}
	task := tasks.Merge{Tasks: []string{"3", "4"}, Title: "Add it", Member: "ben", Into: "main", Fix: "7",
		Commit: "0123456789abc"}
	for want, m := range map[string]tasks.Merge{
		"work of ana: to merge": with(work, tasks.MergeWaiting, ""),
		"tasks 3 and 4 (Add it) of ben: merged into main as 0123456789": with(task, tasks.MergeDone, ""),
		"tasks 3 and 4 (Add it) of ben: sent back, and goes on as task 7: conflict": with(task,
			tasks.MergeReturned, "conflict"),
		"tasks 3 and 4 (Add it) of ben: ready for a pull request into main": with(task, tasks.MergeReady, ""),
		"work of ana: held: there is no branch x to merge into": with(work,
			tasks.MergeHeld, "there is no branch x to merge into"),
	} {
		if got := mergeLine(m); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// with is a merge in another state.
func with(m tasks.Merge, state tasks.MergeState, reason string) tasks.Merge {
	m.State, m.Reason = state, reason
	return m
}
