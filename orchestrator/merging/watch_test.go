package merging

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// lookout is a Watch of a shop whose questions are in its store.
type lookout struct {
	*shop
	told []events.TargetMoved
}

// newLookout watches a shop, as a covey does that begins to run.
func newLookout(t *testing.T, s *shop) *lookout {
	t.Helper()
	l := &lookout{shop: s}
	l.restart()
	testkit.Must(t, l.Watch.Checkout(t.Context(), true, false))
	l.counts()
	return l
}

// restart forgets what is not stored, as a kill does.
func (l *lookout) restart() {
	l.Watch = &Watch{
		Repo: l.Repo, Store: l.Store, Shares: func() bool { return false },
		Copies: func() map[string]string {
			tops := map[string]string{}
			for name, c := range l.copies {
				tops[name] = c.Top
			}
			return tops
		},
		Ask: func(ctx context.Context, m events.TargetMoved, again string) (requests.Request, error) {
			return l.Store.Requests().Ask(ctx, actors.Actor{Name: "lead"}, requests.New{
				Kind: requests.AskMerge, Member: cmp.Or(m.Member, "lead"), To: actors.Operator, Text: m.Text,
				Key: requests.KeyOf(m.Branch, m.From, m.To, again),
			})
		},
		Withdraw: func(ctx context.Context, id, why string) error {
			_, err := l.Store.Requests().Withdraw(ctx, actors.Actor{}, id, why)
			return err
		},
		Tell: func(m events.TargetMoved) { l.told = append(l.told, m) },
	}
	l.Watch.Identity = func(address string) string {
		name, ok := strings.CutSuffix(address, "@crew.covey.invalid")
		if !ok {
			return ""
		}
		return name
	}
}

// counts returns what counts as main, and the question that holds it.
func (l *lookout) counts() (commit, held string) {
	l.t.Helper()
	commit, held, err := l.Queue.counts(l.t.Context(), "main")
	testkit.Must(l.t, err)
	return commit, held
}

// answers closes a question as the operator and acts on it.
func (l *lookout) answers(id string, yes bool) {
	l.t.Helper()
	r, err := l.Store.Requests().Answer(l.t.Context(), actors.Actor{Name: actors.Operator}, id, requests.Ruling{Approve: yes})
	testkit.Must(l.t, err)
	testkit.Must(l.t, l.Watch.Answered(l.t.Context(), r))
	testkit.Must(l.t, l.Decide(l.t.Context(), Answer{ID: id, Yes: true}))
}

// ops are what was told since the last call.
func (l *lookout) ops() string {
	var ops []string
	for _, m := range l.told {
		ops = append(ops, m.Op)
	}
	l.told = nil
	return strings.Join(ops, " ")
}

func (l *lookout) main() string { return testkit.Shell(l.t, l.Repo.Top, "git rev-parse main") }

