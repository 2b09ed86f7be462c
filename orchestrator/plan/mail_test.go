package plan

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

func TestLossIsMoot(t *testing.T) {
	all := []tasks.Task{
		task("1", tasks.InProgress, "b"), task("2", tasks.Completed, "b"), task("3", tasks.Pending, ""),
		task("4", tasks.Pending, "a"),
	}
	loss := func(id string) mail.Message {
		return mail.Message{ID: "m" + id, Kind: mail.TaskLost, Data: texts.Encode(tasks.Loss{TaskID: id})}
	}
	for id, want := range map[string]bool{"1": false, "2": true, "3": false, "4": true, "9": true} {
		if have := lossIsMoot(loss(id), all, "a"); have != want {
			t.Errorf("the loss of task %s is moot: %v", id, have)
		}
	}
	for _, m := range []mail.Message{{Kind: mail.Text}, {Kind: mail.TaskLost, Data: []byte("{")}} {
		if lossIsMoot(m, all, "a") {
			t.Errorf("moot: %+v", m)
		}
	}
	show, moot := SortMail([]mail.Message{loss("1"), loss("2")}, all, "a")
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
		mail []mail.Message
		show string
		moot string
	}{
		{"text is shown", []mail.Message{{ID: "t", Kind: mail.Text}}, "t", ""},
		{"a ready task is shown", []mail.Message{assignment("m", "1")}, "m", ""},
		{"a blocked one waits", []mail.Message{assignment("m", "2")}, "", ""},
		{"and comes along with others", []mail.Message{assignment("m", "2"), assignment("n", "1")}, "m n", ""},
		{"the later of two counts", []mail.Message{assignment("m", "1"), assignment("n", "1")}, "n", "m"},
		{"done, elsewhere, begun or deleted is moot", []mail.Message{
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
	of := func(kinds ...mail.Kind) events.Cause {
		var letters []mail.Message
		for _, k := range kinds {
			letters = append(letters, mail.Message{Kind: k})
		}
		return CauseOf(letters)
	}
	for _, tt := range []struct {
		got, want events.Cause
	}{
		{of(mail.TaskAssignment), events.ByTask},
		{of(mail.TaskAssignment, mail.Text), events.ByMessage},
		{of(mail.Text, mail.OperatorMessage), events.ByPerson},
		{of(mail.Goal, mail.OperatorMessage), events.ByGoal},
		{of(mail.Notice), events.ByMessage},
	} {
		if tt.got != tt.want {
			t.Errorf("causeOf = %q, want %q", tt.got, tt.want)
		}
	}
}
