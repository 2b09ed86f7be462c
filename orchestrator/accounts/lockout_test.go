package accounts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks"
)

// atThree is the time of these tests.
var atThree = time.Date(2026, 11, 22, 15, 0, 0, 0, time.UTC)

func TestRetryAt(t *testing.T) {
	now := atThree
	tests := []struct {
		name      string
		announced time.Duration // from now; 0: not announced
		tries     int
		want      time.Duration
	}{
		{"announced", 3 * time.Hour, 1, 3 * time.Hour},
		{"announced and soon", time.Second, 1, time.Second},
		{"not known", 0, 1, 15 * time.Minute},
		{"not known, again", 0, 2, 30 * time.Minute},
		{"and again", 0, 4, 2 * time.Hour},
		{"at most", 0, 5, 2 * time.Hour},
		{"for ever", 0, 1 << 40, 2 * time.Hour},
		{"in the past", -time.Minute, 1, 15 * time.Minute},
		{"in the past, again", -time.Minute, 2, time.Minute},
		{"it did not hold", time.Second, 2, time.Minute},
		{"and did not hold again", time.Second, 5, 8 * time.Minute},
		{"a longer one counts", 3 * time.Hour, 9, 3 * time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var announced time.Time
			if tt.announced != 0 {
				announced = now.Add(tt.announced)
			}
			if got := retryAt(now, announced, tt.tries).Sub(now); got != tt.want {
				t.Errorf("tries again in %v, want %v", got, tt.want)
			}
		})
	}
}

// TestRetriesAreNoStorm: tries stay far apart, however often the announced time is wrong.
func TestRetriesAreNoStorm(t *testing.T) {
	for name, announce := range map[string]func(time.Time) time.Time{
		"never":    func(time.Time) time.Time { return time.Time{} },
		"a second": func(now time.Time) time.Time { return now.Add(time.Second) },
		"the past": func(now time.Time) time.Time { return now.Add(-time.Hour) },
	} {
		now, tries := atThree, 0
		for day := now.Add(24 * time.Hour); now.Before(day); {
			tries++
			now = retryAt(now, announce(now), tries)
		}
		if tries > 20 {
			t.Errorf("%s: %d tries a day", name, tries)
		}
	}
}

func TestLockoutState(t *testing.T) {
	for name, tt := range map[string]struct {
		l    *Lockout
		want plan.Lock
	}{
		"none":     {nil, ""},
		"later":    {&Lockout{Until: atThree.Add(time.Second)}, plan.LockUsedUp},
		"now":      {&Lockout{Until: atThree}, plan.LockOver},
		"earlier":  {&Lockout{Until: atThree.Add(-time.Hour)}, plan.LockOver},
		"at once":  {&Lockout{}, plan.LockOver},
		"login":    {&Lockout{LoggedOut: true}, plan.LockLogin},
		"failed":   {&Lockout{Failed: true, Until: atThree.Add(time.Second)}, plan.LockFailed},
		"retried":  {&Lockout{Failed: true, Until: atThree}, plan.LockOver},
		"given up": {&Lockout{Failed: true, GivenUp: true}, ""},
	} {
		if got := tt.l.State(atThree); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if holds := tt.l.Holds(atThree); holds != (tt.want != "" && tt.want != plan.LockOver) {
			t.Errorf("%s: holds is %v", name, holds)
		}
	}
}

