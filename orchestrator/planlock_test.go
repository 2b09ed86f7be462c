package orchestrator

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

func usedUp(v *seatView) { v.Lock, v.Until = lockUsedUp, atThree }

func TestPlanOfLockouts(t *testing.T) {
	text := []mail.Message{{ID: "m", Kind: mail.Text}}
	fromPerson := []mail.Message{{ID: "m", Kind: mail.Text}, {ID: "n", Kind: mail.OperatorMessage}}
	mine := func(s *scene) { s.Tasks = []tasks.Task{task("1", tasks.InProgress, "a")} }
	tests := []struct {
		name string
		edit func(*scene)
		want string
	}{
		{"a used-up owner is not reminded; the team waits", func(s *scene) { mine(s); usedUp(&s.Seats[1]) }, "wait"},
		{"its mail waits, too", func(s *scene) { mine(s); usedUp(&s.Seats[1]); s.Seats[1].Unread = text }, "wait"},
		{"a person makes it try", func(s *scene) { mine(s); usedUp(&s.Seats[1]); s.Seats[1].Unread = fromPerson }, "go on a"},
		{"the goal of a new run does not", func(s *scene) {
			usedUp(&s.Seats[0])
			s.Seats[0].Unread = []mail.Message{{ID: "g", Kind: mail.Goal}}
		}, "wait"},
		{"the limit is over", func(s *scene) { mine(s); s.Seats[1].Lock = lockOver }, "go on a"},
		{"and its mail goes along", func(s *scene) { mine(s); s.Seats[1].Lock, s.Seats[1].Unread = lockOver, text }, "go on a"},
		{"others go on meanwhile", func(s *scene) {
			s.Tasks = []tasks.Task{task("1", tasks.InProgress, "a"), task("2", tasks.Pending, "")}
			usedUp(&s.Seats[1])
		}, "claim b 2"},
		{"nobody takes what it owns", func(s *scene) {
			s.Tasks = []tasks.Task{task("1", tasks.Pending, "a")}
			usedUp(&s.Seats[1])
		}, "wait"},
		{"what waits for its task makes the team wait", func(s *scene) {
			s.Tasks = []tasks.Task{task("1", tasks.InProgress, "a"), task("2", tasks.Pending, "b", "1")}
			usedUp(&s.Seats[1])
		}, "wait"},
		{"it could take what nobody else takes", func(s *scene) {
			s.Tasks = []tasks.Task{task("1", tasks.Pending, "")}
			s.Seats = s.Seats[:2]
			usedUp(&s.Seats[1])
		}, "wait"},
		{"nothing open depends on it", func(s *scene) {
			s.Tasks = []tasks.Task{task("1", tasks.InProgress, "b")}
			s.Seats[2].Attention = "stuck"
			usedUp(&s.Seats[1])
		}, "tell lead"},
		{"all is done without it", func(s *scene) {
			s.Tasks = []tasks.Task{task("1", tasks.Completed, "b")}
			usedUp(&s.Seats[1])
		}, "report lead"},
		{"a team without tasks waits for everybody", func(s *scene) { usedUp(&s.Seats[1]) }, "wait"},
		{"the lead's last report is waited for", func(s *scene) {
			s.Tasks = []tasks.Task{task("1", tasks.Completed, "b")}
			s.Reports = fingerprint(s.Tasks)
			usedUp(&s.Seats[0])
		}, "wait"},
		{"who is gone is not waited for", func(s *scene) { s.Seats[1].Gone = true; usedUp(&s.Seats[1]) }, "finish done"},
		{"who is logged out is left alone", func(s *scene) {
			mine(s)
			s.Seats[1].Lock, s.Seats[1].Attention, s.Seats[1].Unread = lockLogin, "not logged in", text
		}, "tell lead"},
		{"until a person writes", func(s *scene) {
			mine(s)
			s.Seats[1].Lock, s.Seats[1].Attention, s.Seats[1].Unread = lockLogin, "not logged in", fromPerson
		}, "go on a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := scene{Seats: crewOf("a", "b")}
			tt.edit(&s)
			if got := told(plan(s)); got != tt.want {
				t.Errorf("plan = %q, want %q", got, tt.want)
			}
		})
	}
}

