package merging

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// approvers is somebody who is asked about each piece of work on its own.
type approvers struct {
	answers map[string]Answer // by id of the work
	asked   []string          // "ID: files (with others)"
}

func (a *approvers) ask(_ context.Context, m tasks.Merge, files []string, others []tasks.Merge) (Answer, error) {
	with := ""
	for _, o := range others {
		with += " with " + o.ID
	}
	a.asked = append(a.asked, fmt.Sprintf("%s:%s%s", m.ID, strings.Join(files, " "), with))
	answer := a.answers[m.ID]
	answer.ID, answer.Merge, answer.Commit = "q"+m.ID, m.ID, m.Commit
	return answer, nil
}

// TestApprovalIsForOnePiece: later work of a member contains its earlier work. A yes to the later one
// merges nothing of the earlier one, which has a question of its own.
func TestApprovalIsForOnePiece(t *testing.T) {
	t.Parallel()
	s := newShop(t, "echo 1 >gate.sh", "ana", "ben")
	s.spec.Protect = []string{"gate.sh"}
	p := &approvers{answers: map[string]Answer{}}
	s.Ask = p.ask
	s.does("ana", "echo exit 0 >gate.sh")
	second := s.does("ana", "echo docs >docs.md")
	s.work()
	s.want("held held")
	if got := strings.Join(p.asked, ", "); got != "1:gate.sh, 1:gate.sh" {
		t.Errorf("asked %s", got)
	}
	if why := s.merges()[1].Reason; why != "it contains task 1, which waits for approval; covey inbox has the question" {
		t.Errorf("the second is held: %s", why)
	}
	// All views show what the merge brings.
	one, err := reviewOne(t.Context(), s.Queue, s.merges()[1])
	testkit.Must(t, err)
	if strings.Join(one.Changes, " ") != "docs.md gate.sh" || len(one.Brings) != 1 || one.Brings[0].ID != "1" ||
		strings.Join(one.Brings[0].Protected, " ") != "gate.sh" {
		t.Errorf("reviewed as %+v", one)
	}
	for _, r := range []api.Review{one, {Merge: s.merges()[1]}} {
		d, err := differ{Queue: s.Queue}.of(t.Context(), r)
		testkit.Must(t, err)
		if !strings.Contains(d.Text, "gate.sh") || !strings.Contains(d.Text, "docs.md") {
			t.Errorf("the differences are\n%s", d.Text)
		}
	}

	// The second is asked for by the operator: that is no yes to the first.
	_, err = s.Request(t.Context(), "operator", false, func(m tasks.Merge) bool { return m.ID == second.ID })
	testkit.Must(t, err)
	s.work()
	s.want("held held")
	if s.on("main", "docs.md") != "(nothing)" {
		t.Error("the second was merged")
	}

	// A yes to the first lets both in; nothing of the second was protected.
	p.answers["1"] = Answer{Yes: true}
	testkit.Must(t, s.Decide(t.Context(), Answer{ID: "q1", Yes: true, Merge: "1", Commit: s.merges()[0].Commit}))
	s.work()
	s.want("merged merged")
	// Merged work is shown as its merge brought it in.
	one, err = reviewOne(t.Context(), s.Queue, s.merges()[1])
	testkit.Must(t, err)
	d, err := differ{Queue: s.Queue}.of(t.Context(), one)
	testkit.Must(t, err)
	if len(one.Brings) != 0 || strings.Contains(d.Text, "gate.sh") || !strings.Contains(d.Text, "docs.md") {
		t.Errorf("merged work brings %v:\n%s", one.Brings, d.Text)
	}
}

