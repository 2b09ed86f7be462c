package plan

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

// task makes a task of a scene: "1 pending", "2 in_progress backend", with
// blockers behind.
func task(id string, status tasks.Status, owner string, blockedBy ...string) tasks.Task {
	return tasks.Task{ID: id, Subject: "do " + id, Status: status, Owner: owner, Version: 1, BlockedBy: blockedBy}
}

// crewOf makes an idle lead and idle teammates that claim by themselves.
func crewOf(names ...string) []Seat {
	seats := []Seat{{Name: "lead", Lead: true, Idle: true}}
	for _, n := range names {
		seats = append(seats, Seat{Name: n, Idle: true, SelfClaim: true})
	}
	return seats
}

func assignment(id, taskID string) mail.Message {
	return mail.Message{ID: id, Kind: mail.TaskAssignment, Data: json.RawMessage(`{"taskId":"` + taskID + `"}`)}
}

// told writes moves as words: "claim a 1".
func told(moves []Move) string {
	var all []string
	for _, m := range moves {
		words := []string{string(m.Kind)}
		if m.Member != "" {
			words = append(words, m.Member)
		}
		for _, t := range m.Tasks {
			words = append(words, t.ID)
		}
		if m.Kind == Finish && m.Done {
			words = append(words, "done")
		}
		all = append(all, strings.Join(words, " "))
	}
	return strings.Join(all, "; ")
}

