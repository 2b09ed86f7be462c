package merging

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// shop is a repository, members with working copies, and a queue.
type shop struct {
	*Queue
	t      testing.TB
	spec   *configs.Team
	copies map[string]*worktree.Repo
	tested []string // trees, in the order in which the gates saw them
}

func newShop(t testing.TB, files string, members ...string) *shop {
	t.Helper()
	s := &shop{t: t, copies: map[string]*worktree.Repo{}, spec: specOf(members)}
	s.Queue = &Queue{
		Team: func() *configs.Team { return s.spec },
		Repo: newRepo(t, files), Store: newStore(t), Scratch: filepath.Join(testkit.Folder(t), "scratch"), Papers: testkit.Folder(t),
		Gates: func(ctx context.Context, tr Trial) (string, error) {
			tree, err := tr.Copy.TreeOf(ctx, "HEAD")
			s.tested = append(s.tested, tree)
			if _, bad := os.Stat(filepath.Join(tr.Copy.Top, "bad")); bad == nil {
				return "there is a bad file\nand more", err
			}
			return "", err
		},
		Prepare: func(context.Context, string) error { return nil },
		Ask: func(context.Context, tasks.Merge, []string, []tasks.Merge) (Answer, error) {
			t.Error("somebody was asked")
			return Answer{}, nil
		},
		Share: func(ctx context.Context, member string) error {
			copy := s.copies[member]
			head, err := copy.Head(ctx)
			if err == nil {
				err = copy.Share(ctx, head)
			}
			return err
		},
		Mask: func(text string) string { return strings.ReplaceAll(text, "secret", "***") },
	}
	for _, m := range members {
		s.copies[m] = copyOf(t, s.Repo, m)
	}
	return s
}

// specOf is the spec of a team whose finished work is merged unasked.
func specOf(members []string) *configs.Team {
	team := &configs.Team{Merge: configs.Merge{Given: true}}
	for _, m := range members {
		team.Teammates = append(team.Teammates, configs.Member{Name: m})
	}
	return team
}

// does has a member work on a task that is done then.
func (s *shop) does(member, script string) *tasks.Merge {
	s.t.Helper()
	testkit.Shell(s.t, s.copies[member].Top, script)
	list, err := s.Store.Add(s.t.Context(), actors.Actor{}, []tasks.New{{Subject: script, Owner: member}})
	testkit.Must(s.t, err)
	return s.harvest(member, list[0])
}

// harvest completes a task whose work lies in its owner's copy.
func (s *shop) harvest(member string, task tasks.Task) *tasks.Merge {
	s.t.Helper()
	m, err := s.Harvest(s.t.Context(), Work{Member: member, Copy: s.copies[member], Task: &task}, false)
	testkit.Must(s.t, err)
	return m
}

func (s *shop) work() {
	s.t.Helper()
	testkit.Must(s.t, s.Work(s.t.Context()))
}

// merges are the states of all merges, with what was made of them.
func (s *shop) merges() []tasks.Merge {
	s.t.Helper()
	list, err := s.Store.Merges().List(s.t.Context())
	testkit.Must(s.t, err)
	return list
}

func (s *shop) states() string {
	s.t.Helper()
	var states []string
	for _, m := range s.merges() {
		states = append(states, string(m.State))
	}
	return strings.Join(states, " ")
}

// want fails the test unless the merges are in these states.
func (s *shop) want(states string) {
	s.t.Helper()
	if got := s.states(); got != states {
		s.t.Errorf("the merges are %q, want %q: %+v", got, states, s.merges())
	}
}

// on is what a branch's file holds.
func (s *shop) on(rev, file string) string {
	s.t.Helper()
	data, err := s.Repo.File(s.t.Context(), rev, file)
	if err != nil {
		return "(nothing)"
	}
	return string(data)
}