// TestHintsOfBuiltOnWork: what is found in work that another piece builds on is a hint about that work, and no file of it counts as changed
// by the other piece; what that one undoes is no hint. Work between them that is marked stays so, because nobody has decided about it.
func TestHintsOfBuiltOnWork(t *testing.T) {
	t.Parallel()
	s := newShop(t, "echo 1 >x", "ana")
	s.does("ana", "printf 'cache = {}\n' >a.py; printf 'import a\n' >b.py")
	s.does("ana", "printf 'x = 600\n' >c.py")
	s.does("ana", "printf 'x = 10\n' >c.py; git rm -q a.py")
	for i, want := range []string{
		"calls-counted a.py",
		"brings! a.py b.py",
		"brings! c.py condition-changed c.py brings a.py b.py",
	} {
		one, err := reviewOne(t.Context(), s.Queue, s.merges()[i])
		testkit.Must(t, err)
		list, _ := s.hintsOf(t.Context(), one)
		var got []string
		for _, h := range list {
			kind := string(h.Kind)
			if h.Kind == "brings" && h.Mark {
				kind += "!"
			}
			got = append(got, kind)
			for _, p := range h.Places {
				got = append(got, p.File)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("piece %d has the hints %q, want %q:\n%v", i+1, strings.Join(got, " "), want, list)
		}
	}
}

// TestRefusedWorkIsInNoOther: after a no, later work waits, and what repairs the refused work is asked
// about with it. A no that comes after the merge makes the task to undo it, once.
func TestRefusedWorkIsInNoOther(t *testing.T) {
	t.Parallel()
	s := newShop(t, "echo 1 >gate.sh", "ana", "ben")
	s.spec.Merge.Gates = []hooks.Handler{{Approver: "lead"}}
	p := &approvers{answers: map[string]Answer{"2": {Yes: true}, "3": {Yes: true}}}
	s.Ask = p.ask
	s.does("ana", "echo exit 0 >gate.sh")
	s.does("ana", "echo docs >docs.md")
	s.work()
	s.want("held held")
	if !slices.Contains(p.asked, "2: with 1") {
		t.Errorf("asked %q", p.asked)
	}
	no := Answer{ID: "q1", No: true, Text: "not the gate", Merge: "1", Commit: s.merges()[0].Commit}
	testkit.Must(t, s.Decide(t.Context(), no))
	s.work()
	s.want("returned held")
	testkit.Must(t, s.Recover(t.Context()))
	s.work()
	s.want("returned held")
	if s.on("main", "docs.md") != "(nothing)" || !strings.Contains(s.merges()[1].Reason, "was sent back: task 1 (") {
		t.Errorf("the later work is %+v", s.merges()[1])
	}
	reply, err := reviewOf(t.Context(), s.Queue, state.Place{}, api.ReviewRequest{Task: "2"})
	testkit.Must(t, err)
	if list := hints.Words(reply.Reviews[0].Hints); !slices.Contains(list, "builds on returned work") {
		t.Errorf("the review of the later work marks %q", list)
	}
	p.asked = nil
	testkit.Shell(t, s.copies["ana"].Top, "echo 1 >gate.sh")
	s.harvest("ana", *mustTask(t, s, s.lastFix()))
	s.work()
	s.want("merged merged merged")
	if got := strings.Join(p.asked, ", "); got != "2:, 3: with 1 with 2" || s.on("main", "gate.sh") != "1\n" {
		t.Errorf("asked %s; the gate is %q", got, s.on("main", "gate.sh"))
	}

	late := s.merges()[1]
	for range 2 { // a crash came before the answer was taken
		testkit.Must(t, s.Decide(t.Context(), Answer{ID: "q2", No: true, Text: "no docs", Merge: late.ID, Commit: late.Commit}))
	}
	list, err := s.Store.List(t.Context())
	testkit.Must(t, err)
	list = slices.DeleteFunc(list, func(t tasks.Task) bool { return t.Subject != "Undo task 2, which was not approved" })
	if len(list) != 1 || list[0].Owner != "ana" || !strings.Contains(list[0].Description, "no docs") {
		t.Errorf("the tasks to undo it are %+v", list)
	}
}

// withdrawn records the questions that are withdrawn.
type withdrawn struct {
	Inbox
	ids []string
}

func (w *withdrawn) Withdraw(_ context.Context, id, _ string) error {
	w.ids = append(w.ids, id)
	return nil
}

// TestMootQuestionsAreWithdrawn: those about work that is merged or has another commit by now, and no
// others.
func TestMootQuestionsAreWithdrawn(t *testing.T) {
	t.Parallel()
	store, box := newStore(t), &withdrawn{}
	d := New(Deps{Store: store, Inbox: box})
	for i, p := range []inbox.Payload{
		{Merge: "1", Commit: "a"}, {Merge: "2", Commit: "b"}, {Merge: "3", Commit: "old"}, {Merge: "4", Commit: "d"}, {Moved: "main"}, {},
	} {
		_, err := store.Requests().Ask(t.Context(), actors.Actor{Name: "ana"}, requests.New{
			Kind: requests.AskMerge, Member: "ana", To: actors.Operator, Text: "?", Key: fmt.Sprint(i), Payload: texts.Encode(p),
		})
		testkit.Must(t, err)
	}
	testkit.Must(t, d.withdrawMoot(t.Context(), []tasks.Merge{
		{ID: "1", Commit: "a", State: tasks.MergeHeld}, {ID: "2", Commit: "b", State: tasks.MergeDone},
		{ID: "3", Commit: "new", State: tasks.MergeQueued},
	}))
	if got := strings.Join(box.ids, " "); got != "r2 r3 r4" {
		t.Errorf("withdrawn are %s", got)
	}
}
