package ask

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
)

// graphTasks is a diamond with a tail, a loner, and a link to a task that is
// gone.
func graphTasks() []tasks.Outline {
	return []tasks.Outline{
		{ID: "1", Subject: "Design", Status: tasks.Completed, Owner: "lead"},
		{ID: "2", Subject: "Server", Status: tasks.InProgress, Owner: "api", BlockedBy: []string{"1", "99"}},
		{ID: "3", Subject: "Page", Status: tasks.Pending, BlockedBy: []string{"1", "1"}},
		{ID: "4", Subject: "Try \x1b[31mboth", Status: tasks.Pending, BlockedBy: []string{"2", "3"}},
		{ID: "5", Subject: "Say \"done\" <b>#1</b>", Status: tasks.Pending, BlockedBy: []string{"4"}},
		{ID: "6", Subject: "Alone", Status: tasks.Pending, BlockedBy: []string{"99"}},
	}
}

func TestTaskTree(t *testing.T) {
	s, _ := teamtest.Screen()
	want := strings.Join([]string{
		`1 completed  Design (lead)`,
		`├─ 2 in_progress  Server (api)`,
		`│  └─ 4 pending  Try \x1b[31mboth`,
		`│     └─ 5 pending  Say "done" <b>#1</b>`,
		`└─ 3 pending  Page`,
		`   └─ 4 (above)`,
		`6 pending  Alone`,
	}, "\n")
	if got := strings.Join(taskTree(s, graphTasks()), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestTaskTreeOfACycle: the store allows no cycle, but a file that was tampered
// with must not hang the program, and no task may be missing.
func TestTaskTreeOfACycle(t *testing.T) {
	s, _ := teamtest.Screen()
	list := []tasks.Outline{
		{ID: "1", Subject: "a", Status: tasks.Pending, BlockedBy: []string{"2"}},
		{ID: "2", Subject: "b", Status: tasks.Pending, BlockedBy: []string{"1"}},
	}
	got := strings.Join(taskTree(s, list), "\n")
	if !strings.Contains(got, "1 pending  a") || !strings.Contains(got, "2 pending  b") {
		t.Errorf("got\n%s", got)
	}
}

func TestTaskMermaid(t *testing.T) {
	got := taskMermaid(graphTasks())
	for _, want := range []string{
		"flowchart TD\n",
		`t1["1: Design (lead)"]:::completed`,
		`t4["4: Try \x1b[31mboth"]:::pending`,
		`t5["5: Say #quot;done#quot; #lt;b#gt;#35;1#lt;/b#gt;"]:::pending`,
		"  t1 --> t2\n", "  t1 --> t3\n", "  t2 --> t4\n", "  t3 --> t4\n", "  t4 --> t5\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "t99") || strings.Count(got, "t1 --> t3") != 1 {
		t.Errorf("a link to nowhere, or twice:\n%s", got)
	}
}

// BenchmarkTaskList prints 8,000 tasks, of which half wait for another one.
func BenchmarkTaskList(b *testing.B) {
	var list []tasks.Outline
	for i := range 8000 {
		t := tasks.Outline{ID: fmt.Sprint(i + 1), Subject: fmt.Sprint("Add the endpoint ", i),
			Status: tasks.Pending, Owner: "api"}
		if i%2 == 1 {
			t.BlockedBy = []string{fmt.Sprint(i)}
		}
		list = append(list, t)
	}
	c := &cli.Env{Out: term.NewScreen(io.Discard)}
	for name, print := range map[string]func(){
		"Table":   func() { printTasks(c.Out, list, list) },
		"Graph":   func() { taskTree(c.Out, list) },
		"Mermaid": func() { taskMermaid(list) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				print()
			}
		})
	}
}
