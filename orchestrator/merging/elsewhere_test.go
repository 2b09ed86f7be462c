package merging

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/receipts"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// people are an inbox that only keeps what it is asked.
type people struct {
	*tasks.Store
	told func(requests.Request) // of each question
}

func (p people) Ask(ctx context.Context, by actors.Actor, n requests.New) (requests.Request, error) {
	return p.Requests().Ask(ctx, by, n)
}

func (p people) Withdraw(ctx context.Context, id, why string) error {
	_, err := p.Requests().Withdraw(ctx, actors.Actor{}, id, why)
	return err
}

func (p people) Limit() time.Duration { return 0 }

func (p people) Reachable() bool { return true }

func (p people) Notify(_ context.Context, _ string, r requests.Request) { p.told(r) }

// pushes makes a shop push to a repository, which it creates as origin.git in a folder.
func pushes(t *testing.T, s *shop, dir string, told func(requests.Request)) {
	t.Helper()
	origin := filepath.Join(dir, "origin.git")
	testkit.Shell(t, s.Repo.Top, "git init -q --bare "+origin+" && git remote add origin "+origin+" && git push -q origin main")
	remote, err := s.Repo.Base(filepath.Join(dir, "base.git"), "crew-2").Remote(t.Context())
	testkit.Must(t, err)
	d := &Merger{deps: Deps{Store: s.Store, Inbox: people{s.Store, told}, Mask: s.Mask}}
	s.Elsewhere = &elsewhere{remote, "refs/covey/crew/", d.untilPushed}
	s.spec.Lead.Name = "lead"
}

// TestMergeIsPushed: a merge is done after the remote has it, on top of what others have pushed there
// meanwhile, and also if a kill came between the push and its record.
func TestMergeIsPushed(t *testing.T) {
	t.Parallel()
	s, dir := newShop(t, "echo 1 >a", "ana", "ben"), testkit.Folder(t)
	pushes(t, s, dir, func(r requests.Request) { t.Errorf("people were asked %s", r.Text) })
	l := newLookout(t, s)
	gates := s.Gates
	s.Gates = func(ctx context.Context, tr Trial) (string, error) {
		if len(s.tested) == 0 { // somebody pushes while gates run
			testkit.Shell(t, dir, "git clone -q origin.git other && cd other && git checkout -q main && echo 2 >b && git add b && git commit -qm other && git push -q origin main")
		}
		return gates(ctx, tr)
	}
	s.does("ana", "echo ana >x")
	s.work()
	s.want("merged")
	if got := testkit.Shell(t, dir, "git -C origin.git show main:x && git -C origin.git show main:b && git -C origin.git rev-parse main"); got != "ana\n2\n"+l.main() {
		t.Errorf("the remote has %s, main is %s", got, l.main())
	}
	if l.ops(); len(s.tested) != 2 {
		t.Errorf("%d states were tested", len(s.tested))
	}
	// Killed after the push.
	s.does("ben", "echo ben >y")
	m, ctx, base := s.merges()[1], t.Context(), l.main()
	o, err := s.foresee(ctx, m, base, base)
	testkit.Must(t, err)
	m.Base = base
	m.Result, err = s.Repo.CommitTree(ctx, worktree.Commit{Tree: o.Tree, Parents: []string{base, m.Commit}, Message: "m"})
	testkit.Must(t, err)
	for _, state := range []tasks.MergeState{tasks.MergeTesting, tasks.MergeLanding} {
		m, err = s.set(ctx, m, state, "")
		testkit.Must(t, err)
	}
	testkit.Must(t, s.pushTarget(ctx, m))
	l.restart()
	testkit.Must(t, s.Recover(ctx))
	s.work()
	s.want("merged merged")
	if main := l.main(); main != m.Result || main != testkit.Shell(t, dir, "git -C origin.git rev-parse main") || len(s.tested) != 2 {
		t.Errorf("main is %s, the result %s, and %d states were tested", main, m.Result, len(s.tested))
	}
}