func TestWorkIsMerged(t *testing.T) {
	t.Parallel()
	s := newShop(t, "echo 1 >a", "ana", "ben")
	s.does("ana", "echo ana >x")
	s.does("ben", "echo ben >y; git add y; git commit -qm mine")
	s.want("queued queued")
	s.work()
	s.want("merged merged")
	if s.on("main", "x")+s.on("main", "y") != "ana\nben\n" {
		t.Error("main does not hold the work")
	}
	// The workspace is on main, and clean: its files have come along.
	if got := testkit.Shell(t, s.Repo.Top, "git status --porcelain; cat x y; git stash list"); got != "ana\nben" {
		t.Errorf("%s", got)
	}
	if got := testkit.Shell(t, s.Repo.Top, "git log --format=%s --first-parent main"); got !=
		"Merge task 2: echo ben >y; git add y; git commit -qm mine\nMerge task 1: echo ana >x\nfirst" {
		t.Errorf("%s", got)
	}
	// What landed is what was tested, tree by tree.
	if last, err := s.Repo.TreeOf(t.Context(), "main"); err != nil || len(s.tested) != 2 || s.tested[1] != last {
		t.Errorf("tested %v, landed %s, %v", s.tested, last, err)
	}
	if branches, err := s.Repo.Branches(t.Context(), "covey/crew"); err != nil || len(branches) != 2 {
		t.Errorf("branches of merged tasks are left: %v, %v", branches, err)
	}
	// The next task of the same member is the work since, and nothing else.
	m := s.does("ana", "echo more >>x")
	if got, err := s.Repo.Changed(t.Context(), m.From, m.Commit); err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
	s.work()
	s.want("merged merged merged")
}

func TestNothingToMerge(t *testing.T) {
	t.Parallel()
	s := newShop(t, "echo 1 >a", "ana")
	if m := s.does("ana", "true"); m != nil {
		t.Errorf("%+v", m)
	}
	s.does("ana", "echo 2 >a")
	s.work()
	if m := s.does("ana", "git commit -q --allow-empty -m nothing"); m != nil {
		t.Errorf("an empty commit: %+v", m)
	}
	// Two who make the same change: there is nothing left of the second one.
	s.copies["ben"] = copyOf(t, s.Repo, "ben")
	testkit.Shell(t, s.copies["ben"].Top, "git reset -q --hard HEAD")
	s.does("ana", "echo 3 >a")
	s.does("ben", "echo 3 >a")
	s.work()
	s.want("merged merged dropped")
}

// TestTwoTasksInOneTurn: a task that began when the work before it was done, and after which nothing has changed,
// has changed nothing; one that was in progress already may have.
func TestTwoTasksInOneTurn(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{true, false} {
		s := newShop(t, "echo 1 >a", "ana")
		list, err := s.Store.Add(t.Context(), actors.Actor{}, []tasks.New{{Subject: "one"}, {Subject: "two"}})
		testkit.Must(t, err)
		begin := func(task tasks.Task) tasks.Task {
			begun, err := s.Store.Claim(t.Context(), actors.Actor{Name: "ana"}, task.ID, tasks.Claim{Member: "ana"})
			testkit.Must(t, err)
			return begun
		}
		one := begin(list[0])
		if !late {
			list[1] = begin(list[1])
		}
		testkit.Shell(t, s.copies["ana"].Top, "echo 2 >a")
		first := s.harvest("ana", one)
		if late {
			list[1] = begin(list[1])
		}
		if second := s.harvest("ana", list[1]); first == nil || (second == nil) != late {
			t.Errorf("late %t: %+v, then %+v", late, first, second)
		}
	}
}

func TestConflictGoesToItsAuthor(t *testing.T) {
	t.Parallel()
	s := newShop(t, "echo 1 >a", "ana", "ben")
	s.does("ana", "echo ana >a")
	s.does("ben", "echo ben >a")
	s.work()
	s.want("merged returned")
	m := s.merges()[1]
	fix, err := s.Store.Task(t.Context(), m.Fix)
	testkit.Must(t, err)
	if fix.Owner != "ben" || !strings.Contains(fix.Description, "- a\n") || m.Files[0] != "a" || m.Round != 1 {
		t.Errorf("%+v %+v", m, fix)
	}
	if got := testkit.Shell(t, s.Repo.Top, "cat a; git status --porcelain"); got != "ana" {
		t.Errorf("%s", got)
	}
	// The author does as the task says, and both are in.
	testkit.Shell(t, s.copies["ben"].Top, "git merge -q main || true; printf 'ana\nben\n' >a; git commit -qam resolved")
	s.harvest("ben", fix)
	s.work()
	s.want("merged merged merged")
	if s.on("main", "a") != "ana\nben\n" {
		t.Errorf("%q", s.on("main", "a"))
	}
}

