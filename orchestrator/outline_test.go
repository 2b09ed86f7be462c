package orchestrator

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/coveyteam/covey/tasks"
)

// TestOutline: an outline has what a list shows of each task, and 8,000 tasks whose
// descriptions would fill many answers come in one.
func TestOutline(t *testing.T) {
	t.Parallel()
	f := newFakeTeam(t)
	var want []tasks.Task
	for i := range 8000 {
		one := tasks.Task{ID: fmt.Sprint(i + 1), Subject: fmt.Sprint("Do it ", i), Status: tasks.Pending}
		if i%2 == 1 {
			one.Owner, one.BlockedBy = "api", []string{fmt.Sprint(i)}
		}
		want = append(want, one)
		one.Description, one.Version, one.Labels = strings.Repeat("d", 500), 7, []string{"l"}
		one.Metadata = map[string]json.RawMessage{"k": json.RawMessage("1")}
		f.tasks = append(f.tasks, one)
	}
	have, err := f.dial(byStray).Outline(t.Context())
	if err != nil || !reflect.DeepEqual(have, want) {
		t.Errorf("%d of %d tasks came, or others: %v", len(have), len(want), err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.seen) != 1 {
		t.Errorf("the list was read %d times", len(f.seen))
	}
}
