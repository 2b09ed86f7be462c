package tasks

import (
	"context"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/coveyteam/covey/tasks/actors"
)

// heldStore is a store whose first commit says that it has begun, and goes on once leave is
// closed: its disk hangs until then.
func heldStore(t *testing.T) (s *Store, entered <-chan struct{}, leave chan<- struct{}) {
	t.Helper()
	begun, goOn := make(chan struct{}), make(chan struct{})
	held := false
	return open(t, &Options{commit: func(tx *bolt.Tx) error {
		if !held {
			held = true
			close(begun)
			<-goOn
		}
		return tx.Commit()
	}}), begun, goOn
}

// handDeadline is a context whose deadline passes when over is closed.
type handDeadline struct {
	context.Context
	over chan struct{}
}

func (d handDeadline) Done() <-chan struct{} { return d.over }

func (d handDeadline) Err() error {
	select {
	case <-d.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// TestDeadlineOfACaller: a caller that has only so much time is told that its change may
// still happen, and finds out from the receipt: the disk may hang.
func TestDeadlineOfACaller(t *testing.T) {
	s, entered, leave := heldStore(t)
	ctx := handDeadline{t.Context(), make(chan struct{})}
	result := make(chan error, 1)
	go func() {
		_, err := s.Add(ctx, actors.Actor{Name: "ann", CallID: "c"}, []New{{Subject: "s"}})
		result <- err
	}()
	<-entered
	close(ctx.over)
	wantError(t, <-result, context.DeadlineExceeded, "may still happen")
	close(leave)
	if err := s.Put(t.Context(), "a", []byte("1")); err != nil { // comes after it
		t.Fatal(err)
	}
	r, found, err := s.Receipt(t.Context(), "ann", "c")
	if err != nil || !found || len(r.Tasks) != 1 {
		t.Errorf("receipt %+v, %v, %v: who asks again must learn that it happened", r, found, err)
	}
}

// TestCancelledCaller: a caller whose context is cancelled while its change is on its way to
// the disk is told what became of it; one whose context has ended before changes nothing.
func TestCancelledCaller(t *testing.T) {
	s, entered, leave := heldStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() {
		_, err := s.Add(ctx, actors.Actor{Name: "ann", CallID: "c"}, []New{{Subject: "s"}})
		result <- err
	}()
	<-entered
	cancel()
	select {
	case err := <-result:
		t.Fatalf("it was told %v before the commit", err)
	default:
	}
	close(leave)
	if err := <-result; err != nil {
		t.Errorf("the change is on the disk, and its caller was told %v", err)
	}
	if err := s.Put(t.Context(), "a", []byte("1")); err != nil { // comes after it
		t.Fatal(err)
	}
	r, found, err := s.Receipt(t.Context(), "ann", "c")
	if err != nil || !found || len(r.Tasks) != 1 {
		t.Errorf("receipt %+v, %v, %v: who asks again must learn that it happened", r, found, err)
	}
	_, err = s.Add(ctx, actors.Actor{}, []New{{Subject: "never"}})
	wantError(t, err, context.Canceled)
	list, err := s.List(t.Context())
	wantList(t, "tasks", ids(ok(t, list, err)), []string{"1"})
	_, err = s.List(ctx)
	wantError(t, err, context.Canceled)
}