func TestRefusalGoesToItsAuthor(t *testing.T) {
	t.Parallel()
	s := newShop(t, "echo 1 >a", "ana", "ben")
	s.does("ana", "echo x >bad")
	s.does("ben", "echo y >good")
	s.work()
	s.want("returned merged")
	if s.on("main", "bad") != "(nothing)" {
		t.Error("what was refused was merged")
	}
	m := s.merges()[0]
	fix, err := s.Store.Task(t.Context(), m.Fix)
	testkit.Must(t, err)
	if fix.Owner != "ana" || !strings.Contains(fix.Description, "there is a bad file\nand more") ||
		m.Reason != fmt.Sprintf("the gates refuse the merged state %.10s: there is a bad file and more", m.Result) {
		t.Errorf("%+v\n%+v", m, fix)
	}
	// Each try that fails is one more round; in the end a person is asked.
	for range maxRounds {
		s.want(s.states()) // the store agrees with itself
		s.harvest("ana", *mustTask(t, s, s.lastFix()))
		testkit.Shell(t, s.copies["ana"].Top, "echo again >>bad")
	}
	for range maxRounds {
		if id := s.lastFix(); id != "" {
			s.harvest("ana", *mustTask(t, s, id))
			s.work()
			testkit.Shell(t, s.copies["ana"].Top, "echo again >>bad")
		}
	}
	last := s.merges()[len(s.merges())-1]
	if last.State != tasks.MergeHeld || !strings.Contains(last.Reason, "3 attempts") {
		t.Errorf("%+v", last)
	}
	testkit.Shell(t, s.copies["ana"].Top, "rm bad")
	s.does("ana", "echo fine >fine")
	s.work()
	for _, m := range s.merges() {
		if !m.State.Over() {
			t.Errorf("not over though the later work holds it: %+v", m)
		}
	}
}

// lastFix is the task of the merge that was last sent back.
func (s *shop) lastFix() string {
	for _, m := range slices.Backward(s.merges()) {
		if m.State == tasks.MergeReturned {
			return m.Fix
		}
	}
	return ""
}

func mustTask(t testing.TB, s *shop, id string) *tasks.Task {
	t.Helper()
	task, err := s.Store.Task(t.Context(), id)
	testkit.Must(t, err)
	return &task
}

func TestPersonsWorkIsLeftAlone(t *testing.T) {
	t.Parallel()
	s := newShop(t, "echo 1 >a; echo 1 >b", "ana", "ben")
	testkit.Shell(t, s.Repo.Top, "echo mine >a; echo other >untracked")
	s.does("ana", "echo ana >a")
	s.does("ben", "echo ben >b")
	s.work()
	s.want("held merged")
	m := s.merges()[0]
	if !strings.Contains(m.Reason, s.Repo.Top) || len(m.Files) != 1 || m.Files[0] != "a" {
		t.Errorf("%+v", m)
	}
	if got := testkit.Shell(t, s.Repo.Top, "cat a b untracked; git status --porcelain"); got != "mine\nben\nother\n M a\n?? untracked" {
		t.Errorf("%s", got)
	}
	testkit.Shell(t, s.Repo.Top, "git checkout -q -- a")
	testkit.Must(t, s.Recover(t.Context())) // as the next run does
	s.work()
	s.want("merged merged")
}

func TestBranchThatIsNowhereCheckedOut(t *testing.T) {
	t.Parallel()
	s := newShop(t, "echo 1 >a", "ana")
	testkit.Shell(t, s.Repo.Top, "git branch release; echo mine >a")
	s.spec.Merge.Into = "release"
	s.does("ana", "echo ana >a")
	s.work()
	s.want("merged")
	if s.on("release", "a") != "ana\n" || testkit.Shell(t, s.Repo.Top, "cat a; git rev-parse --abbrev-ref HEAD") != "mine\nmain" {
		t.Error("it went to the wrong place")
	}
}