// TestTargetMovedByAMember: whatever way a member moves the target branch, it counts as it was, and
// nothing is merged, until the operator answers; also if covey was killed in between.
func TestTargetMovedByAMember(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"update-ref":    "git commit -qm direct --allow-empty; git -C $W fetch -q $PWD HEAD; git -C $W update-ref refs/heads/main FETCH_HEAD",
		"its identity":  "cd $W; GIT_COMMITTER_EMAIL=ana@crew.covey.invalid git commit -qm direct --allow-empty",
		"merged":        "echo x >x; git add x; git commit -qm direct; git -C $W fetch -q $PWD HEAD; cd $W; git merge -q --no-ff -m merged FETCH_HEAD",
		"with another":  "git commit -qm direct --allow-empty; git -C $W fetch -q $PWD HEAD; git -C $W update-ref refs/heads/main FETCH_HEAD; cd $W; git reset -q --hard; git commit -qm mine --allow-empty",
		"its script":    "cd $W; unset GIT_COMMITTER_EMAIL GIT_AUTHOR_EMAIL; git -c user.email=ana@crew.covey.invalid commit -qm direct --allow-empty",
		"plumbing":      "cd $W; git update-ref refs/heads/main $(git commit-tree main: -p main -m direct)",
		"brought in":    "cd $W; c=$(git commit-tree HEAD: -p HEAD -m direct); GIT_COMMITTER_EMAIL=ana@crew.covey.invalid git merge -q $c",
		"after a merge": "git merge -q main; git commit -qm direct --allow-empty; git -C $W fetch -q $PWD HEAD; git -C $W update-ref refs/heads/main FETCH_HEAD",
	} {
		for _, yes := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " ", yes), func(t *testing.T) {
				t.Parallel()
				l := newLookout(t, newShop(t, "echo 1 >a", "ana", "ben"))
				before := l.main()
				testkit.Shell(t, l.copies["ana"].Top, "W="+l.Repo.Top+"; "+script)
				moved := l.main()
				l.restart() // killed before it has looked
				l.does("ben", "echo ben >y")
				l.work()
				l.want("held")
				if commit, held := l.counts(); commit != before || held == "" || l.main() != moved {
					t.Errorf("what counts is %s (question %q), main is %s; it was %s and moved to %s", commit, held, l.main(), before, moved)
				}
				if got := l.ops(); got != events.MovedByMember {
					t.Errorf("told %q", got)
				}
				l.restart() // killed with the question open
				_, held := l.counts()
				if got := l.ops(); got != "" {
					t.Errorf("told again: %q", got)
				}
				l.answers(held, yes)
				l.work()
				l.want("merged")
				if in, err := l.Repo.Holds(t.Context(), "main", moved); err != nil || in != yes {
					t.Errorf("main contains the move: %v, %v", in, err)
				}
				want := events.MoveAccepted
				if !yes {
					want = events.MoveUndone
					if kept := testkit.Shell(t, l.Repo.Top, "git for-each-ref --format='%(objectname)' refs/covey/rescue"); kept != moved {
						t.Errorf("kept is %q", kept)
					}
				}
				if got := l.ops(); got != want || l.on("main", "y") != "ben\n" {
					t.Errorf("told %q", got)
				}
				if got := testkit.Shell(t, l.Repo.Top, "git status --porcelain --untracked-files=no"); got != "" && name != "update-ref" && name != "plumbing" && name != "after a merge" {
					t.Errorf("the checkout shows\n%s", got)
				}
			})
		}
	}
}

// TestTargetMovedByOthers: the operator's own commits are a line, also when a member has taken them
// into its copy before covey looks. The queue's own merges are nothing, also after a kill.
func TestTargetMovedByOthers(t *testing.T) {
	t.Parallel()
	l := newLookout(t, newShop(t, "echo 1 >a", "ana", "ben"))
	l.does("ana", "echo x >x")
	l.work()
	l.restart()
	if _, held := l.counts(); held != "" || l.ops() != "" {
		t.Errorf("the queue's own merge: %q, told %+v", held, l.told)
	}
	testkit.Shell(t, l.Repo.Top, "git commit -qm mine --allow-empty")
	for _, member := range []string{"ana", "ben"} {
		testkit.Must(t, l.Share(t.Context(), member))
	}
	testkit.Shell(t, l.copies["ana"].Top, "git merge -q --ff-only main")
	testkit.Shell(t, l.copies["ben"].Top, "git commit -qm his --allow-empty; git merge -qm joined main")
	l.does("ben", "echo y >y")
	l.work()
	l.want("merged merged")
	if got := l.ops(); got != events.MovedOutside {
		t.Errorf("told %q", got)
	}
	testkit.Shell(t, l.Repo.Top, "git reset -q --hard HEAD~1")
	if _, held := l.counts(); held != "" || l.ops() != events.MovedOutside {
		t.Errorf("a step back: %q", held)
	}

	// While no member ran, what was done in the operator's checkout is the operator's.
	testkit.Must(t, l.Watch.Checkout(t.Context(), false, true))
	testkit.Shell(t, l.copies["ana"].Top, "git commit -qm hers --allow-empty")
	testkit.Shell(t, l.Repo.Top, "git pull -q --no-rebase "+l.copies["ana"].Top+" HEAD")
	l.restart()
	if _, held := l.counts(); held != "" || l.ops() != events.MovedOutside {
		t.Errorf("a merge by hand: %q, told %+v", held, l.told)
	}
}