// A wait names everybody who is waited for, and ends with the first of them.
func TestPlanSaysUntilWhenItWaits(t *testing.T) {
	s := scene{Seats: crewOf("a", "b"), Tasks: []tasks.Task{task("1", tasks.InProgress, "a"), task("2", tasks.Pending, "b")}}
	usedUp(&s.Seats[1])
	usedUp(&s.Seats[2])
	s.Seats[1].Until = atThree.Add(time.Hour)
	moves := plan(s)
	if len(moves) != 1 || !moves[0].Until.Equal(atThree) || !slices.Equal(moves[0].Names, []string{"a", "b"}) {
		t.Fatalf("plan = %+v", moves)
	}
	s.Seats[1].Until = atThree.Add(2 * time.Hour)
	if again := plan(s); again[0].Mark == moves[0].Mark {
		t.Error("another time has the same mark, so nobody would be told of it")
	}
}

func TestPlanOfSlots(t *testing.T) {
	tests := []struct {
		name string
		edit func(*scene)
		want string
	}{
		{"as many claims as slots", func(s *scene) { s.Free["x"] = 1 }, "claim a 1"},
		{"none without a slot", func(s *scene) { s.Seats[0].Idle = false }, ""},
		{"other agents go on", func(s *scene) { s.Seats[2].Agent = "y" }, "claim b 1"},
		{"mail is handed out and waits in the member's hands", func(s *scene) {
			s.Seats[1].Unread = []mail.Message{{ID: "m", Kind: mail.Text}}
		}, "mail a"},
		{"what is handed out takes a slot", func(s *scene) {
			s.Free["x"] = 1
			s.Seats[1].Unread = []mail.Message{{ID: "m", Kind: mail.Text}}
		}, "mail a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := scene{
				Seats: crewOf("a", "b"), Free: map[string]int{"x": 0},
				Tasks: []tasks.Task{task("1", tasks.Pending, ""), task("2", tasks.Pending, "")},
			}
			s.Seats[1].Agent, s.Seats[2].Agent = "x", "x"
			tt.edit(&s)
			free := s.Free["x"]
			if got := told(plan(s)); got != tt.want {
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
			s.Seats[i].Lock = rapid.SampledFrom([]lockState{"", "", lockUsedUp, lockLogin, lockFailed, lockOver}).Draw(t, "lock")
			if rapid.Bool().Draw(t, "person") {
				s.Seats[i].Unread = []mail.Message{{ID: "p", Kind: mail.OperatorMessage}}
			}
		}
		moves := plan(s)
		for _, m := range moves {
			for _, v := range s.Seats {
				locked := v.Lock == lockUsedUp || v.Lock == lockLogin || v.Lock == lockFailed
				given := m.Member == v.Name && m.Kind != tellLead && m.Kind != askReport
				if given && locked && (m.Kind != giveGoOn || !slices.ContainsFunc(v.Unread, fromOperator)) {
					t.Fatalf("%s for %s, who is %s", m.Kind, v.Name, v.Lock)
				}
				owns := slices.ContainsFunc(openTasks(s.Tasks), func(t tasks.Task) bool { return t.Owner == v.Name })
				if m.Kind == finish && !v.Gone && v.Lock == lockFailed {
					t.Fatalf("the team ends while %s is about to try its turn again", v.Name)
				}
				if m.Kind == finish && !v.Gone && v.Lock == lockUsedUp && (owns || v.Lead) {
					t.Fatalf("the team ends while %s waits for its limit", v.Name)
				}
				if given && v.Lock == lockOver && m.Kind != giveGoOn {
					t.Fatalf("%s is owed a turn and gets %s", v.Name, m.Kind)
				}
			}
		}
	})
}