// TestReceiptIsPushed: a merge is done after the remote has its receipt, also if a kill came in between, and
// not before.
func TestReceiptIsPushed(t *testing.T) {
	t.Parallel()
	s, dir, ctx := newShop(t, "echo 1 >a", "ana", "ben"), testkit.Folder(t), t.Context()
	testkit.Must(t, os.Mkdir(s.withReceipts(), 0o700))
	waits := make(chan struct{}, 1)
	pushes(t, s, dir, func(requests.Request) { waits <- struct{}{} })
	receiptsIn := func(repo string) string {
		return testkit.Shell(t, dir, "git -C "+repo+" for-each-ref --format='%(refname) %(objectname)' "+receipts.Refs)
	}
	s.does("ana", "echo ana >x")
	s.work()
	s.want("merged")
	m := s.merges()[0]
	if got := receiptsIn("origin.git"); !strings.HasPrefix(got, receipts.Ref(m.Result)+" ") || got != receiptsIn(s.Repo.Top) {
		t.Errorf("the remote has %q", got)
	}
	id := strings.TrimPrefix(receiptsIn(s.Repo.Top), receipts.Ref(m.Result)+" ")
	testkit.Must(t, s.Elsewhere.pushReceipt(ctx, m, id)) // again, after a crash
	// The remote takes work, and no receipts.
	hook := filepath.Join(dir, "origin.git", "hooks", "update")
	testkit.Must(t, os.WriteFile(hook, []byte("#!/bin/sh\ncase $1 in refs/covey/receipts/*) exit 1;; esac\n"), 0o700))
	s.does("ben", "echo ben >y")
	done := make(chan struct{})
	go func() { s.work(); close(done) }()
	<-waits
	if m := s.merges()[1]; m.State == tasks.MergeDone {
		t.Errorf("it is done without a receipt: %+v", m)
	}
	testkit.Must(t, os.Remove(hook))
	<-done
	s.want("merged merged")
	if got := receiptsIn("origin.git"); got != receiptsIn(s.Repo.Top) || strings.Count(got, "\n") != 1 {
		t.Errorf("the remote has %q", got)
	}
}

// TestMergedWorkLeavesRemote: what the remote keeps of finished work goes once it is merged, after a merge
// or when a host begins; unmerged work stays.
func TestMergedWorkLeavesRemote(t *testing.T) {
	t.Parallel()
	s, dir, ctx := newShop(t, "echo 1 >a", "ana"), testkit.Folder(t), t.Context()
	pushes(t, s, dir, func(r requests.Request) { t.Errorf("people were asked %s", r.Text) })
	refs := func() string {
		return testkit.Shell(t, dir, "git -C origin.git for-each-ref --format='%(refname)' refs/covey")
	}
	open := testkit.Shell(t, s.Repo.Top, "git commit-tree -m open main:")
	testkit.Must(t, s.pushTask(ctx, tasks.Task{ID: "2", Owner: "ben"}, open))
	s.does("ana", "echo ana >x")
	testkit.Must(t, s.pushTask(ctx, tasks.Task{ID: "1", Owner: "ana"}, s.merges()[0].Commit))
	if got := refs(); got != "refs/covey/crew/ana/1\nrefs/covey/crew/ben/2" {
		t.Errorf("before the merge there are\n%s", got)
	}
	s.work()
	s.want("merged")
	if got := refs(); got != "refs/covey/crew/ben/2" {
		t.Errorf("after the merge there are\n%s", got)
	}
	testkit.Must(t, s.pushTask(ctx, tasks.Task{ID: "1", Owner: "ana"}, s.merges()[0].Commit)) // the host died before that
	testkit.Must(t, s.takeOver(ctx))
	if got := refs() + testkit.Shell(t, s.Repo.Top, "git for-each-ref --format='%(refname)' refs/covey/crew"); got != "refs/covey/crew/ben/2refs/covey/crew/ben/2" {
		t.Errorf("after a takeover there are\n%s", got)
	}
}

// nobody is an inbox that nobody reads.
type nobody struct{ people }

func (nobody) Reachable() bool { return false }