// TestMoveIsUndoneByHand: a question about a move that is no more is withdrawn.
func TestMoveIsUndoneByHand(t *testing.T) {
	t.Parallel()
	l := newLookout(t, newShop(t, "echo 1 >a", "ana"))
	before := l.main()
	testkit.Shell(t, l.copies["ana"].Top, "git commit -qm direct --allow-empty; W="+l.Repo.Top+"; git -C $W fetch -q $PWD HEAD; git -C $W update-ref refs/heads/main FETCH_HEAD")
	_, held := l.counts()
	testkit.Shell(t, l.Repo.Top, "git update-ref refs/heads/main "+before)
	if _, again := l.counts(); held == "" || again != "" || l.ops() != events.MovedByMember+" "+events.MoveUndone {
		t.Errorf("held by %q, then by %q", held, again)
	}
	r, err := l.Store.Requests().Get(t.Context(), held)
	if err != nil || r.State != requests.Withdrawn {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestUndoIsInTheWay: what cannot be undone without losing the operator's changes stays, and is asked
// about again.
func TestUndoIsInTheWay(t *testing.T) {
	t.Parallel()
	l := newLookout(t, newShop(t, "echo 1 >a", "ana"))
	testkit.Shell(t, l.copies["ana"].Top, "echo 2 >a; git commit -qam direct; C=$PWD; cd "+l.Repo.Top+"; git fetch -q $C HEAD; git merge -q --ff-only FETCH_HEAD; echo mine >a")
	moved := l.main()
	_, held := l.counts()
	l.answers(held, false)
	_, again := l.counts()
	if l.main() != moved || again == "" || again == held || testkit.Shell(t, l.Repo.Top, "cat a") != "mine" {
		t.Errorf("main is %s, held by %q after %q", l.main(), again, held)
	}
	testkit.Shell(t, l.Repo.Top, "git checkout -q a")
	l.answers(again, false)
	if l.main() == moved || testkit.Shell(t, l.Repo.Top, "cat a; git status --porcelain") != "1" {
		t.Errorf("main is %s", l.main())
	}
}

// TestCheckoutIsWatched: on which branch the operator's checkout is, and what is uncommitted there;
// detached, too. What the operator changes between two runs is no news.
func TestCheckoutIsWatched(t *testing.T) {
	t.Parallel()
	l := newLookout(t, newShop(t, "echo 1 >a", "ana"))
	look := func(begins, ends bool) string {
		l.told = nil
		testkit.Must(t, l.Watch.Checkout(t.Context(), begins, ends))
		var texts []string
		for _, m := range l.told {
			texts = append(texts, m.Text)
		}
		return strings.Join(texts, "; ")
	}
	head := l.main()[:10]
	testkit.Shell(t, l.Repo.Top, "git checkout -q -b elsewhere")
	l.restart()
	if got := look(true, false); got != "your checkout was switched from main to elsewhere" {
		t.Error(got)
	}
	testkit.Shell(t, l.Repo.Top, "git checkout -q --detach; echo 2 >a")
	if got := look(false, false); got != "your checkout was switched from elsewhere to "+head+", without a branch; "+
		"your checkout has other uncommitted changes than before; new: M a" {
		t.Error(got)
	}
	if got := look(false, true); got != "" {
		t.Error(got)
	}
	testkit.Shell(t, l.Repo.Top, "echo new >b; git checkout -q a")
	if got := look(true, false); got != "" {
		t.Error(got)
	}
}

// TestDeletedTargetIsNamed: a target that is gone is told once, with the command that restores it.
func TestDeletedTargetIsNamed(t *testing.T) {
	t.Parallel()
	l := newLookout(t, newShop(t, "echo 1 >a", "ana"))
	before := l.main()
	testkit.Shell(t, l.Repo.Top, "git update-ref -d refs/heads/main")
	command := "git update-ref refs/heads/main " + before
	for range 2 {
		if _, _, err := l.Queue.counts(t.Context(), "main"); err == nil || !strings.Contains(err.Error(), command) {
			t.Errorf("%v", err)
		}
		l.restart()
	}
	if len(l.told) != 1 || !strings.Contains(l.told[0].Text, command) {
		t.Errorf("told %+v", l.told)
	}
	testkit.Shell(t, l.Repo.Top, command)
	if commit, held := l.counts(); commit != before || held != "" {
		t.Errorf("%s, %q", commit, held)
	}
}

// TestOthersBringWork: what the operator brings into the target in its own ways is a line.
func TestOthersBringWork(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"a pull":            "git clone -q . ../theirs; git -C ../theirs commit -qm theirs --allow-empty; git pull -q ../theirs main",
		"a fetch":           "git checkout -q -b other; git clone -q . ../theirs; cd ../theirs; git checkout -q main; git commit -qm theirs --allow-empty; cd -; git remote add o ../theirs; git fetch -q o main:main",
		"a branch":          "git checkout -q -b other; git commit -qm mine --allow-empty; git branch -f main other",
		"another checkout":  "git worktree add -q ../hot; git -C ../hot commit -qm hot --allow-empty; git update-ref refs/heads/main hot",
		"a rebase, a reset": "git commit -qm 1 --allow-empty; git reset -q --hard HEAD~1; git commit -qm 2 --allow-empty; git commit -q --amend -m 3 --allow-empty",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLookout(t, newShop(t, "echo 1 >a", "ana"))
			testkit.Shell(t, l.Repo.Top, script)
			if _, held := l.counts(); held != "" || l.ops() != events.MovedOutside {
				t.Errorf("%q, told %+v", held, l.told)
			}
		})
	}
}

