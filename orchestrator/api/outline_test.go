package api

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/coveyteam/covey/tasks"
)

// longList puts n tasks into a team, of which half wait for another one, and gives their
// outlines.
func (f *fakeTeam) longList(n int) []tasks.Outline {
	for i := range n {
		one := tasks.Task{ID: fmt.Sprint(i + 1), Subject: fmt.Sprint("Do it ", i), Status: tasks.Pending, Unchanged: i%10 == 9}
		if i%2 == 1 {
			one.Owner, one.BlockedBy = "api", []string{fmt.Sprint(i)}
		}
		one.Description, one.Version, one.Labels = strings.Repeat("d", 500), 7, []string{"l"}
		one.Metadata = map[string]json.RawMessage{"k": json.RawMessage("1")}
		f.tasks = append(f.tasks, one)
	}
	return tasks.Outlines(f.tasks)
}

// TestOutline: an outline has what a list shows of each task, and 8,000 tasks whose
// descriptions would fill many answers come in one.
func TestOutline(t *testing.T) {
	t.Parallel()
	f := newFakeTeam(t)
	want := f.longList(8000)
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

// TestOutlineOfManyPages: outlines that do not fit into one answer come in several, and
// those of no tasks are an empty list.
func TestOutlineOfManyPages(t *testing.T) {
	t.Parallel()
	f := newFakeTeam(t)
	client := f.dial(byOperator)
	if have, err := client.Outline(t.Context()); err != nil || have == nil || len(have) > 0 {
		t.Errorf("no tasks: %v, %v", have, err)
	}
	want := f.longList(100)
	for i := range f.tasks {
		want[i].Subject = strings.Repeat("<\u2028\x01", 20_000) // six bytes in JSON for each character
		f.tasks[i].Subject = want[i].Subject
	}
	have, err := client.Outline(t.Context())
	if err != nil || !reflect.DeepEqual(have, want) {
		t.Errorf("%d of %d tasks came, or others: %v", len(have), len(want), err)
	}
}

// BenchmarkOutline asks a team for the outlines of 8,000 tasks, over its socket.
//
//	go test -run xxx -bench Outline ./orchestrator
func BenchmarkOutline(b *testing.B) {
	f := newFakeTeam(b)
	f.longList(8000)
	client := f.dial(byOperator)
	b.ReportAllocs()
	for b.Loop() {
		if have, err := client.Outline(b.Context()); err != nil || len(have) != 8000 {
			b.Fatalf("%d tasks: %v", len(have), err)
		}
	}
}
