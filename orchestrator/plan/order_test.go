package plan

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

// TestPlanDependsOn: a member gets no work while those it depends on have some.
func TestPlanDependsOn(t *testing.T) {
	open := func(owner string) tasks.Task { return task("1", tasks.Pending, owner) }
	word := mail.Message{ID: "m", Kind: mail.Text, From: "lead"}
	tests := []struct {
		name string
		edit func(*Scene)
		want string
	}{
		{"an open task of a holds b up", func(s *Scene) {
			s.Seats[1].Idle = false
			s.Tasks = []tasks.Task{open("a"), task("2", tasks.Pending, "b")}
		}, ""},
		{"a turn of a holds b up", func(s *Scene) {
			s.Seats[1].Idle = false
			s.Tasks = []tasks.Task{task("2", tasks.Pending, "")}
		}, ""},
		{"what a is given now holds b up", func(s *Scene) {
			s.Tasks = []tasks.Task{task("1", tasks.Pending, ""), task("2", tasks.Pending, "")}
		}, "claim a 1"},
		{"b goes on when a is through", func(s *Scene) {
			s.Tasks = []tasks.Task{task("1", tasks.Completed, "a"), task("2", tasks.Pending, "b")}
		}, "nudge b 2"},
		{"nobody waits for who is gone", func(s *Scene) {
			s.Seats[1].Gone = true
			s.Tasks = []tasks.Task{open("a"), task("2", tasks.Pending, "b")}
		}, "nudge b 2"},
		{"words reach b", func(s *Scene) {
			s.Seats[1].Idle = false
			s.Seats[2].Unread = []mail.Message{word}
		}, "mail b"},
		{"an assignment waits with its task", func(s *Scene) {
			s.Seats[1].Idle = false
			s.Tasks = []tasks.Task{task("2", tasks.Pending, "b")}
			s.Seats[2].Unread = []mail.Message{assignment("m", "2")}
		}, ""},
		{"an impasse says who waits for whom", func(s *Scene) {
			s.Seats[1].Attention = "lost"
			s.Tasks = []tasks.Task{open("a"), task("2", tasks.Pending, "b")}
		}, "tell lead"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := Scene{Seats: crewOf("a", "b")}
			s.Seats[2].DependsOn = []string{"a"}
			test.edit(&s)
			moves := Next(s)
			if got := told(moves); got != test.want {
				t.Errorf("moves %q, want %q", got, test.want)
			}
			if strings.HasPrefix(test.want, "tell") &&
				!strings.Contains(moves[0].Reason, "belongs to b, who waits until a has no open work (depends_on)") {
				t.Errorf("reason %q", moves[0].Reason)
			}
			// The order in which the spec has them makes no difference.
			slices.Reverse(s.Seats[1:])
			if got := told(Next(s)); got != test.want {
				t.Errorf("the other way round: %q, want %q", got, test.want)
			}
		})
	}
}

// TestInOrder: everybody is there once, and behind those it depends on.
func TestInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a", "b", "c", "d", "e", "f"}
		seats := crewOf(names...)
		for i := 2; i < len(seats); i++ { // on earlier ones only, so that there is no ring
			seats[i].DependsOn = rapid.SliceOfDistinct(rapid.SampledFrom(names[:i-1]), rapid.ID).Draw(t, "on")
		}
		shuffled := rapid.Permutation(seats).Draw(t, "seats")
		var seen []string
		order, _ := inOrder(Scene{Seats: shuffled})
		for _, v := range order {
			for _, on := range v.DependsOn {
				if !slices.Contains(seen, on) {
					t.Fatalf("%s comes before %s", v.Name, on)
				}
			}
			seen = append(seen, v.Name)
		}
		if len(seen) != len(seats) {
			t.Fatalf("%v of %d", seen, len(seats))
		}
	})
}
