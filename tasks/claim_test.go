package tasks

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coveyteam/covey/tasks/actors"
)

func TestClaim(t *testing.T) {
	s := open(t, nil)
	add(t, s, New{Subject: "first"})
	drain(t, s)
	task := claim(t, s, "1", "ann")
	if task.Owner != "ann" || task.Status != InProgress || task.Epoch != 1 || task.Version != 2 {
		t.Errorf("claimed %+v", task)
	}
	again := claim(t, s, "1", "ann")
	if again.Epoch != 1 || again.Version != 2 {
		t.Errorf("claimed again: %+v", again)
	}
	_, err := s.Claim(t.Context(), as("bob"), "1", Claim{})
	wantError(t, err, ErrOwned, "ann")
	wantList(t, "events", told(t, drain(t, s)), []string{"claimed 1 by ann"})
	wantList(t, "mail to oneself", unread(t, s, "ann"), []string{})
	setStatus(t, s, "1", Completed)
	_, err = s.Claim(t.Context(), as("bob"), "1", Claim{})
	wantError(t, err, ErrDone)
	for _, id := range []string{"2", "0", "01", "+1", " 1", "", "-1", "x", "18446744073709551616"} {
		_, err = s.Claim(t.Context(), as("bob"), id, Claim{})
		wantError(t, err, ErrNotFound)
	}
	_, err = s.Claim(t.Context(), actors.Actor{}, "1", Claim{})
	wantError(t, err, ErrInvalid, "member to claim for")
}

func TestClaimForSomebody(t *testing.T) {
	s := open(t, nil)
	add(t, s, New{Subject: "first"})
	task, err := s.Claim(t.Context(), as("operator"), "1", Claim{Member: "ann"})
	if ok(t, task, err).Owner != "ann" {
		t.Errorf("owner %q", task.Owner)
	}
	wantList(t, "mail", unread(t, s, "ann"), []string{"task_assignment operator: Task 1 is yours: first"})
}

func TestClaimLimitAndBlockers(t *testing.T) {
	s := open(t, nil)
	for range 3 {
		add(t, s, New{})
	}
	add(t, s, New{BlockedBy: []string{"1", "3"}})
	claim(t, s, "1", "ann")
	_, err := s.Claim(t.Context(), as("ann"), "2", Claim{Max: 1})
	wantError(t, err, ErrBusy, "ann has task 1 already (limit 1)")
	_, err = s.Claim(t.Context(), as("ann"), "4", Claim{})
	wantError(t, err, ErrBlocked, "tasks 1, 3")
	task, err := s.Claim(t.Context(), as("ann"), "2", Claim{Max: 2})
	ok(t, task, err)
	list, err := s.InProgress(t.Context(), "ann")
	wantList(t, "in progress", ids(ok(t, list, err)), []string{"1", "2"})
}

func TestListsAreInNumericOrder(t *testing.T) {
	s := open(t, nil)
	var want []string
	for i := range 12 {
		add(t, s, New{Owner: "ann"})
		want = append(want, fmt.Sprint(i+1))
	}
	for _, id := range []string{"11", "2", "10"} {
		claim(t, s, id, "ann")
	}
	list, err := s.List(t.Context())
	wantList(t, "list", ids(ok(t, list, err)), want)
	list, err = s.Owned(t.Context(), "ann")
	wantList(t, "owned", ids(ok(t, list, err)), want)
	list, err = s.InProgress(t.Context(), "ann")
	wantList(t, "in progress", ids(ok(t, list, err)), []string{"2", "10", "11"})
	list, err = s.InProgress(t.Context(), "an")
	wantList(t, "a name that is a prefix", ids(ok(t, list, err)), []string{})
}

// races is how often TestClaimRace races; a night's worth is 10,000.
var races = flag.Int("races", 15, "how many rounds TestClaimRace has")

// TestClaimRace (ADVERSARIAL 22): of 64 members that claim the same task at once, one gets it;
// again and again, with tasks that are given back in between.
func TestClaimRace(t *testing.T) {
	const claimants = 64
	s := open(t, nil)
	for round := range *races {
		id := add(t, s, New{}).ID
		var winners, refused atomic.Int32
		var owner atomic.Value
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range claimants {
			name := fmt.Sprint("member-", i)
			wg.Go(func() {
				<-start
				task, err := s.Claim(context.Background(), as(name), id, Claim{Max: 1})
				switch {
				case err == nil && task.Owner == name && task.Epoch == 1:
					winners.Add(1)
					owner.Store(name)
				case errors.Is(err, ErrOwned), errors.Is(err, ErrBusy):
					refused.Add(1)
				default:
					t.Errorf("round %d: %+v, %v", round, task, err)
				}
			})
		}
		close(start)
		wg.Wait()
		if winners.Load() != 1 || refused.Load() != claimants-1 {
			t.Fatalf("round %d: %d winners, %d refused", round, winners.Load(), refused.Load())
		}
		if have := get(t, s, id).Owner; have != owner.Load() {
			t.Fatalf("round %d: owner %s, the winner was %s", round, have, owner.Load())
		}
		setStatus(t, s, id, Completed)
	}
}