// TestGatesSeeAllFiles: what a member changes in .git so that gates do not see what is merged holds
// the merge, also in later runs, until it is undone or the operator accepts it.
func TestGatesSeeAllFiles(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]struct{ do, undo, names string }{
		"sparse": {
			`git config core.sparseCheckout true; mkdir -p .git/info; printf '/*\n!/bad\n' >.git/info/sparse-checkout`,
			`git config --unset core.sparseCheckout`, "core.sparsecheckout, info/sparse-checkout",
		},
		"attributes": {
			`mkdir -p .git/info; echo '* working-tree-encoding=UTF-16' >.git/info/attributes`, `rm .git/info/attributes`, "info/attributes",
		},
		"a file of attributes": {
			`echo '* -text' >.git/mine; git config core.attributesFile "$PWD/.git/mine"`,
			`git config --unset core.attributesFile`, "core.attributesFile, core.attributesfile",
		},
		"a filter":      {`git config filter.x.clean cat`, `git config --remove-section filter.x`, "filter.x.clean"},
		"ends of lines": {`git config core.autocrlf true`, `git config --unset core.autocrlf`, "core.autocrlf"},
	} {
		for _, accept := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", accept), func(t *testing.T) {
				t.Parallel()
				l := newLookout(t, newShop(t, "echo 1 >a", "ana"))
				testkit.Must(t, l.Watch.Begin(t.Context()))
				l.does("ana", "echo x >new")
				testkit.Shell(t, l.Repo.Top, how.do)
				l.work()
				l.want("held")
				if len(l.tested) > 0 || l.ops() != events.MovedByMember {
					t.Errorf("%d gates ran", len(l.tested))
				}
				l.restart() // the next run does not take it for the operator's
				testkit.Must(t, l.Watch.Begin(t.Context()))
				testkit.Must(t, l.Recover(t.Context()))
				l.work()
				l.want("held")
				held, err := l.Watch.held(t.Context())
				if err != nil || len(held) != 1 || !strings.HasSuffix(held[0].Text, ": "+how.names) {
					t.Fatalf("%+v, %v", held, err)
				}
				want := events.MoveAccepted
				if accept {
					l.answers(held[0].Asked, true)
				} else {
					want = events.MoveUndone
					l.answers(held[0].Asked, false) // covey cannot undo it, so it asks again
					l.work()
					l.want("held")
					testkit.Shell(t, l.Repo.Top, how.undo)
					testkit.Must(t, l.Recover(t.Context()))
				}
				l.work()
				l.want("merged")
				if got := l.ops(); !strings.HasSuffix(got, want) {
					t.Errorf("told %q", got)
				}
			})
		}
	}
}