func TestPlan(t *testing.T) {
	done := task("1", tasks.Completed, "a")
	tests := []struct {
		name string
		edit func(*Scene)
		want string
	}{
		{"nothing at all is done", func(s *Scene) {}, "finish done"},
		{"the goal goes to the lead", func(s *Scene) {
			s.Seats[0].Unread = []mail.Message{{ID: "m", Kind: mail.Goal}}
		}, "mail lead"},
		{"nobody decides while somebody works", func(s *Scene) { s.Seats[1].Idle = false }, ""},
		{"each ready task goes to one idle member", func(s *Scene) {
			s.Tasks = []tasks.Task{task("1", tasks.Pending, ""), task("2", tasks.Pending, "")}
		}, "claim a 1; claim b 2"},
		{"one task for two members", func(s *Scene) {
			s.Tasks = []tasks.Task{task("1", tasks.Pending, "")}
		}, "claim a 1"},
		{"a busy member does not keep others from claiming", func(s *Scene) {
			s.Tasks = []tasks.Task{task("1", tasks.Pending, "")}
			s.Seats[1].Idle = false
		}, "claim b 1"},
		{"a blocked task is nobody's to take", func(s *Scene) {
			s.Tasks = []tasks.Task{task("1", tasks.InProgress, "a"), task("2", tasks.Pending, "", "1")}
			s.Seats[1].Idle = false
		}, ""},
		{"wants keep a member off", func(s *Scene) {
			x := task("1", tasks.Pending, "")
			x.Wants.Tools = []string{"Bash"}
			s.Tasks = []tasks.Task{x}
			s.Seats[1].Skills.Tools = []string{"Read"}
		}, "claim b 1"},
		{"the lead claims nothing by itself", func(s *Scene) {
			s.Tasks = []tasks.Task{task("1", tasks.Pending, "")}
			s.Seats = s.Seats[:1]
		}, "tell lead"},
		{"the lead was told already", func(s *Scene) {
			s.Tasks = []tasks.Task{task("1", tasks.Pending, "")}
			s.Seats = s.Seats[:1]
			s.LastImpasse = Fingerprint(s.Tasks)
		}, "finish"},
		{"an owner of a ready task is reminded, not given another", func(s *Scene) {
			s.Tasks = []tasks.Task{task("1", tasks.Pending, "a"), task("2", tasks.Pending, "")}
		}, "nudge a 1; claim b 2"},
		{"an owner is not reminded while a command runs in its background, and others work", func(s *Scene) {
			s.Tasks = []tasks.Task{task("1", tasks.InProgress, "a"), task("2", tasks.Pending, "")}
			s.Seats[1].Runs = true
		}, "claim b 2"},
		{"nothing is done while a command runs in the background", func(s *Scene) { s.Seats[0].Runs = true }, ""},
		{"a limit does not wait for a command in the background", func(s *Scene) {
			s.Seats[0].Runs, s.Seats[0].LastWord, s.Exhausted = true, true, "spent"
		}, "finish"},
		{"the third reminder", func(s *Scene) {
			s.Tasks = []tasks.Task{task("1", tasks.InProgress, "a")}
			s.Seats[1].Nudged = map[string]int{Fingerprint(s.Tasks): 2}
		}, "nudge a 1"},
		{"after three reminders", func(s *Scene) {
			s.Tasks = []tasks.Task{task("1", tasks.InProgress, "a")}
			s.Seats[1].Nudged = map[string]int{Fingerprint(s.Tasks): 3}
		}, "attention a 1"},
		{"after three reminders of a question", func(s *Scene) {
			s.Tasks = []tasks.Task{task("1", tasks.Pending, "")}
			s.Seats[1].Unanswered = "r1"
		}, "attention a; claim b 1"},
		{"it waits for an answer itself", func(s *Scene) {
			s.Seats[1].Unanswered, s.Seats[1].Awaits = "r1", "b's approval"
		}, "attention a"},
		{"that is known", func(s *Scene) {
			s.Seats[1].Unanswered, s.Seats[1].Attention, s.Busy = "r1", "r1", true
		}, ""},
		{"its own tasks come first", func(s *Scene) {
			s.Tasks = []tasks.Task{task("1", tasks.InProgress, "a")}
			s.Seats[1].Unanswered = "r1"
		}, "nudge a 1"},
		{"a change in between starts the count again", func(s *Scene) {
			s.Tasks = []tasks.Task{task("1", tasks.InProgress, "a")}
			s.Seats[1].Nudged = map[string]int{"1.0 ": 3}
		}, "nudge a 1"},
		{"a member that needs attention is let alone", func(s *Scene) {
			s.Tasks = []tasks.Task{task("1", tasks.InProgress, "a")}
			s.Seats[1].Attention = "stuck"
			s.LastImpasse = Fingerprint(s.Tasks)
		}, "finish"},
		{"mail wakes even a member that needs attention", func(s *Scene) {
			s.Seats[1].Attention = "stuck"
			s.Seats[1].Unread = []mail.Message{{ID: "m", Kind: mail.Text}}
		}, "mail a"},
		{"an assignment of a blocked task wakes nobody", func(s *Scene) {
			s.Tasks = []tasks.Task{task("1", tasks.InProgress, "b"), task("2", tasks.Pending, "a", "1")}
			s.Seats[1].Unread = []mail.Message{assignment("m", "2")}
			s.Seats[2].Idle = false
		}, ""},
		{"an assignment of a ready task does", func(s *Scene) {
			s.Tasks = []tasks.Task{task("2", tasks.Pending, "a")}
			s.Seats[1].Unread = []mail.Message{assignment("m", "2")}
		}, "mail a"},
		{"the lead reports when all is done", func(s *Scene) { s.Tasks = []tasks.Task{done} }, "report lead"},
		{"and only once", func(s *Scene) {
			s.Tasks = []tasks.Task{done}
			s.LastReport = Fingerprint(s.Tasks)
		}, "finish done"},
		{"a lead that is gone does not report", func(s *Scene) {
			s.Tasks = []tasks.Task{done}
			s.Seats[0].Gone = true
		}, "finish done"},
		{"a member that is gone gets nothing", func(s *Scene) {
			s.Tasks = []tasks.Task{task("1", tasks.Pending, "")}
			s.Seats[1].Gone = true
		}, "claim b 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := Scene{Seats: crewOf("a", "b")}
			tt.edit(&s)
			if got := told(Next(s)); got != tt.want {
				t.Errorf("plan = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestPlanSaysWhatBlocksWhom(t *testing.T) {
	s := Scene{Seats: crewOf("a"), Tasks: []tasks.Task{
		task("1", tasks.InProgress, "a"), task("2", tasks.Pending, "", "1"), task("3", tasks.Pending, "ghost"),
	}}
	s.Seats[1].Attention = "its gates refused 9 times"
	moves := Next(s)
	if len(moves) != 1 || moves[0].Kind != TellLead {
		t.Fatalf("plan = %s, want the lead told", told(moves))
	}
	for _, want := range []string{
		`a needs attention: its gates refused 9 times; nobody can go on: `,
		`task 1 "do 1" belongs to a, who needs attention; `,
		`task 2 "do 2" is blocked by task 1`,
		`task 3 "do 3" belongs to ghost, who is no member`,
	} {
		if !strings.Contains(moves[0].Reason, want) {
			t.Errorf("the reason lacks %q:\n%s", want, moves[0].Reason)
		}
	}
}

// TestPlanProperties holds for every scene: only idle members that are not
// gone are given something, at most one thing each, no task goes to two, and
// the team ends only when nobody works.
func TestPlanProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		moves := Next(s)
		given, claimed := map[string]int{}, map[string]int{}
		for _, m := range moves {
			if m.Member != "" {
				given[m.Member]++
				i := slices.IndexFunc(s.Seats, func(v Seat) bool { return v.Name == m.Member })
				if i < 0 || s.Seats[i].Gone || !s.Seats[i].Idle {
					t.Fatalf("%s for %q, who cannot take it", m.Kind, m.Member)
				}
			}
			if m.Kind == GiveClaim {
				claimed[m.Tasks[0].ID]++
			}
			if m.Kind == Finish && slices.ContainsFunc(s.Seats, func(v Seat) bool { return !v.Idle && !v.Gone }) {
				t.Fatal("the team ends while somebody works")
			}
			if m.Kind == Finish && m.Done != (len(tasks.OpenTasks(s.Tasks)) == 0) {
				t.Fatalf("done is %v with %d open tasks", m.Done, len(tasks.OpenTasks(s.Tasks)))
			}
		}
		for who, n := range given {
			if n > 1 {
				t.Fatalf("%s was given %d things at once", who, n)
			}
		}
		for id, n := range claimed {
			if n > 1 {
				t.Fatalf("task %s was claimed %d times", id, n)
			}
		}
		if len(moves) == 0 && !slices.ContainsFunc(s.Seats, func(v Seat) bool { return !v.Idle && !v.Gone }) {
			t.Fatal("nobody works, nothing is to be done, and the team does not end")
		}
	})
}

func drawScene(t *rapid.T) Scene {
	names := []string{"lead", "a", "b", "c"}
	var s Scene
	for i, n := range names {
		v := Seat{
			Name: n, Lead: i == 0, Idle: rapid.Bool().Draw(t, "idle"), Gone: rapid.IntRange(0, 4).Draw(t,
				"gone") == 0,
			SelfClaim: i > 0 && rapid.Bool().Draw(t, "self-claim"),
		}
		if rapid.IntRange(0, 3).Draw(t, "attention") == 0 {
			v.Attention = "stuck"
		}
		if rapid.IntRange(0, 3).Draw(t, "mail") == 0 {
			v.Unread = []mail.Message{{ID: "m" + n, Kind: mail.Text}}
		}
		s.Seats = append(s.Seats, v)
	}
	for i := range rapid.IntRange(0, 5).Draw(t, "tasks") {
		x := task(string(rune('1'+i)), rapid.SampledFrom([]tasks.Status{
			tasks.Pending, tasks.InProgress, tasks.Completed,
		}).Draw(t, "status"), rapid.SampledFrom([]string{"", "a", "b", "ghost"}).Draw(t, "owner"))
		if i > 0 && rapid.Bool().Draw(t, "blocked") {
			x.BlockedBy = []string{s.Tasks[rapid.IntRange(0, i-1).Draw(t, "by")].ID}
		}
		s.Tasks = append(s.Tasks, x)
	}
	if rapid.Bool().Draw(t, "nudged") {
		for i := range s.Seats {
			mark := Fingerprint(s.Actable(s.Seats[i].Name))
			s.Seats[i].Nudged = map[string]int{mark: rapid.IntRange(0, 4).Draw(t, "nudges")}
		}
	}
	return s
}

// A team is not done, and not stuck, while a hook may wake somebody; the hook keeps
// nobody from his work.
func TestPlanWaitsForHooks(t *testing.T) {
	for _, tc := range []struct {
		name string
		edit func(*Scene)
		want string
	}{
		{"nothing to do", func(*Scene) {}, ""},
		{"an impasse", func(s *Scene) {
			s.Tasks = []tasks.Task{task("1", tasks.Pending, "gone")}
		}, ""},
		{"a task to claim", func(s *Scene) { s.Tasks = []tasks.Task{task("1", tasks.Pending, "")} }, "claim a 1"},
		{"a task of its own", func(s *Scene) { s.Tasks = []tasks.Task{task("1", tasks.InProgress, "a")} },
			"nudge a 1"},
		{"whoever it would wake is gone", func(s *Scene) { s.Seats[1].Gone = true }, "finish done"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := Scene{Seats: crewOf("a")}
			s.Seats[1].Awaited = true
			tc.edit(&s)
			if got := told(Next(s)); got != tc.want {
				t.Errorf("plan says %q, want %q", got, tc.want)
			}
		})
	}
}

// A member that is idle while its helper works is neither nudged nor is the team
// at rest.
func TestPlanWithHelper(t *testing.T) {
	s := Scene{Seats: []Seat{{Name: "lead", Lead: true, Idle: true, Helped: true}}}
	if moves := Next(s); len(moves) > 0 {
		t.Errorf("moves %+v", moves)
	}
	s.Seats[0].Helped = false
	if moves := Next(s); len(moves) != 1 || moves[0].Kind != Finish {
		t.Errorf("moves %+v", moves)
	}
}
