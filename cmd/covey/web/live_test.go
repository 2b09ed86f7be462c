package web

import (
	"context"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// The id of an event says what a viewer has; what is no such id says that it has nothing.
func TestMarkOf(t *testing.T) {
	t.Parallel()
	of := func(last, query string) mark {
		r, _ := http.NewRequest(http.MethodGet, "/x?after="+query, nil) // never fails
		r.Header.Set("Last-Event-ID", last)
		return markOf(r)
	}
	want := mark{journal: "ab.2", line: 7, sums: []string{"x", "y"}}
	for _, got := range []mark{of(want.String(), "cd.1-9-z"), of("", want.String()), of("7", want.String())} {
		if got.String() != want.String() {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for _, text := range []string{"", "7", "ab.2-7", "ab.2--x", "ab.2-x-y", "a-1-b-c", "ab.2-18446744073709551616-x"} {
		if got := of(text, ""); got.journal != "" || got.line != 0 {
			t.Errorf("%q is %s", text, got)
		}
	}
}

// updates plays one viewer of a live page.
type updates struct {
	*framed
	page live
	has  mark
}

// next returns what has changed for the viewer.
func (u *updates) next() string {
	u.Helper()
	html, now, _, err := u.page.since(u.Context(), u.has)
	if err != nil {
		u.Fatal(err)
	}
	u.has = now
	return html
}

// What a member writes is shown until its line is there, once, and is gone when the answer fails.
func TestDraftsOfMember(t *testing.T) {
	f := newFramed(t, "ana")
	f.follow()
	f.untilLine()
	m := &memberLive{page: f.page, name: "ana", pen: newReader(), said: map[string]uint64{}}
	u := &updates{framed: f, page: m}
	var err error
	if _, u.has, err = m.whole(t.Context()); err != nil {
		t.Fatal(err)
	}
	if html := u.next(); html != "" {
		t.Errorf("nothing has changed, and the viewer gets %s", html)
	}
	writes := func(seq int, texts ...string) {
		now := members.Drafting{Seq: uint64(seq)}
		for i, text := range texts {
			now.Drafts = append(now.Drafts, members.Draft{Member: "ana", Helper: strings.Repeat("h", i), Text: text})
		}
		m.pen.set(now)
		<-m.wake()
	}
	for _, step := range []struct {
		what  string
		do    func()
		want  []string // in what the viewer gets
		lacks string
	}{
		{"it writes", func() { writes(f.seq, "<b>I lo") }, []string{`hx-target="#draft"`, "&lt;b&gt;I lo", "writing"}, "<b>I"},
		{"it writes on", func() { writes(f.seq, "<b>I look") }, []string{"I look"}, "hx-target=\"#log\""},
		{"nothing new", func() { writes(f.seq, "<b>I look") }, nil, ""},
		{"its line is there", func() { f.add(says("ana", "I look.")); f.untilLine() }, []string{`hx-target="#log"`, "I look.", `hx-target="#draft"`}, "writing"},
		{"the team has not seen its line yet", func() { writes(f.seq-1, "I look.") }, nil, ""},
		{"another answer and a helper's", func() { writes(f.seq, "And now", "helping") }, []string{"And now", "helping"}, ""},
		{"the answer fails", func() { writes(f.seq) }, []string{`hx-target="#draft"`}, "writing"},
	} {
		step.do()
		html := u.next()
		if step.want == nil && html != "" {
			t.Errorf("%s: the viewer gets %s", step.what, html)
		}
		for _, text := range step.want {
			if !strings.Contains(html, text) {
				t.Errorf("%s: there is no %s in %s", step.what, text, html)
			}
		}
		if step.lacks != "" && strings.Contains(html, step.lacks) {
			t.Errorf("%s: there is %s in %s", step.what, step.lacks, html)
		}
	}
}

// A reader of drafts of a team that does not run has none, and ends with its viewer.
func TestDraftsOfNobody(t *testing.T) {
	teamtest.StateHome(t)
	ctx, cancel := context.WithCancel(t.Context())
	d, done := newReader(), make(chan struct{})
	go func() {
		defer close(done)
		d.run(ctx, teamtest.Place(t, "crew"), "ana")
	}()
	cancel()
	select {
	case <-done:
	case <-time.After(hangs):
		t.Fatal("the reader does not end")
	}
	if got := d.drafting(); len(got.Drafts) > 0 {
		t.Errorf("%+v", got)
	}
}

// After `covey up --fresh` an open page of a member shows the new team, as soon as the member is
// there, and nothing of the old one.
func TestMemberOfFreshTeam(t *testing.T) {
	f := newFramed(t, "ana")
	f.add(says("ana", "Gone."))
	ended := f.follow()
	f.untilLine()
	stream := f.events(streamOf(t, f.get("/member/ana")), "")
	if err := os.Remove(f.place.Journal()); err != nil {
		t.Fatal(err)
	}
	f.seq = 0
	f.add(started("ben")...)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	f.follow()
	f.untilLine()
	_, data := stream.next()
	if !strings.Contains(data, `hx-target="#main"`) || !strings.Contains(data, "no member &#34;ana&#34;") {
		t.Errorf("of a member that is gone the viewer gets %s", data)
	}
	f.add(says("ana", "New."))
	f.untilLine()
	id, data := stream.next()
	if !strings.Contains(data, `hx-target="#main"`) || !slices.Equal(lineNumbers(data), []int{2}) || strings.Contains(data, "Gone") {
		t.Errorf("then %s", data)
	}
	f.add(says("ana", "And more."))
	if next, data := stream.next(); lineOfID(next) != 3 || !slices.Equal(lineNumbers(data), []int{3}) || strings.Contains(data, "#main") || next == id {
		t.Errorf("then event %s: %s", next, data)
	}
}

// taskLine returns a line about the only task of the tests below.
func taskLine(op, status string) string {
	return `{"op":"` + op + `","by":"ana","task":{"id":"1","subject":"Do it","owner":"ana","epoch":1,"version":` + map[string]string{"created": "1", "claimed": "2", "completed": "3"}[op] +
		`,"status":"` + status + `"}}`
}

// The page of a task gets the parts that change, hints and changes too, and the lines of its
// conversation once each. Git is asked only if the work can have changed.
func TestTaskLive(t *testing.T) {
	f := newFramed(t, "ana", "ben")
	add := func(member, kind, data string) { f.add(teamtest.Line(0, member, kind, data)); f.untilLine() }
	f.follow()
	add("ana", "turn_started", `{"cause":"task"}`)
	add("ana", "task", taskLine("created", "pending"))
	page := &taskLive{page: f.page, id: "1"}
	u := &updates{framed: f, page: page}
	var err error
	if _, u.has, err = page.whole(t.Context()); err != nil {
		t.Fatal(err)
	}
	if html := u.next(); html != "" {
		t.Errorf("nothing has changed, and the viewer gets %s", html)
	}
	add("ana", "task", taskLine("claimed", "in_progress"))
	html := u.next()
	for _, want := range []string{`hx-target="#task-head"`, "in progress", `hx-target="#task-log"`} {
		if !strings.Contains(html, want) {
			t.Errorf("in progress: there is no %s in %s", want, html)
		}
	}
	read := f.page.works.known["1"].read // there is no git for a while
	add("ana", "text", `{"text":"I do it."}`)
	add("ben", "text", `{"text":"I do not."}`)
	if html = u.next(); !slices.Equal(lineNumbers(html), []int{f.seq - 1}) || strings.Contains(html, "task-diff") {
		t.Errorf("a line of its owner, and one of another member: %s", html)
	}
	if now := f.page.works.known["1"].read; now != read {
		t.Error("unfinished work is read again for each line")
	}
	add("ana", "gate", `{"event":"TaskCompleted","tool_use_id":"t1","task_id":"1"}`)
	add("ana", "hook_finished", `{"event":"TaskCompleted","tool_use_id":"t1","command":"./gate","outcome":"non_blocking_error","failed_open":true}`)
	add("ana", "task", taskLine("completed", "completed"))
	html = u.next()
	for _, want := range []string{`hx-target="#task-look"`, "hook failed", `hx-target="#task-gates"`, `hx-target="#task-acts"`, "done"} {
		if !strings.Contains(html, want) {
			t.Errorf("completed: there is no %s in %s", want, html)
		}
	}
	if html = u.next(); html != "" {
		t.Errorf("it is told again: %s", html)
	}
}

// The works of many tasks do not stay in memory.
func TestWorkBook(t *testing.T) {
	t.Parallel()
	var b workBook
	at := time.Now()
	for i := range 3 * keptWorks {
		b.put(string(rune('A'+i)), knownWork{read: at.Add(time.Duration(i))})
	}
	if _, old := b.get("A"); old || len(b.known) != keptWorks {
		t.Errorf("%d works are kept", len(b.known))
	}
	if _, ok := b.get(string(rune('A' + 3*keptWorks - 1))); !ok {
		t.Error("the newest one is lost")
	}
}
