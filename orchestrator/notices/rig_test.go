package notices

import (
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

func TestMain(m *testing.M) {
	testkit.Begin(30)
	m.Run()
}

// noon is when the tests begin.
var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// secret signs what the tests post.
const secret = "0123456789abcdef0123456789abcdef"

// rig is a team of which only the notices run, round by round, with a clock that the test sets.
type rig struct {
	t     *testing.T
	team  *configs.Team
	store *tasks.Store
	n     *Notices

	mu    sync.Mutex
	now   time.Time
	lines []events.Data
	shown []string // on the terminal
}

// newRig makes a team with rules, whose files are made too.
func newRig(t *testing.T, rules ...configs.Notify) *rig {
	t.Helper()
	dir := testkit.Files(t, map[string]string{"secret": secret + "\n"})
	for i := range rules {
		if rules[i].Webhook != "" {
			rules[i].SecretFile = filepath.Join(dir, "secret")
		}
	}
	r := &rig{t: t, now: noon, team: &configs.Team{Name: "crew", Workspace: dir, Notify: rules}}
	r.store = testkit.OpenStore(t, func(path string, _ *tasks.Options) (*tasks.Store, error) {
		return tasks.Open(path, &tasks.Options{Now: r.clock})
	})
	r.restart()
	return r
}

// restart begins another run of the team.
func (r *rig) restart() {
	r.n = New(Deps{
		Team: func() *configs.Team { return r.team }, Store: r.store, Journal: r, Log: slog.New(slog.DiscardHandler),
		Clock: members.Clock{TimeNow: r.clock}, Processes: process.New(process.Unmarked), Environ: []string{"PATH=/usr/bin:/bin"},
		Page: func() string { return "http://127.0.0.1:8080/" },
		Terminal: func(title, text string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.shown = append(r.shown, title+": "+text)
		},
	})
}

// clock is the time of the test.
func (r *rig) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// pass lets time pass.
func (r *rig) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

// Tell implements Journal.
func (r *rig) Tell(data events.Data) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, data)
}

// Last implements Journal.
func (r *rig) Last() uint64 { return 1000 }

// step runs one round, with all deliveries that it starts.
func (r *rig) step() time.Time {
	r.t.Helper()
	next := r.n.round(r.t.Context(), false)
	r.n.sending.Wait()
	testkit.Must(r.t, r.n.takeUp(r.t.Context()))
	return next
}

// ask asks a person on behalf of a member.
func (r *rig) ask(member, text string) requests.Request {
	r.t.Helper()
	q, err := r.store.Requests().Ask(r.t.Context(), actors.Actor{Name: member}, requests.New{
		Kind: requests.AskPermission, Member: member, To: actors.Operator, Text: text, Wait: time.Hour,
		Payload: json.RawMessage(`{"tool":"Bash"}`),
	})
	testkit.Must(r.t, err)
	return q
}

// answer answers a request as a person.
func (r *rig) answer(id string, yes bool) (requests.Request, error) {
	return r.store.Requests().Answer(r.t.Context(), actors.Actor{Name: actors.Operator}, id, requests.Ruling{Approve: yes})
}

// line takes an event of the journal.
func (r *rig) line(seq uint64, member string, data events.Data) {
	r.n.See(events.Event{Seq: seq, Time: r.clock(), Member: member, Data: data})
}

// warnings returns the warnings that were journaled.
func (r *rig) warnings() []string {
	var list []string
	for _, l := range r.lines {
		if w, ok := l.(events.Warning); ok {
			list = append(list, w.Text)
		}
	}
	return list
}

// told returns the reports that were journaled.
func (r *rig) told() []events.Notified {
	var list []events.Notified
	for _, l := range r.lines {
		if n, ok := l.(events.Notified); ok {
			list = append(list, n)
		}
	}
	return list
}

// wantShown compares what the terminal has shown since the last call.
func (r *rig) wantShown(want ...string) {
	r.t.Helper()
	if got := strings.Join(r.shown, "\n"); got != strings.Join(want, "\n") {
		r.t.Errorf("shown:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
	}
	r.shown = nil
}