// The branch moves while the gates look: what lands was tested on top of that.
func TestBaseMovesMeanwhile(t *testing.T) {
	t.Parallel()
	s := newShop(t, "echo 1 >a", "ana")
	gates := s.Gates
	moves := 2
	s.Gates = func(ctx context.Context, tr Trial) (string, error) {
		if moves--; moves >= 0 {
			testkit.Shell(t, s.Repo.Top, fmt.Sprintf("echo p >p%d; git add -A; git commit -qm person", moves))
		}
		return gates(ctx, tr)
	}
	s.does("ana", "echo ana >x")
	s.work()
	s.want("merged")
	if last, err := s.Repo.TreeOf(t.Context(), "main"); err != nil || len(s.tested) != 3 || s.tested[2] != last {
		t.Errorf("tested %v, landed %s, %v", s.tested, last, err)
	}
	if s.on("main", "p0")+s.on("main", "p1") != "p\np\n" {
		t.Error("a person's commit is gone")
	}
	moves = 1000
	s.does("ana", "echo more >>x")
	s.work()
	s.want("merged held")
}

func TestOwnsAndProtect(t *testing.T) {
	t.Parallel()
	s := newShop(t, "mkdir docs; echo 1 >docs/a; echo 1 >main.go", "ana", "ben")
	s.spec.Teammates[0].Owns = []string{"docs/**"}
	s.spec.Protect = []string{"policy/**"}
	s.does("ana", "echo 2 >docs/a; echo 2 >main.go")
	s.work()
	s.want("returned")
	if m := s.merges()[0]; strings.Join(m.Files, " ") != "main.go" {
		t.Errorf("%+v", m)
	}
	// What comes in from main is not hers.
	s.does("ben", "echo 3 >main.go")
	s.work()
	testkit.Shell(t, s.copies["ana"].Top, "git checkout -q $(git merge-base HEAD main) -- main.go; git commit -qm back; git merge -q main")
	s.harvest("ana", *mustTask(t, s, s.lastFix()))
	s.work()
	s.want("merged merged merged")

	var asked []string
	answer := Answer{ID: "q1"}
	s.Ask = func(_ context.Context, m tasks.Merge, files []string, _ []tasks.Merge) (Answer, error) {
		asked = append(asked, strings.Join(files, " "))
		return answer, nil
	}
	s.does("ben", "mkdir policy; echo x >policy/gate.sh; echo y >z")
	s.work()
	if m := s.merges()[3]; m.State != tasks.MergeHeld || m.Asked != "q1" || asked[0] != "policy/gate.sh" {
		t.Errorf("%+v, asked %q", m, asked)
	}
	answer = Answer{No: true, Text: "leave it"}
	testkit.Must(t, s.Recover(t.Context()))
	s.work()
	if m := s.merges()[3]; m.State != tasks.MergeReturned || !strings.Contains(m.Reason, "leave it") {
		t.Errorf("%+v", m)
	}
	answer = Answer{Yes: true}
	// What was refused comes in with no later work of its author, but with what repairs it.
	fix := mustTask(t, s, s.lastFix())
	s.does("ben", "echo more >z2")
	s.work()
	if m := s.merges()[4]; m.State != tasks.MergeHeld || !strings.Contains(m.Reason, "it builds on work that was sent back: task 4 (") {
		t.Errorf("%+v", m)
	}
	testkit.Shell(t, s.copies["ben"].Top, "echo better >z")
	s.harvest("ben", *fix)
	s.work()
	s.want("merged merged merged merged merged merged")
	if s.on("main", "policy/gate.sh") != "x\n" {
		t.Error("it was allowed, and is not there")
	}
}

