package plan

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/teammate/agent"
)

func TestLossIsMoot(t *testing.T) {
	all := []tasks.Task{
		task("1", tasks.InProgress, "b"), task("2", tasks.Completed, "b"), task("3", tasks.Pending, ""),
		task("4", tasks.Pending, "a"),
	}
	loss := func(id string) actors.Message {
		return actors.Message{ID: "m" + id, Kind: actors.TaskLost, Data: notation.Encode(tasks.Loss{TaskID: id})}
	}
	for id, want := range map[string]bool{"1": false, "2": true, "3": false, "4": true, "9": true} {
		if have := lossIsMoot(loss(id), all, "a"); have != want {
			t.Errorf("the loss of task %s is moot: %v", id, have)
		}
	}
	for _, m := range []actors.Message{{Kind: actors.Text}, {Kind: actors.TaskLost, Data: []byte("{")}} {
		if lossIsMoot(m, all, "a") {
			t.Errorf("moot: %+v", m)
		}
	}
	show, moot := SortMail([]actors.Message{loss("1"), loss("2")}, all, "a")
	if len(show) != 1 || show[0].ID != "m1" || strings.Join(moot, "") != "m2" {
		t.Errorf("shown %+v, moot %q", show, moot)
	}
}

func TestSortMail(t *testing.T) {
	all := []tasks.Task{
		task("1", tasks.Pending, "a"), task("2", tasks.Pending, "a", "1"), task("3", tasks.Completed, "a"),
		task("4", tasks.Pending, "b"), task("5", tasks.InProgress, "a"),
	}
	tests := []struct {
		name string
		mail []actors.Message
		show string
		moot string
	}{
		{"text is shown", []actors.Message{{ID: "t", Kind: actors.Text}}, "t", ""},
		{"a ready task is shown", []actors.Message{assignment("m", "1")}, "m", ""},
		{"a blocked one waits", []actors.Message{assignment("m", "2")}, "", ""},
		{"and comes along with others", []actors.Message{assignment("m", "2"), assignment("n", "1")}, "m n", ""},
		{"the later of two counts", []actors.Message{assignment("m", "1"), assignment("n", "1")}, "n", "m"},
		{"done, elsewhere, begun or deleted is moot", []actors.Message{
			assignment("m", "3"), assignment("n", "4"), assignment("o", "5"), assignment("p", "9"),
		}, "", "m n o p"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			show, moot := SortMail(tt.mail, all, "a")
			var ids []string
			for _, m := range show {
				ids = append(ids, m.ID)
			}
			if got := strings.Join(ids, " "); got != tt.show || strings.Join(moot, " ") != tt.moot {
				t.Errorf("shown %q, moot %q; want %q and %q", got, moot, tt.show, tt.moot)
			}
		})
	}
}

func TestCauseOf(t *testing.T) {
	of := func(kinds ...actors.Kind) agent.Cause {
		var letters []actors.Message
		for _, k := range kinds {
			letters = append(letters, actors.Message{Kind: k})
		}
		return CauseOf(letters)
	}
	for _, tt := range []struct {
		got, want agent.Cause
	}{
		{of(actors.TaskAssignment), agent.ByTask},
		{of(actors.TaskAssignment, actors.Text), agent.ByMessage},
		{of(actors.Text, actors.OperatorMessage), agent.ByPerson},
		{of(actors.Goal, actors.OperatorMessage), agent.ByGoal},
		{of(actors.Notice), agent.ByMessage},
	} {
		if tt.got != tt.want {
			t.Errorf("causeOf = %q, want %q", tt.got, tt.want)
		}
	}
}
