package merging

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// Of many verdicts the latest are told of, in order and without what was printed, and
// those on one task alone.
func TestVerdictsOn(t *testing.T) {
	s, err := tasks.Open(filepath.Join(t.TempDir(), "tasks.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range maxVerdictsShown + 3 {
		for _, task := range []string{"1", "11"} {
			v := requests.Verdict{
				VerdictKey: requests.VerdictKey{Tree: fmt.Sprintf("t%02d", i), Gate: "g", Subject: task},
				Command:    "check", Moment: "task", Feedback: "no", Log: "much", Duration: time.Second,
			}
			if err := s.Verdicts().Add(t.Context(), v); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := verdictsOn(t.Context(), s, "1")
	if err != nil || len(got) != maxVerdictsShown {
		t.Fatalf("%d verdicts, %v", len(got), err)
	}
	for i, v := range got {
		if v.Tree != fmt.Sprintf("t%02d", i+3) || v.Subject != "1" || v.Log != "" || v.Feedback != "no" {
			t.Errorf("verdict %d is %+v", i, v)
		}
	}
	for _, task := range []string{"", "2"} {
		if got, err := verdictsOn(t.Context(), s, task); err != nil || got == nil || len(got) != 0 {
			t.Errorf("on task %q: %v, %v", task, got, err)
		}
	}
}
