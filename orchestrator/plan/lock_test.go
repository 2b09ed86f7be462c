package plan

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

// atThree is when limits in these tests are over.
var atThree = time.Date(2026, 11, 21, 15, 4, 0, 0, time.UTC)

func usedUp(v *Seat) { v.Lock, v.Until = LockUsedUp, atThree }

func TestPlanOfLockouts(t *testing.T) {
	text := []mail.Message{{ID: "m", Kind: mail.Text}}
	fromPerson := []mail.Message{{ID: "m", Kind: mail.Text}, {ID: "n", Kind: mail.OperatorMessage}}
	mine := func(s *Scene) { s.Tasks = []tasks.Task{task("1", tasks.InProgress, "a")} }
	tests := []struct {
		name string
		edit func(*Scene)
		want string
	}{
		{"a used-up owner is not reminded; the team waits", func(s *Scene) { mine(s); usedUp(&s.Seats[1]) }, "wait"},
		{"its mail waits, too", func(s *Scene) { mine(s); usedUp(&s.Seats[1]); s.Seats[1].Unread = text }, "wait"},
		{"a person makes it try", func(s *Scene) { mine(s); usedUp(&s.Seats[1]); s.Seats[1].Unread = fromPerson }, "go on a"},
		{"the goal of a new run does not", func(s *Scene) {
			usedUp(&s.Seats[0])
			s.Seats[0].Unread = []mail.Message{{ID: "g", Kind: mail.Goal}}
		}, "wait"},
		{"the limit is over", func(s *Scene) { mine(s); s.Seats[1].Lock = LockOver }, "go on a"},
		{"and its mail goes along", func(s *Scene) { mine(s); s.Seats[1].Lock, s.Seats[1].Unread = LockOver, text }, "go on a"},
		{"others go on meanwhile", func(s *Scene) {
			s.Tasks = []tasks.Task{task("1", tasks.InProgress, "a"), task("2", tasks.Pending, "")}
			usedUp(&s.Seats[1])
		}, "claim b 2"},
		{"nobody takes what it owns", func(s *Scene) {
			s.Tasks = []tasks.Task{task("1", tasks.Pending, "a")}
			usedUp(&s.Seats[1])
		}, "wait"},
		{"what waits for its task makes the team wait", func(s *Scene) {
			s.Tasks = []tasks.Task{task("1", tasks.InProgress, "a"), task("2", tasks.Pending, "b", "1")}
			usedUp(&s.Seats[1])
		}, "wait"},
		{"it could take what nobody else takes", func(s *Scene) {
			s.Tasks = []tasks.Task{task("1", tasks.Pending, "")}
			s.Seats = s.Seats[:2]
			usedUp(&s.Seats[1])
		}, "wait"},
		{"nothing open depends on it", func(s *Scene) {
			s.Tasks = []tasks.Task{task("1", tasks.InProgress, "b")}
			s.Seats[2].Attention = "stuck"
			usedUp(&s.Seats[1])
		}, "tell lead"},
		{"all is done without it", func(s *Scene) {
			s.Tasks = []tasks.Task{task("1", tasks.Completed, "b")}
			usedUp(&s.Seats[1])
		}, "report lead"},
		{"a team without tasks waits for everybody", func(s *Scene) { usedUp(&s.Seats[1]) }, "wait"},
		{"the lead's last report is waited for", func(s *Scene) {
			s.Tasks = []tasks.Task{task("1", tasks.Completed, "b")}
			s.LastReport = Fingerprint(s.Tasks)
			usedUp(&s.Seats[0])
		}, "wait"},
		{"who is gone is not waited for", func(s *Scene) { s.Seats[1].Gone = true; usedUp(&s.Seats[1]) }, "finish done"},
		{"who is logged out is left alone", func(s *Scene) {
			mine(s)
			s.Seats[1].Lock, s.Seats[1].Attention, s.Seats[1].Unread = LockLogin, "not logged in", text
		}, "tell lead"},
		{"until a person writes", func(s *Scene) {
			mine(s)
			s.Seats[1].Lock, s.Seats[1].Attention, s.Seats[1].Unread = LockLogin, "not logged in", fromPerson
		}, "go on a"},
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

// A wait names everybody who is waited for, and ends with the first of them.
func TestPlanSaysUntilWhenItWaits(t *testing.T) {
	s := Scene{Seats: crewOf("a", "b"), Tasks: []tasks.Task{task("1", tasks.InProgress, "a"), task("2", tasks.Pending, "b")}}
	usedUp(&s.Seats[1])
	usedUp(&s.Seats[2])
	s.Seats[1].Until = atThree.Add(time.Hour)
	moves := Next(s)
	if len(moves) != 1 || !moves[0].Until.Equal(atThree) || !slices.Equal(moves[0].Names, []string{"a", "b"}) {
		t.Fatalf("plan = %+v", moves)
	}
	s.Seats[1].Until = atThree.Add(2 * time.Hour)
	if again := Next(s); again[0].Mark == moves[0].Mark {
		t.Error("another time has the same mark, so nobody would be told of it")
	}
}

func TestPlanOfSlots(t *testing.T) {
	tests := []struct {
		name string
		edit func(*Scene)
		want string
	}{
		{"as many claims as slots", func(s *Scene) { s.Free["x"] = 1 }, "claim a 1"},
		{"none without a slot", func(s *Scene) { s.Seats[0].Idle = false }, ""},
		{"other agents go on", func(s *Scene) { s.Seats[2].Agent = "y" }, "claim b 1"},
		{"mail is handed out and waits in the member's hands", func(s *Scene) {
			s.Seats[1].Unread = []mail.Message{{ID: "m", Kind: mail.Text}}
		}, "mail a"},
		{"what is handed out takes a slot", func(s *Scene) {
			s.Free["x"] = 1
			s.Seats[1].Unread = []mail.Message{{ID: "m", Kind: mail.Text}}
		}, "mail a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := Scene{
				Seats: crewOf("a", "b"), Free: map[string]int{"x": 0},
				Tasks: []tasks.Task{task("1", tasks.Pending, ""), task("2", tasks.Pending, "")},
			}
			s.Seats[1].Agent, s.Seats[2].Agent = "x", "x"
			tt.edit(&s)
			free := s.Free["x"]
			if got := told(Next(s)); got != tt.want {
				t.Errorf("plan = %q, want %q", got, tt.want)
			}
			if s.Free["x"] != free {
				t.Error("plan changed its scene")
			}
		})
	}
}