func TestPullRequest(t *testing.T) {
	t.Parallel()
	s := newShop(t, "echo 1 >a", "ana")
	s.spec.Merge.Via = configs.ViaPR
	s.does("ana", "echo ana >x")
	testkit.Must(t, s.Store.Verdicts().Add(t.Context(), requests.Verdict{
		VerdictKey: requests.VerdictKey{Tree: "t", Gate: "g", Subject: "1"}, Command: "go test secret | tail", Pass: true,
	}))
	s.work()
	s.want("ready")
	if s.on("main", "x") != "(nothing)" {
		t.Error("the branch was moved")
	}
	p := PullOf(s.Papers, s.merges()[0])
	title, err := os.ReadFile(p.Title)
	testkit.Must(t, err)
	body, err := os.ReadFile(p.Body)
	testkit.Must(t, err)
	if string(title) != "task 1: echo ana >x\n" || !strings.Contains(string(body), "| `go test *** \\| tail` | agrees |") {
		t.Errorf("%s\n%s", title, body)
	}
	if got := strings.Join(p.Open, " "); !strings.Contains(got, "--base main --head covey/crew/task_1") {
		t.Error(got)
	}
	// Somebody merges it elsewhere.
	testkit.Shell(t, s.Repo.Top, "git merge -q covey/crew/task_1")
	s.does("ana", "echo more >y")
	s.work()
	s.want("merged ready")
}

func TestOneBranchPerMember(t *testing.T) {
	t.Parallel()
	s := newShop(t, "echo 1 >a", "ana")
	s.spec.Merge.Per, s.spec.Merge.Given = configs.PerMember, false
	s.does("ana", "echo 1 >x")
	s.does("ana", "echo 2 >y")
	s.work()
	s.want("waiting")
	m := s.merges()[0]
	if m.Branch != "covey/crew/ana" || strings.Join(m.Tasks, " ") != "1 2" {
		t.Errorf("%+v", m)
	}
	testkit.Shell(t, s.copies["ana"].Top, "echo loose >z")
	_, err := s.Harvest(t.Context(), Work{Member: "ana", Copy: s.copies["ana"]}, true)
	testkit.Must(t, err)
	s.work()
	s.want("merged")
	if s.on("main", "x")+s.on("main", "y")+s.on("main", "z") != "1\n2\nloose\n" {
		t.Error("main lacks some of it")
	}
	if _, err := s.Repo.Commit(t.Context(), "covey/crew/ana"); err != nil {
		t.Error("the branch that she works on is gone")
	}
}

// A crash may come between any two steps; whoever is started next finds out.
func TestCrashAtEachStep(t *testing.T) {
	t.Parallel()
	for _, at := range []tasks.MergeState{tasks.MergeQueued, tasks.MergeTesting, tasks.MergeLanding} {
		for _, landed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, moved %v", at, landed), func(t *testing.T) {
				s := newShop(t, "echo 1 >a", "ana")
				s.does("ana", "echo ana >x")
				m, ctx := s.merges()[0], t.Context()
				base := testkit.Shell(t, s.Repo.Top, "git rev-parse main")
				o, err := s.foresee(ctx, m, base, base)
				testkit.Must(t, err)
				m.Base = base
				m.Result, err = s.Repo.CommitTree(ctx, worktree.Commit{Tree: o.Tree, Parents: []string{base, m.Commit}, Message: "m"})
				testkit.Must(t, err)
				for _, state := range []tasks.MergeState{tasks.MergeTesting, tasks.MergeLanding} {
					if at != tasks.MergeQueued && m.State != at {
						m, err = s.set(ctx, m, state, "")
						testkit.Must(t, err)
					}
				}
				if landed {
					testkit.Must(t, s.advance(ctx, m))
				}
				testkit.Must(t, s.Recover(ctx))
				s.work()
				s.want("merged")
				if got := testkit.Shell(t, s.Repo.Top, "cat x; git status --porcelain; git rev-list --count --merges main"); got != "ana\n1" {
					t.Errorf("%s", got)
				}
			})
		}
	}
}

// The scratch copy is as a crash may have left it.
func TestScratchIsMadeAnew(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]string{
		"gone":          "rm -rf $S",
		"a file":        "rm -rf $S; echo x >$S",
		"no copy":       "rm -rf $S; mkdir $S; echo x >$S/x",
		"a locked one":  "touch $S/.git/index.lock",
		"without index": "rm $S/.git/index",
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, "echo 1 >a", "ana")
			var prepared int
			s.Prepare = func(context.Context, string) error { prepared++; return nil }
			s.does("ana", "echo 1 >x")
			s.work()
			testkit.Shell(t, testkit.Folder(t), strings.ReplaceAll(spoil, "$S", "'"+s.Scratch+"'"))
			s.does("ana", "echo 2 >x")
			s.work()
			s.want("merged merged")
			if len(s.tested) != 2 || prepared == 0 {
				t.Errorf("tested %d times, prepared %d times", len(s.tested), prepared)
			}
		})
	}
}