// TestScramble: members that claim what they find ready share out many tasks
// without taking one twice, and respect their limit.
func TestScramble(t *testing.T) {
	const members, tasks = 16, 80
	s := open(t, nil)
	for i := range tasks {
		n := New{Subject: "s"}
		if i >= 10 {
			n.BlockedBy = []string{fmt.Sprint(i - 9), fmt.Sprint(i - 4)}
		}
		add(t, s, n)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var done sync.Map
	var left atomic.Int32
	left.Store(tasks)
	var wg sync.WaitGroup
	for i := range members {
		name := fmt.Sprint("member-", i)
		wg.Go(func() {
			for left.Load() > 0 && ctx.Err() == nil {
				if !workOn(t, s, name, &done) {
					continue
				}
				left.Add(-1)
			}
		})
	}
	wg.Wait()
	for i := range tasks {
		if _, there := done.Load(fmt.Sprint(i + 1)); !there {
			t.Errorf("task %d was done by nobody", i+1)
		}
	}
}

// workOn claims and completes one ready task, if there is one to be had.
func workOn(t *testing.T, s *Store, name string, done *sync.Map) bool {
	list, err := s.Ready(context.Background())
	if err != nil {
		t.Error(err)
	}
	for _, task := range list {
		claimed, err := s.Claim(context.Background(), as(name), task.ID, Claim{Max: 1})
		if err != nil {
			continue
		}
		for _, b := range claimed.BlockedBy {
			if _, there := done.Load(b); !there {
				t.Errorf("%s began before %s was done", task.ID, b)
			}
		}
		if other, twice := done.LoadOrStore(task.ID, name); twice {
			t.Errorf("%s was claimed by %s and %s", task.ID, other, name)
		}
		p := Patch{Status: ptr(Completed), Version: claimed.Version, Epoch: claimed.Epoch}
		if _, _, err := s.Update(context.Background(), as(name), task.ID, p); err != nil {
			t.Errorf("complete %s: %v", task.ID, err)
		}
		return true
	}
	return false
}

func TestRelease(t *testing.T) {
	s := open(t, nil)
	for range 3 {
		add(t, s, New{})
	}
	add(t, s, New{Owner: "ann"})
	claim(t, s, "1", "ann")
	claim(t, s, "2", "bob")
	claim(t, s, "3", "ann")
	drain(t, s)
	list, err := s.Release(t.Context(), actors.Actor{}, "ann", "it did not come back")
	wantList(t, "released", ids(ok(t, list, err)), []string{"1", "3"})
	for _, task := range list {
		if task.Status != Pending || task.Owner != "" || task.Epoch != 2 {
			t.Errorf("released %+v", task)
		}
	}
	wantList(t, "ready", readyIDs(t, s), []string{"1", "3"})
	owned, err := s.Owned(t.Context(), "ann")
	wantList(t, "still ann's", ids(ok(t, owned, err)), []string{"4"})
	events := drain(t, s)
	wantList(t, "events", told(t, events), []string{"released 1 by ", "released 3 by "})
	if c := events[0].Data.(Change); c.Reason != "it did not come back" {
		t.Errorf("reason %q", c.Reason)
	}
	list, err = s.Release(t.Context(), actors.Actor{}, "nobody", "")
	if err != nil || list != nil {
		t.Errorf("nothing to release: %v, %v", list, err)
	}
	_, _, err = s.Update(t.Context(), as("ann"), "1", Patch{Epoch: 1, Status: ptr(Completed)})
	wantError(t, err, ErrStale, "epoch 2")
}

func TestRefuse(t *testing.T) {
	s := open(t, nil)
	add(t, s, New{})
	before := claim(t, s, "1", "ann")
	drain(t, s)
	if err := s.Refuse(t.Context(), as("ann"), "1", "tests fail"); err != nil {
		t.Fatal(err)
	}
	if after := get(t, s, "1"); after.Status != InProgress || after.Version != before.Version {
		t.Errorf("refused: %+v", after)
	}
	events := drain(t, s)
	wantList(t, "events", told(t, events), []string{"refused 1 by ann"})
	if c := events[0].Data.(Change); c.Reason != "tests fail" || c.Task.Status != InProgress {
		t.Errorf("told %+v", c)
	}
	wantError(t, s.Refuse(t.Context(), as("ann"), "9", ""), ErrNotFound)
}

func TestDelete(t *testing.T) {
	s := open(t, nil)
	add(t, s, New{})
	add(t, s, New{BlockedBy: []string{"1"}, Owner: "bob", Subject: "second"})
	add(t, s, New{BlockedBy: []string{"2", "1"}})
	add(t, s, New{BlockedBy: []string{"1"}})
	claim(t, s, "1", "ann")
	drain(t, s)
	task, err := s.Delete(t.Context(), as("lead"), "1", nil)
	wantList(t, "as it was", append(ok(t, task, err).Blocks, string(task.Status)), []string{"2", "3", "4", "in_progress"})
	wantList(t, "task 3 waits", get(t, s, "3").BlockedBy, []string{"2"})
	wantList(t, "ready", readyIDs(t, s), []string{"4"})
	wantList(t, "events", told(t, drain(t, s)), []string{"deleted 1 by lead", "task_lost lead>ann", "task_assignment lead>bob",
		"updated 2 by lead", "updated 3 by lead", "updated 4 by lead"})
	if mail := unread(t, s, "bob"); mail[len(mail)-1] != "task_assignment lead: Task 2 is ready for you: second" {
		t.Errorf("mail %q", mail)
	}
	_, err = s.Task(t.Context(), "1")
	wantError(t, err, ErrNotFound)
	_, err = s.Delete(t.Context(), as("lead"), "1", nil)
	wantError(t, err, ErrNotFound)
	_, err = s.Delete(t.Context(), as("lead"), "3", nil) // a task that waits
	ok(t, 0, err)
	wantList(t, "task 2 blocks", get(t, s, "2").Blocks, []string{})
	if id := add(t, s, New{}).ID; id != "5" {
		t.Errorf("the next id is %s", id)
	}
}