// TestNobodyMendsTheRemote: a run ends if the remote takes nothing and nobody is there.
func TestNobodyMendsTheRemote(t *testing.T) {
	t.Parallel()
	s, dir := newShop(t, "echo 1 >a", "ana"), testkit.Folder(t)
	pushes(t, s, dir, nil)
	testkit.Must(t, os.Rename(filepath.Join(dir, "origin.git"), filepath.Join(dir, "away.git")))
	d := New(Deps{Store: s.Store, Inbox: nobody{people{s.Store, func(requests.Request) {}}}, Mask: s.Mask})
	s.Elsewhere.until = d.untilPushed
	ctx, cancel := context.WithCancel(t.Context())
	pushed := make(chan error)
	go func() {
		pushed <- s.pushTask(ctx, tasks.Task{ID: "1", Owner: "ana"}, testkit.Shell(t, s.Repo.Top, "git rev-parse main"))
	}()
	err := d.Stranded(t.Context())
	cancel() // as the end of the run does
	if waited := <-pushed; waited == nil {
		t.Error("what could not be pushed is pushed")
	}
	for _, words := range []string{"the work of ana on task 1 could not be pushed for", "nobody is there to mend it: git ls-remote", "once git push works there, covey up continues the team"} {
		if !errors.Is(err, worktree.ErrNoRemote) || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "\n") {
			t.Errorf("the run ends with %q, want one line with %q", err, words)
		}
	}
}

// TestRemoteGoesAhead: a host that is behind neither overwrites what the remote has, nor its own
// commits.
func TestRemoteGoesAhead(t *testing.T) {
	t.Parallel()
	s, dir := newShop(t, "echo 1 >a", "ana"), testkit.Folder(t)
	pushes(t, s, dir, func(r requests.Request) { t.Errorf("people were asked %s", r.Text) })
	s.does("ana", "echo ana >x")
	testkit.Shell(t, dir, "git clone -q origin.git other && cd other && git checkout -q main && echo 2 >b && git add b && git commit -qm other && git push -q origin main")
	theirs := testkit.Shell(t, dir, "git -C origin.git rev-parse main")
	testkit.Shell(t, s.Repo.Top, "git commit -qm mine --allow-empty")
	mine := testkit.Shell(t, s.Repo.Top, "git rev-parse main")
	s.work()
	s.want("held")
	if why := s.merges()[0].Reason; !strings.Contains(why, "diverged; git pull") {
		t.Errorf("it is held because %s", why)
	}
	if got := testkit.Shell(t, dir, "git -C origin.git rev-parse main; git -C "+s.Repo.Top+" rev-parse main"); got != theirs+"\n"+mine {
		t.Errorf("%s", got)
	}
	testkit.Shell(t, s.Repo.Top, "git pull -q --no-rebase --no-edit origin main")
	testkit.Must(t, s.Recover(t.Context()))
	s.work()
	s.want("merged")
	if got := testkit.Shell(t, dir, "git -C origin.git show main:x main:b"); got != "ana\n2" {
		t.Errorf("the remote has %s", got)
	}
}