// TestPlanOfLockoutsProperties holds for every scene with locked members: a
// used-up or logged-out member gets a turn only if a person has written, and
// the team does not end while it owns something that is open.
func TestPlanOfLockoutsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		for i := range s.Seats {
			s.Seats[i].Lock = rapid.SampledFrom([]Lock{"", "", LockUsedUp, LockLogin, LockFailed, LockOver}).Draw(t, "lock")
			if rapid.Bool().Draw(t, "person") {
				s.Seats[i].Unread = []mail.Message{{ID: "p", Kind: mail.OperatorMessage}}
			}
		}
		moves := Next(s)
		for _, m := range moves {
			for _, v := range s.Seats {
				locked := v.Lock == LockUsedUp || v.Lock == LockLogin || v.Lock == LockFailed
				given := m.Member == v.Name && m.Kind != TellLead && m.Kind != AskReport
				if given && locked && (m.Kind != GiveGoOn || !slices.ContainsFunc(v.Unread, FromOperator)) {
					t.Fatalf("%s for %s, who is %s", m.Kind, v.Name, v.Lock)
				}
				owns := slices.ContainsFunc(tasks.OpenTasks(s.Tasks), func(t tasks.Task) bool { return t.Owner == v.Name })
				if m.Kind == Finish && !v.Gone && v.Lock == LockFailed {
					t.Fatalf("the team ends while %s is about to try its turn again", v.Name)
				}
				if m.Kind == Finish && !v.Gone && v.Lock == LockUsedUp && (owns || v.Lead) {
					t.Fatalf("the team ends while %s waits for its limit", v.Name)
				}
				if given && v.Lock == LockOver && m.Kind != GiveGoOn {
					t.Fatalf("%s is owed a turn and gets %s", v.Name, m.Kind)
				}
			}
		}
	})
}

func TestPlanOfPauses(t *testing.T) {
	failed := func(v *Seat) { v.Lock, v.Until = LockFailed, atThree }
	mine := func(s *Scene) { s.Tasks = []tasks.Task{task("1", tasks.InProgress, "a")}; failed(&s.Seats[1]) }
	tests := []struct {
		name string
		edit func(*Scene)
		want string
	}{
		{"it is not reminded, and the team does not end", mine, ""},
		{"nor does a team without tasks", func(s *Scene) { failed(&s.Seats[0]) }, ""},
		{"a member's mail waits", func(s *Scene) {
			mine(s)
			s.Seats[1].Unread = []mail.Message{{ID: "m",
				Kind: mail.Text}}
		}, ""},
		{"a person's does not", func(s *Scene) {
			mine(s)
			s.Seats[1].Unread = []mail.Message{{ID: "m",
				Kind: mail.OperatorMessage}}
		}, "go on a"},
		{"others go on", func(s *Scene) {
			mine(s)
			s.Tasks = append(s.Tasks, task("2", tasks.Pending,
				""))
		}, "claim b 2"},
		{"the budget ends it", func(s *Scene) { mine(s); s.Exhausted = "all is spent" }, "last lead"},
		{"so does its own", func(s *Scene) { mine(s); s.Seats[1].Spent = "limits.max_tokens" }, "used up a"},
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