func TestPrepareFails(t *testing.T) {
	t.Parallel()
	s := newShop(t, "echo 1 >a", "ana")
	s.Prepare = func(context.Context, string) error { return errors.New("npm is not there") }
	s.does("ana", "echo 1 >x")
	s.work()
	s.want("held")
	if m := s.merges()[0]; !strings.Contains(m.Reason, "npm is not there") {
		t.Errorf("%+v", m)
	}
	if _, err := os.Stat(s.Scratch); err == nil {
		t.Error("half a copy was left")
	}
}

// Two processes would be stopped by the team's lock; two callers take turns.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t, "echo 1 >a", "ana", "ben")
	s.does("ana", "echo 1 >x")
	s.does("ben", "echo 2 >y")
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if err := s.Work(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	s.want("merged merged")
	if len(s.tested) != 2 {
		t.Errorf("tested %d times", len(s.tested))
	}
}

// Aborted work stays in the queue, whatever it was about.
func TestQueueIsCutOff(t *testing.T) {
	t.Parallel()
	s := newShop(t, "echo 1 >a", "ana")
	ctx, cancel := context.WithCancel(t.Context())
	gates := s.Gates
	s.Gates = func(ctx context.Context, tr Trial) (string, error) {
		cancel()
		return "", ctx.Err()
	}
	s.does("ana", "echo 1 >x")
	if err := s.Work(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	s.want("testing")
	s.Gates = gates
	testkit.Must(t, s.Recover(t.Context()))
	s.work()
	s.want("merged")
}

// freshen updates the copy of a member.
func (s *shop) freshen(member string, more ...string) (bool, error) {
	s.t.Helper()
	copy := s.copies[member]
	head, err := copy.Head(s.t.Context())
	testkit.Must(s.t, err)
	return s.Freshen(s.t.Context(), copy, head, more...)
}

func TestFreshen(t *testing.T) {
	t.Parallel()
	s := newShop(t, "echo 1 >a", "ana", "ben")
	s.does("ana", "echo ana >x")
	s.work()
	fresh := func(member string) bool {
		t.Helper()
		came, err := s.freshen(member)
		testkit.Must(t, err)
		return came
	}
	ben := s.copies["ben"].Top
	testkit.Shell(t, ben, "echo loose >y")
	if fresh("ben") {
		t.Error("a copy with work in it was changed")
	}
	testkit.Shell(t, ben, "git add y; git commit -qm y")
	if !fresh("ben") || testkit.Shell(t, ben, "cat x y; git status --porcelain") != "ana\nloose" {
		t.Error("merged work has not come")
	}
	if fresh("ben") {
		t.Error("something came though there was nothing")
	}
	s.does("ana", "echo ana >a")
	s.work()
	testkit.Shell(t, ben, "echo ben >a; git commit -qam a")
	if before := testkit.Shell(t, ben, "git rev-parse HEAD"); fresh("ben") || testkit.Shell(t, ben, "git rev-parse HEAD; cat a") != before+"\nben" {
		t.Error("a conflict was begun in somebody's copy")
	}
}

func TestFreshenForATask(t *testing.T) {
	t.Parallel()
	s := newShop(t, "echo 1 >a", "ana", "ben")
	s.spec.Merge.Given = false
	m := s.does("ana", "echo ana >x")
	came, err := s.freshen("ben", m.Commit)
	testkit.Must(t, err)
	if !came || testkit.Shell(t, s.copies["ben"].Top, "cat x; git status --porcelain") != "ana" {
		t.Error("the work that a task builds upon has not come")
	}
	if came, err = s.freshen("ben", m.Commit); came || err != nil {
		t.Errorf("once more: %v, %v", came, err)
	}
	if _, err := s.freshen("ben", "nowhere"); err == nil {
		t.Error("a commit that is not there came")
	}
}

// All work needs approval: what is answered is done, and nothing twice.
func TestApproval(t *testing.T) {
	t.Parallel()
	s := newShop(t, "echo 1 >a", "ana")
	s.spec.Merge.Gates = []hooks.Handler{{Approver: "lead"}}
	yes := map[string]bool{}
	s.Ask = func(_ context.Context, m tasks.Merge, _ []string, _ []tasks.Merge) (Answer, error) {
		return Answer{ID: "q" + m.ID, Yes: yes[m.ID]}, nil
	}
	s.does("ana", "echo 1 >x")
	s.does("ana", "echo 2 >y")
	s.work()
	s.want("held held")
	yes["1"] = true
	testkit.Must(t, s.Decide(t.Context(), Answer{ID: "q1", Yes: true}))
	no := Answer{ID: "q2", No: true, Merge: "2", Commit: s.merges()[1].Commit, Text: "y is wrong"}
	testkit.Must(t, s.Decide(t.Context(), no))
	no.Text = "said twice"
	testkit.Must(t, s.Decide(t.Context(), no))
	s.work()
	s.want("merged returned")
	if m := s.merges()[1]; !strings.Contains(m.Reason, "y is wrong") || m.Round != 1 || m.Fix == "" {
		t.Errorf("%+v", m)
	}
}

func TestMergeOnRequest(t *testing.T) {
	t.Parallel()
	s := newShop(t, "echo 1 >a", "ana", "ben")
	s.spec.Merge.Given = false
	s.does("ana", "echo 1 >x")
	s.does("ben", "echo 2 >y")
	s.work()
	s.want("waiting waiting")
	got, err := s.Request(t.Context(), "operator", false, func(m tasks.Merge) bool { return m.Member == "ben" })
	testkit.Must(t, err)
	s.work()
	s.want("waiting merged")
	if len(got) != 1 || got[0].By != "operator" || s.on("main", "x") != "(nothing)" {
		t.Errorf("%+v", got)
	}
}

// With --fresh tasks get the same ids again, and so their branches the same names.
func TestForgottenWorkIsRescued(t *testing.T) {
	t.Parallel()
	s := newShop(t, "echo 1 >a", "ana")
	s.spec.Merge.Given = false
	old := s.does("ana", "echo old >x")
	testkit.Shell(t, s.copies["ana"].Top, "git reset -q --hard main")
	s.Store = newStore(t)
	now := s.does("ana", "echo new >y")
	if now.Branch != old.Branch || s.on(now.Branch, "y") != "new\n" {
		t.Errorf("%+v", now)
	}
	kept := testkit.Shell(t, s.Repo.Top, "git for-each-ref --format='%(objectname)' refs/covey/rescue/crew/task_1")
	if kept != old.Commit {
		t.Errorf("rescued: %q, want %s", kept, old.Commit)
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	s := newShop(t, "echo 1 >a", "ana")
	testkit.Shell(t, s.Repo.Top, "git checkout -q --detach")
	if _, err := s.Target(t.Context()); err == nil || !strings.Contains(err.Error(), "merge: {into: main}") {
		t.Errorf("error %v", err)
	}
	s.spec.Merge.Into = "nowhere"
	testkit.Shell(t, s.copies["ana"].Top, "echo 1 >x")
	if _, err := s.Harvest(t.Context(), Work{Member: "ana", Copy: s.copies["ana"]}, true); err == nil {
		t.Error("work for a branch that is not there was taken")
	}
}

// Fifty in the long run (COVEY_LONG=1).
func TestManyBranches(t *testing.T) {
	t.Parallel()
	many := 8
	if os.Getenv("COVEY_LONG") != "" {
		many = 50
	}
	s := newShop(t, "echo 1 >a", "ana", "ben")
	for i := range many {
		s.does([]string{"ana", "ben"}[i%2], fmt.Sprintf("echo %d >f%d", i, i))
	}
	s.work()
	if got := strings.Count(s.states(), "merged"); got != many || len(s.tested) != many {
		t.Errorf("%d merged, %d tested", got, len(s.tested))
	}
	if got := testkit.Shell(t, s.Repo.Top, "ls | wc -l; git status --porcelain"); strings.TrimSpace(got) != fmt.Sprint(many+1) {
		t.Errorf("%s files", got)
	}
}