func TestLockoutTexts(t *testing.T) {
	codex := configs.Agent{Name: "codex", Kind: configs.ACP, Preset: configs.Codex}
	own := configs.Agent{Name: "mine", Kind: configs.ACP}
	keyed := configs.Agent{Name: "keyed", Kind: configs.ACP, Preset: configs.Codex, Auth: configs.Key}
	l := NewLogins(LoginDeps{Command: func(p configs.Preset) string {
		if p == configs.Codex {
			return "codex login"
		}
		return ""
	}, Key: func(a configs.Agent) string {
		if a.Auth == configs.Key {
			return "OPENAI_API_KEY"
		}
		return ""
	}})
	now := atThree.Local().Add(-time.Minute)
	at := texts.ShortTime(atThree.Local(), now)
	for got, want := range map[string]string{
		l.loggedOut(codex, "said").Summary("`covey up`"):                         "codex is not logged in; run `codex login`, then `covey up`",
		l.loggedOut(keyed, "401\nno").Summary("`covey up`"):                      "the key of keyed was refused (401 no); correct OPENAI_API_KEY and start the team again",
		l.loggedOut(own, "say\nthis").Summary("`covey up`"):                      "mine is not logged in (say this); log in with its program, then `covey up`",
		events.Limited{Agent: "codex", Until: atThree, Known: true}.Summary(now): "usage limit of codex reached; it goes on at " + at,
		events.Limited{Agent: "codex", Until: atThree}.Summary(now):              "usage limit of codex reached; it tries again at " + at,
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestUsable: the first agent of a chain that is not used up is taken, otherwise the one
// whose limit ends first. Cycles end.
func TestUsable(t *testing.T) {
	now := atThree
	rapid.Check(t, func(t *rapid.T) {
		team := &configs.Team{Agents: map[string]configs.Agent{}}
		n := rapid.IntRange(1, 5).Draw(t, "agents")
		for i := range n {
			next := rapid.IntRange(-1, n-1).Draw(t, "next")
			a := configs.Agent{Name: fmt.Sprint(i)}
			if next >= 0 {
				a.Fallback = fmt.Sprint(next)
			}
			team.Agents[a.Name] = a
		}
		chain := team.Chain(team.Agents["0"])
		used := map[string]time.Time{}
		var first string
		earliest := time.Time{}
		for _, a := range chain {
			wait := time.Duration(rapid.IntRange(-2, 5).Draw(t, "wait")) * time.Hour
			used[a.Name] = now.Add(wait)
			if wait <= 0 && first == "" {
				first = a.Name
			}
			if at := now.Add(wait); wait > 0 && (earliest.IsZero() || at.Before(earliest)) {
				earliest = at
			}
		}
		a, until, ok := usable(chain, used, now)
		if ok != (first != "") || ok && (a.Name != first || !until.IsZero()) || !ok &&
			(!until.Equal(earliest) || a.Name != "0") {
			t.Fatalf("%v of %v: %s until %v, %v", used, chain, a.Name, until, ok)
		}
	})
}

// TestLoginOf: which agents share an account.
func TestLoginOf(t *testing.T) {
	claude := configs.Agent{Name: "a", Kind: configs.ACP, Preset: configs.Claude, Auth: configs.Login}
	with := func(edit func(*configs.Agent)) configs.Agent {
		a := claude
		a.Name = "b"
		edit(&a)
		return a
	}
	for name, tt := range map[string]struct {
		other configs.Agent
		same  bool
	}{
		"the same login":      {with(func(a *configs.Agent) { a.Parallel = 3 }), true},
		"another program":     {with(func(a *configs.Agent) { a.Preset = configs.Codex }), false},
		"a key":               {with(func(a *configs.Agent) { a.Auth = configs.Key }), false},
		"settings of its own": {with(func(a *configs.Agent) { a.Env = []configs.EnvVar{{Name: "CLAUDE_CONFIG_DIR", Text: "/x"}} }), false},
		"a script":            {with(func(a *configs.Agent) { a.Model.Script = "/s.yaml" }), false},
		"a program nobody knows": {with(func(a *configs.Agent) {
			a.Preset, a.Command = "",
				[]string{"claude"}
		}), false},
	} {
		if got := LoginOf(&claude) == LoginOf(&tt.other); got != tt.same {
			t.Errorf("%s: shared %v (%q, %q)", name, got, LoginOf(&claude), LoginOf(&tt.other))
		}
	}
	key := func(name string, p configs.Preset) *configs.Agent {
		return &configs.Agent{Name: name, Kind: configs.ACP, Preset: p, Auth: configs.Key, KeyVar: "MY_KEY"}
	}
	if LoginOf(key("a", configs.Qwen)) != LoginOf(key("b", configs.OpenCode)) {
		t.Error("one key is two logins")
	}
	l := NewLogins(LoginDeps{OnLimit: func() configs.OnLimit { return configs.WaitForLimit }})
	sizes := l.parallel([]configs.Member{{Agent: claude}, {Agent: with(func(a *configs.Agent) { a.Parallel = 3 })},
		{Agent: with(func(a *configs.Agent) { a.Name, a.Parallel = "c", 2 })}})
	if !slices.Equal([]int{sizes[LoginOf(&claude)], len(sizes)}, []int{2, 1}) {
		t.Errorf("slots %v", sizes)
	}
}

func TestRetryRest(t *testing.T) {
	now := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	var sum time.Duration
	for n, want := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 120} {
		got := retryRest(n+1, "busy", now)
		if sum += got; got != want*time.Second {
			t.Errorf("after %d failures %s, want %s", n+1, got, want*time.Second)
		}
	}
	if sum < 4*time.Minute {
		t.Errorf("all pauses together are %s", sum)
	}
	for words, want := range map[string]time.Duration{
		"429: retry after 45 seconds": 45 * time.Second, "try again in 3 hours": 4 * time.Second, "retry after 1 seconds": 4 * time.Second,
	} {
		if got := retryRest(3, words, now); got != want {
			t.Errorf("%s: %s, want %s", words, got, want)
		}
	}
}

// TestNoStart: a program that ends before it prints anything is tried three times in a row, any
// other failure more often.
func TestNoStart(t *testing.T) {
	dev := &members.Member{Member: &configs.Member{Name: "dev"}}
	for name, tc := range map[string]struct {
		noStart []bool
		left    []int
	}{
		"never starts": {[]bool{true, true, true}, []int{2, 1, 0}},
		"starts later": {[]bool{true, true, false, true, true, true}, []int{2, 1, 6, 2, 1, 0}},
		"at the end":   {[]bool{false, false, false, false, false, false, false, true, true}, []int{8, 7, 6, 5, 4, 3, 2, 1, 0}},
	} {
		l := NewLogins(LoginDeps{})
		for i, noStart := range tc.noStart {
			lock, e := l.failedTurn(dev, events.TurnFailed{Error: "unknown", Text: "x", Passing: true, NoStart: noStart})
			if e.Left != tc.left[i] || lock.GivenUp != (e.Left == 0) {
				t.Errorf("%s: failure %d: %+v, %+v, want %d left", name, i+1, lock, e, tc.left[i])
			}
			l.change("dev", func(m *member) { m.lockout = lock })
		}
		again, why := l.TriesAgain("dev")
		if again || !strings.HasSuffix(why, "x; run that program by hand to see what is wrong with it") {
			t.Errorf("%s: %v, %q", name, again, why)
		}
	}
}

// TestDescribeTellsWhenLimitsEnd: the scene changes when the first limit of a member that takes turns
// is over.
func TestDescribeTellsWhenLimitsEnd(t *testing.T) {
	until := func(wait time.Duration) *Lockout { return &Lockout{Until: atThree.Add(wait)} }
	for name, tt := range map[string]struct {
		ana, ben *Lockout
		gone     bool // ana is
		want     time.Duration
	}{
		"the first":       {until(50 * time.Second), until(20 * time.Second), false, 20 * time.Second},
		"a failed turn":   {until(50 * time.Second), &Lockout{Failed: true, Until: atThree.Add(time.Second)}, false, time.Second},
		"who is gone":     {until(time.Second), until(40 * time.Second), true, 40 * time.Second},
		"over since then": {until(-time.Hour), until(0), false, -1},
		"logged out":      {&Lockout{LoggedOut: true}, nil, false, -1},
	} {
		l := NewLogins(LoginDeps{
			OnLimit: func() configs.OnLimit { return configs.WaitForLimit }, Clock: members.Clock{TimeNow: func() time.Time { return atThree }},
		})
		s := plan.Scene{Seats: []plan.Seat{{Name: "ana", Gone: tt.gone}, {Name: "ben"}}}
		var all []*members.Member
		for i, lockout := range []*Lockout{tt.ana, tt.ben} {
			l.change(s.Seats[i].Name, func(m *member) { m.lockout = lockout })
			all = append(all, &members.Member{Member: &configs.Member{Name: s.Seats[i].Name}})
		}
		l.Describe(&s, all)
		got := time.Duration(-1)
		if s.Changes != nil {
			got = *s.Changes
		}
		if got != tt.want {
			t.Errorf("%s: changes in %v, want %v", name, got, tt.want)
		}
	}
}

// TestForget: the next life of a member keeps the lockout only with the same agent, and
// never the wait or the slot.
func TestForget(t *testing.T) {
	one := configs.Agent{Name: "one", Parallel: 1}
	dev := &members.Member{Member: &configs.Member{Name: "dev", Agent: one}}
	for _, same := range []bool{true, false} {
		var told []events.Data
		l := NewLogins(LoginDeps{
			OnLimit: func() configs.OnLimit { return configs.WaitForLimit }, Members: nobody{},
			Journal: recorder(func(e events.Event) { told = append(told, e.Data) }),
		})
		l.Allot([]configs.Member{*dev.Member})
		if _, err := l.Admit(t.Context(), dev); err != nil {
			t.Fatal(err)
		}
		l.change("dev", func(m *member) {
			m.lockout, m.used = &Lockout{LoggedOut: true}, map[string]time.Time{"one": atThree}
		})
		if err := l.Rejoined(t.Context(), dev, members.Return{SameAgent: same}); err != nil {
			t.Fatal(err)
		}
		if (l.Lockout("dev") != nil) != same || len(l.of("dev").used) != 0 {
			t.Errorf("same agent %v: %+v is left", same, l.of("dev"))
		}
		if over := slices.Contains(told, events.Data(events.Waiting{Kind: events.ForLimit})); over == same {
			t.Errorf("same agent %v: told %v", same, told)
		}
		if free := l.Free()["one"]; free != 1 || l.GiveBack("dev") {
			t.Errorf("same agent %v: %d slots are free", same, free)
		}
	}
}

// TestAllotAnew: a new number under parallel takes effect at once; without one there is
// no limit; of two that share an agent the lower counts.
func TestAllotAnew(t *testing.T) {
	l := NewLogins(LoginDeps{OnLimit: func() configs.OnLimit { return configs.WaitForLimit }})
	member := func(parallel int) configs.Member {
		return configs.Member{Agent: configs.Agent{Name: "tool", Kind: configs.Builtin, Parallel: parallel}}
	}
	for _, test := range []struct {
		sizes []int
		least int // free by then
		most  int
	}{{[]int{2}, 2, 2}, {[]int{5}, 5, 5}, {[]int{1}, 1, 1}, {[]int{0}, 1000, 1 << 31}, {[]int{3}, 3, 3}, {[]int{0, 4, 2}, 2, 2}} {
		var members []configs.Member
		for _, n := range test.sizes {
			members = append(members, member(n))
		}
		l.Allot(members)
		if got := l.Free()["tool"]; got < test.least || got > test.most {
			t.Errorf("parallel %v leaves %d", test.sizes, got)
		}
	}
}

// TestTellsOfWaits: what keeps members from their turns is told once when it begins, and when it ends: a
// limit that another member on the same login has met, one of an earlier run, a failed turn, and a slot.
func TestTellsOfWaits(t *testing.T) {
	store := testkit.OpenStore(t, tasks.Open)
	told := make(chan string, 100)
	l := NewLogins(LoginDeps{
		Store: store, Changed: func() {}, OnLimit: func() configs.OnLimit { return configs.WaitForLimit },
		Clock: members.Clock{TimeNow: func() time.Time { return atThree }}, Members: nobody{},
		Journal: recorder(func(e events.Event) {
			w := e.Data.(events.Waiting)
			if w.For != "" && !w.Until.IsZero() {
				w.For += " for " + w.Until.Sub(atThree).String()
			}
			told <- fmt.Sprintf("%s %s: %s", e.Member, w.Kind, w.For)
		}),
	})
	want := func(what string, lines ...string) {
		t.Helper()
		for _, line := range lines {
			if got := <-told; got != line {
				t.Errorf("%s: told %q, want %q", what, got, line)
			}
		}
		if len(told) > 0 {
			t.Errorf("%s: told %q, too", what, <-told)
		}
	}
	agent := configs.Agent{Name: "one", Kind: configs.Builtin, Parallel: 1}
	all := []*members.Member{{Member: &configs.Member{Name: "ana", Agent: agent}}, {Member: &configs.Member{Name: "ben", Agent: agent}}}
	seats := func(idle bool) {
		l.Describe(&plan.Scene{Seats: []plan.Seat{{Name: "ana", Idle: idle}, {Name: "ben", Idle: idle}}}, all)
	}
	testkit.Must(t, l.keep(t.Context(), "ana", &Lockout{Until: atThree.Add(time.Hour), Text: "no more"}))
	testkit.Must(t, l.recall(t.Context(), "ana"))
	want("an earlier limit", "ana limit: its usage limit to end for 1h0m0s")
	seats(true)
	seats(true)
	want("the limit of another", "ben limit: the usage limit that ana has met for 1h0m0s")
	l.Retry("ana")
	want("a try", "ana limit: ")
	seats(true)
	want("a try on the same login", "ben limit: ")
	l.forget("ana", false)
	testkit.Must(t, l.keep(t.Context(), "ana", &Lockout{Failed: true, Tries: 2, Until: atThree.Add(time.Minute), Text: "busy"}))
	want("a new life", "ana limit: ")
	testkit.Must(t, l.recall(t.Context(), "ana"))
	want("a failed turn", "ana retry: try 2 of 8, after: busy for 1m0s")
	l.Allot([]configs.Member{*all[0].Member})
	release, err := l.Admit(t.Context(), all[0])
	testkit.Must(t, err)
	want("a free slot")
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := l.Admit(ctx, all[1])
		failed <- err
	}()
	want("a slot", "ben slot: a slot of one")
	cancel()
	if <-failed == nil {
		t.Error("two have the only slot")
	}
	want("no slot", "ben slot: ")
	release()
}

// recorder is a journal that is a function.
type recorder func(events.Event)

func (r recorder) Append(e events.Event) { r(e) }

// nobody is a team in which nobody has taken a turn.
type nobody struct{}

func (nobody) Member(string) (*members.Member, bool) { return nil, false }
func (nobody) Members() []*members.Member            { return nil }
func (nobody) Turn(string) int                       { return 0 }
