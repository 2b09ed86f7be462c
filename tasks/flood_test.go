package tasks

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coveyteam/covey/tasks/mail"
)

// flood is how many messages TestFlood sends to somebody who never reads; the long
// run has 1000000.
var flood = flag.Int("flood", 20_000, "how many messages TestFlood sends")

// TestFlood (ADVERSARIAL 25): a mailbox that nobody reads takes 1,000 messages. Each
// one more is an error that says whose mailbox it is, and neither the file nor the
// memory grows by it.
func TestFlood(t *testing.T) {
	path := t.TempDir() + "/tasks.db"
	s := openAt(t, path, nil)
	var sent, refused atomic.Int64
	next := atomic.Int64{}
	var all sync.WaitGroup
	for w := range 64 {
		all.Go(func() {
			for next.Add(1) <= int64(*flood) {
				_, err := s.mail.Send(t.Context(), as(fmt.Sprint("w", w)), mail.Outgoing{To: []string{"idler"}, Text: "Are you there?"})
				switch {
				case err == nil:
					sent.Add(1)
				case errors.Is(err, ErrFull):
					refused.Add(1)
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if sent.Load() != 1_000 || refused.Load() != int64(*flood)-1_000 {
		t.Errorf("%d of %d were taken, %d refused", sent.Load(), *flood, refused.Load())
	}
	_, err := s.mail.Send(t.Context(), as("ann"), mail.Outgoing{To: []string{"idler"}, Text: "x"})
	wantError(t, err, ErrFull, "idler has 1000 unread messages", "wait until it reads them")
	_, err = s.mail.Send(t.Context(), as("ann"), mail.Outgoing{To: []string{"bob"}, Text: "x"})
	ok(t, 0, err) // others are reached
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	info, err := os.Stat(path)
	ok(t, info, err)
	t.Logf("%d messages: the heap has %d KiB, the file %d KiB", *flood, m.HeapAlloc>>10, info.Size()>>10)
	if m.HeapAlloc > 64<<20 || info.Size() > 32<<20 {
		t.Errorf("the heap has %d bytes, the file %d", m.HeapAlloc, info.Size())
	}
}