// TestRemoteIsAway: finished work waits for the remote, people know why, and the line of the inbox
// goes with its reason. What an earlier team has pushed under the same name stays.
func TestRemoteIsAway(t *testing.T) {
	t.Parallel()
	s, dir := newShop(t, "echo 1 >a", "ana"), testkit.Folder(t)
	origin, asked := filepath.Join(dir, "origin.git"), []string{}
	pushes(t, s, dir, func(r requests.Request) {
		asked = append(asked, r.Text)
		testkit.Must(t, os.Rename(origin+".away", origin)) // it comes back
	})
	ctx, work := t.Context(), tasks.Task{ID: "1", Owner: "ana", Subject: "Do it"}
	main := testkit.Shell(t, s.Repo.Top, "git rev-parse main")
	old := testkit.Shell(t, s.Repo.Top, "git push -q origin $(git commit-tree -m old main:):refs/covey/crew/ana/1 && git -C "+origin+" rev-parse refs/covey/crew/ana/1")
	testkit.Must(t, os.Rename(origin, origin+".away"))
	testkit.Must(t, s.pushTask(ctx, work, main))
	testkit.Must(t, s.pushTask(ctx, work, main)) // again, as after a kill
	if len(asked) != 1 || !strings.Contains(asked[0], "the work of ana on task 1 is not pushed yet, and waits: git ls-remote in "+origin) {
		t.Errorf("people were asked %q", asked)
	}
	if open, err := s.Store.Requests().Open(ctx, ""); len(open) > 0 || err != nil {
		t.Errorf("open are %+v, %v", open, err)
	}
	refs := testkit.Shell(t, dir, "git -C origin.git for-each-ref --format='%(objectname) %(refname)' refs/covey")
	if want := main + " refs/covey/crew/ana/1\n" + old + " refs/covey/crew/ana/1-" + old[:12]; refs != want {
		t.Errorf("the remote has\n%s\nwant\n%s", refs, want)
	}
	// Who waits can end, and the line stays.
	testkit.Must(t, os.Rename(origin, origin+".away"))
	ctx, cancel := context.WithCancel(ctx)
	s.Elsewhere.until = (&Merger{deps: Deps{Store: s.Store, Inbox: people{s.Store, func(requests.Request) { cancel() }}, Mask: s.Mask}}).untilPushed
	if err := s.pushTask(ctx, work, old); err == nil || !strings.Contains(err.Error(), "is not pushed") {
		t.Errorf("cut off: %v", err)
	}
	if open, err := s.Store.Requests().Open(t.Context(), ""); len(open) != 1 || err != nil {
		t.Errorf("open are %+v, %v", open, err)
	}
}

// TestLeftOnAnotherHost: the inbox names once what another host had and has not pushed.
func TestLeftOnAnotherHost(t *testing.T) {
	t.Parallel()
	s, ctx := newShop(t, "echo 1 >a", "ana", "ben", "cy", "dan"), t.Context()
	live := view.NewLive(s.Store.Outbox())
	for i, name := range []string{"ana", "cy", "dan"} {
		live.Recall(events.Event{Seq: uint64(2*i + 1), Member: name, Turn: 7, Data: events.TurnStarted{}})
	}
	live.Recall(events.Event{Seq: 9, Member: "dan", Turn: 7, Data: events.TurnEnded{}})
	list, err := s.Store.Add(ctx, actors.Actor{}, []tasks.New{{Subject: "Begun", Owner: "ana"}, {Subject: "Open", Owner: "ben"}})
	testkit.Must(t, err)
	begun := tasks.InProgress
	_, _, err = s.Store.Update(ctx, actors.Actor{}, list[0].ID, tasks.Patch{Status: &begun})
	testkit.Must(t, err)
	s.does("ben", "echo ben >y")
	lost := strings.Repeat("7", 40)
	_, err = s.Store.Merges().Propose(ctx, actors.Actor{}, tasks.Merge{
		Member: "ben", Branch: "covey/crew/ben", Into: "main", From: lost, Commit: lost, Title: "all of it", State: tasks.MergeWaiting,
	})
	testkit.Must(t, err)
	d := &Merger{deps: Deps{Store: s.Store, Inbox: people{Store: s.Store}, Team: s.Team, State: live}, queue: s.Queue}
	for range 2 {
		testkit.Must(t, d.tellLeft(ctx, "the other host"))
	}
	open, err := s.Store.Requests().Open(ctx, "")
	testkit.Must(t, err)
	var lines []string
	for _, r := range open {
		lines = append(lines, r.Text)
	}
	if got := strings.Join(lines, "\n"); len(lines) != 3 || !strings.Contains(got, "what ana has done on task 1 so far was not pushed and is in the other host") ||
		!strings.Contains(got, "what cy has done in turn 7 so far was not pushed") ||
		!strings.Contains(got, "of ben (commit 7777777777) was not pushed") {
		t.Errorf("the inbox has\n%s", got)
	}
}
