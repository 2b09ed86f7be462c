package teamhooks

import (
	"cmp"
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// policiesOf are the policies of a team of three with these tasks.
func policiesOf(t *testing.T, list ...tasks.New) *Policies {
	t.Helper()
	store, err := tasks.Open(filepath.Join(t.TempDir(), "tasks.db"), nil)
	testkit.Must(t, err)
	t.Cleanup(func() { testkit.Must(t, store.Close()) })
	asks := inbox.New(&configs.Team{}, inbox.Deps{Store: store, Changed: func() {}})
	if len(list) > 0 {
		_, err := store.Add(t.Context(), actors.Actor{}, list)
		testkit.Must(t, err)
	}
	for i, n := range list {
		if n.Subject == "asked" {
			_, err := asks.Ask(t.Context(), actors.Actor{Name: n.Owner}, requests.New{
				Kind: requests.AskApproval, Member: n.Owner, To: actors.Operator, Text: "Is it good?",
				Payload: texts.Encode(inbox.Payload{TaskID: strconv.Itoa(i + 1)}),
			})
			testkit.Must(t, err)
		}
	}
	return NewPolicies(PolicyDeps{
		Store: store, Inbox: asks, OnPass: func() bool { return false }, Members: trio{all: map[string]*members.Member{
			"lead": {Member: &configs.Member{Name: "lead"}, Lead: true},
			"dev":  {Member: &configs.Member{Name: "dev"}},
			"ops":  {Member: &configs.Member{Name: "ops", Tools: []string{"Read"}}},
		}},
	})
}

// trio are three members.
type trio struct {
	inbox.Members
	all map[string]*members.Member
}

func (m trio) Member(name string) (*members.Member, bool) { one, ok := m.all[name]; return one, ok }

func (m trio) MemberOf(in hooks.Input) string {
	_, name := in.Member()
	return cmp.Or(name, strings.TrimPrefix(in.SessionID, "session-"))
}

func idle(member string) hooks.Input {
	return hooks.Input{Payload: hooks.TeammateIdleInput{TeammateName: member}}
}

// TestNoOpenTasksOfALongList: the policy reads only tasks that it may refuse for.
func TestNoOpenTasksOfALongList(t *testing.T) {
	allocations := func(n int) float64 {
		var list []tasks.New
		for range n {
			list = append(list, tasks.New{Subject: "another's", Owner: "ops"}, tasks.New{Subject: "anybody's"})
		}
		p := policiesOf(t, list...)
		return testing.AllocsPerRun(5, func() {
			if got := p.noOpenTasks(t.Context(), idle("dev")); !strings.Contains(got.Feedback, "Task 2 (anybody's)") {
				t.Errorf("the policy says %+v", got)
			}
		})
	}
	if short, long := allocations(10), allocations(500); long > 1.3*short {
		t.Errorf("%.0f allocations with 20 tasks, %.0f with 1,000", short, long)
	}
}

func TestNoOpenTasks(t *testing.T) {
	bash := tasks.Wants{Tools: []string{"Bash"}}
	tests := []struct {
		name   string
		list   []tasks.New
		member string
		want   string // part of the feedback; empty: it agrees
	}{
		{"no tasks", nil, "dev", ""},
		{"an own one", []tasks.New{{Subject: "one", Owner: "dev"}}, "dev", "You still own task 1"},
		{"two own ones", []tasks.New{{Subject: "one", Owner: "dev"}, {Subject: "two", Owner: "dev"}}, "dev",
			"tasks 1 and 2"},
		{"one of somebody else", []tasks.New{{Subject: "one", Owner: "ops"}}, "dev", ""},
		{"one of nobody", []tasks.New{{Subject: "one"}}, "dev", "Task 1 (one) is ready and nobody has it"},
		{"one that is asked about", []tasks.New{{Subject: "asked", Owner: "dev"}}, "dev", ""},
		{"one that waits", []tasks.New{{Key: "a", Subject: "one", Owner: "ops"}, {Subject: "two", Owner: "dev",
			BlockedBy: []string{"a"}}}, "dev", ""},
		{"one for other hands", []tasks.New{{Subject: "one", Wants: bash}}, "ops", ""},
		{"one for these hands", []tasks.New{{Subject: "one", Wants: bash}}, "dev", "Task 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := policiesOf(t, tt.list...)
			got := p.noOpenTasks(t.Context(), idle(tt.member))
			if (got.Outcome == hooks.Blocking) != (tt.want != "") || !strings.Contains(got.Feedback, tt.want) {
				t.Errorf("the policy says %+v, want %q", got, tt.want)
			}
		})
	}
	p := policiesOf(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := p.noOpenTasks(ctx, idle("dev")); got.Outcome != hooks.NonBlockingError || got.Warning == "" {
		t.Errorf("a store that cannot be read: %+v", got)
	}
}

// TestNoOpenTasksOfTheLead: its hooks name no teammate, and what belongs to
// nobody is not its own.
func TestNoOpenTasksOfTheLead(t *testing.T) {
	stop := hooks.Input{Common: hooks.Common{SessionID: "session-lead"}, Payload: hooks.StopInput{}}
	p := policiesOf(t, tasks.New{Subject: "one", Owner: "ops"}, tasks.New{Subject: "two"})
	if got := p.noOpenTasks(t.Context(), stop); !strings.HasPrefix(got.Feedback,
		"Task 2 (two) is ready and nobody has it") {
		t.Errorf("a task of nobody's: %+v", got)
	}
	p = policiesOf(t, tasks.New{Subject: "one", Owner: "lead"})
	if got := p.noOpenTasks(t.Context(), stop); !strings.HasPrefix(got.Feedback, "You still own task 1") {
		t.Errorf("a task of its own: %+v", got)
	}
	p = policiesOf(t, tasks.New{Subject: "one", Owner: "ops"})
	if got := p.noOpenTasks(t.Context(), stop); got.Outcome != hooks.Success {
		t.Errorf("a task of another's: %+v", got)
	}
}
