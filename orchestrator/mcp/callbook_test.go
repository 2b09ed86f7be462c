package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/teammate/agent"
)

// counting is a call that counts how often it runs, and ends when told to.
type counting struct {
	runs    atomic.Int32
	cut     atomic.Int32 // runs that were cut off
	release chan struct{}
}

func newCounting() *counting { return &counting{release: make(chan struct{})} }

func (c *counting) run(ctx context.Context) agent.ToolResult {
	n := c.runs.Add(1)
	select {
	case <-c.release:
		return agent.ToolResult{Content: fmt.Sprintf("run %d", n)}
	case <-ctx.Done():
		c.cut.Add(1)
		return agent.Failed("%v", context.Cause(ctx))
	}
}

func always() bool { return true }

// wantResult checks what a call came to.
func wantResult(t *testing.T, r agent.ToolResult, err error, want string) {
	t.Helper()
	if err != nil || r.Content != want {
		t.Errorf("got %q, %v; want %q", r.Content, err, want)
	}
}

func TestSlowCallIsFetchedByItsRepeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, c := newCallBook(answerWithin), newCounting()
		defer b.close()
		ask := request{key: "k", run: c.run, listens: always, queued: true}
		start := time.Now()
		if _, err := b.do(t.Context(), ask); !errors.Is(err, errPending) {
			t.Fatalf("a call that takes long gives %v", err)
		}
		if took := time.Since(start); took >= 45*time.Second {
			t.Errorf("the answer took %v", took)
		}
		if _, err := b.do(t.Context(), ask); !errors.Is(err, errPending) {
			t.Fatalf("its repeat, while it goes on, gives %v", err)
		}
		close(c.release)
		synctest.Wait()
		time.Sleep(keepResults - time.Second)
		r, err := b.do(t.Context(), ask)
		wantResult(t, r, err, "run 1")
		r, err = b.do(t.Context(), ask)
		wantResult(t, r, err, "run 2") // the first result was handed out: this is a new call
	})
}

func TestResultNobodyFetchesIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, c := newCallBook(answerWithin), newCounting()
		defer b.close()
		ask := request{key: "k", run: c.run, listens: always}
		if _, err := b.do(t.Context(), ask); !errors.Is(err, errPending) {
			t.Fatal(err)
		}
		close(c.release)
		time.Sleep(keepResults + time.Second)
		r, err := b.do(t.Context(), ask)
		wantResult(t, r, err, "run 2")
	})
}

func TestAnswerThatNobodyHeardWaits(t *testing.T) {
	for name, heard := range map[string]bool{"heard": true, "the turn was over": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, c := newCallBook(answerWithin), newCounting()
				defer b.close()
				close(c.release)
				ask := request{key: "k", run: c.run, listens: func() bool { return heard }}
				r, err := b.do(t.Context(), ask)
				wantResult(t, r, err, "run 1")
				ask.listens = always
				r, err = b.do(t.Context(), ask)
				wantResult(t, r, err, map[bool]string{true: "run 2", false: "run 1"}[heard])
			})
		})
	}
}

func TestNamedCallStaysTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, c := newCallBook(answerWithin), newCounting()
		defer b.close()
		close(c.release)
		ask := request{key: "k", named: true, run: c.run, listens: always}
		for range 3 {
			r, err := b.do(t.Context(), ask)
			wantResult(t, r, err, "run 1")
		}
	})
}

func TestCancelledCallThatHadBegunGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, c := newCallBook(answerWithin), newCounting()
		defer b.close()
		ask := request{key: "k", run: c.run, listens: always, queued: true}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			synctest.Wait()
			cancel()
		}()
		if _, err := b.do(ctx, ask); !errors.Is(err, context.Canceled) {
			t.Fatalf("a cancelled call gives %v", err)
		}
		close(c.release)
		r, err := b.do(t.Context(), ask)
		wantResult(t, r, err, "run 1")
		if c.cut.Load() != 0 {
			t.Error("the call was cut off in the middle")
		}
	})
}

func TestCancelledCallThatHadNotBegunNeverHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, first, second := newCallBook(answerWithin), newCounting(), newCounting()
		defer b.close()
		done := make(chan struct{})
		go func() {
			defer close(done)
			r, err := b.do(t.Context(), request{key: "1", run: first.run, listens: always, queued: true})
			wantResult(t, r, err, "run 1")
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			synctest.Wait()
			cancel()
		}()
		ask := request{key: "2", run: second.run, listens: always, queued: true}
		if _, err := b.do(ctx, ask); !errors.Is(err, context.Canceled) {
			t.Fatalf("a cancelled call gives %v", err)
		}
		close(first.release)
		<-done
		synctest.Wait()
		if n := second.runs.Load(); n != 0 {
			t.Errorf("a call that was withdrawn while it waited ran %d times", n)
		}
		close(second.release)
		r, err := b.do(t.Context(), ask)
		wantResult(t, r, err, "run 1")
	})
}

func TestQueuedCallsRunOneByOneAndOthersPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newCallBook(answerWithin)
		defer b.close()
		var now, most atomic.Int32
		slow := func(context.Context) agent.ToolResult {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second)
			now.Add(-1)
			return agent.ToolResult{Content: "slow"}
		}
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				r, err := b.do(t.Context(), request{key: fmt.Sprint(i), run: slow, listens: always, queued: true})
				wantResult(t, r, err, "slow")
			})
		}
		synctest.Wait()
		start := time.Now()
		quick := newCounting()
		close(quick.release)
		r, err := b.do(t.Context(), request{key: "mail", run: quick.run, listens: always})
		wantResult(t, r, err, "run 1")
		if took := time.Since(start); took != 0 {
			t.Errorf("what needs no gate waited %v for gates", took)
		}
		all.Wait()
		if most.Load() != 1 {
			t.Errorf("%d queued calls ran at once", most.Load())
		}
	})
}

func TestRepeatsAtTheSameTimeAreOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, c := newCallBook(answerWithin), newCounting()
		defer b.close()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				r, err := b.do(t.Context(), request{key: "k", run: c.run, listens: always})
				wantResult(t, r, err, "run 1")
			})
		}
		synctest.Wait()
		close(c.release)
		all.Wait()
	})
}

func TestBookIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, slow, quick := newCallBook(answerWithin), newCounting(), newCounting()
		close(quick.release)
		defer b.close()
		for i := range 3 * maxBooked { // results that stay: the oldest make room
			r, err := b.do(t.Context(), request{key: fmt.Sprint("q", i), named: true, run: quick.run,
				listens: always})
			wantResult(t, r, err, fmt.Sprint("run ", i+1))
			time.Sleep(time.Millisecond)
		}
		if n := len(b.calls); n > maxBooked {
			t.Errorf("%d results are kept, more than %d", n, maxBooked)
		}
		var all sync.WaitGroup
		for i := range maxBooked {
			all.Go(func() {
				if _, err := b.do(t.Context(), request{key: fmt.Sprint("s", i), run: slow.run,
					listens: always}); !errors.Is(err, errPending) {
					t.Errorf("slow call %d: %v", i, err)
				}
			})
			synctest.Wait()
		}
		_, err := b.do(t.Context(), request{key: "one more", run: slow.run, listens: always})
		if !errors.Is(err, errTooMany) {
			t.Errorf("with %d calls under way one more gives %v", maxBooked, err)
		}
		all.Wait()
	})
}

// Whatever is asked, repeated and cancelled in whatever order: nothing that has
// begun is cut off, queued calls never overlap, and a call runs again only after
// its result was handed out, or when it had been withdrawn.
func TestBookUnderAnyOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type ask struct {
			key                    string
			after, takes, patience time.Duration
			queued                 bool
		}
		seconds := func(most int, name string) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(rt, name)) * time.Second
		}
		asks := make([]ask, rapid.IntRange(1, 12).Draw(rt, "asks"))
		for i := range asks {
			asks[i] = ask{
				key: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "key"), after: seconds(100, "after"),
				takes: seconds(90, "takes"), patience: seconds(60, "patience") + time.Millisecond,
			}
			asks[i].queued = asks[i].key != "a"
		}
		synctest.Test(t, func(t *testing.T) {
			b := newCallBook(answerWithin)
			var mu sync.Mutex
			runs, handed, cut, busy := map[string]int{}, map[string]int{}, 0, 0
			var all sync.WaitGroup
			for _, a := range asks {
				all.Go(func() {
					time.Sleep(a.after)
					ctx, cancel := context.WithTimeout(t.Context(), a.patience)
					defer cancel()
					_, err := b.do(ctx, request{key: a.key, queued: a.queued, listens: always,
						run: func(ctx context.Context) agent.ToolResult {
							mu.Lock()
							runs[a.key]++
							if a.queued {
								busy++
							}
							if busy > 1 {
								t.Error("two queued calls run at once")
							}
							mu.Unlock()
							select {
							case <-time.After(a.takes):
							case <-ctx.Done():
							}
							mu.Lock()
							defer mu.Unlock()
							if ctx.Err() != nil {
								cut++
							}
							if a.queued {
								busy--
							}
							return agent.ToolResult{Content: "done"}
						}})
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						handed[a.key]++
					}
				})
			}
			all.Wait()
			time.Sleep(5 * time.Minute) // what nobody waits for comes to its end
			mu.Lock()
			for key, n := range runs {
				if n > handed[key]+1 {
					t.Errorf("%s ran %d times and was answered %d times", key, n, handed[key])
				}
			}
			if cut > 0 {
				t.Errorf("%d calls were cut off", cut)
			}
			mu.Unlock()
			b.close()
		})
	})
}

func TestCloseCutsOffWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, c := newCallBook(answerWithin), newCounting()
		result := make(chan agent.ToolResult, 1)
		go func() {
			r, err := b.do(t.Context(), request{key: "k", run: c.run, listens: always})
			if err != nil {
				t.Error(err)
			}
			result <- r
		}()
		synctest.Wait()
		b.close()
		b.close()
		if r := <-result; !r.IsError || !strings.Contains(r.Content, errEnding.Error()) {
			t.Errorf("the call that was cut off says %+v", r)
		}
		if _, err := b.do(t.Context(), request{key: "k", run: c.run, listens: always}); !errors.Is(err, errEnding) {
			t.Errorf("after the end a call gives %v", err)
		}
	})
}

func TestPanicInAToolIsItsResult(t *testing.T) {
	b := newCallBook(time.Minute)
	defer b.close()
	r, err := b.do(t.Context(), request{key: "k", listens: always, queued: true,
		run: func(context.Context) agent.ToolResult { panic("oh") }})
	if err != nil || !r.IsError || !strings.Contains(r.Content, "oh") {
		t.Errorf("got %+v, %v", r, err)
	}
	r, err = b.do(t.Context(), request{key: "l", listens: always, queued: true,
		run: func(context.Context) agent.ToolResult { return agent.ToolResult{Content: "fine"} }})
	wantResult(t, r, err, "fine")
}

func TestCallKey(t *testing.T) {
	key := func(tool, input, name string) string {
		return callKey(api.TeamCall{Tool: tool, Input: []byte(input), Request: name})
	}
	same := key(teamtools.UpdateTool, `{"taskId":"1","status":"completed","n":12345678901234567890}`, "")
	if got := key(teamtools.UpdateTool, ` {"n": 12345678901234567890, "status":"completed", "taskId":"1"}`, ""); got != same {
		t.Error("the order of the fields and space make another call")
	}
	for name, other := range map[string]string{
		"tool":      key(teamtools.ClaimTool, `{"taskId":"1","status":"completed","n":12345678901234567890}`, ""),
		"arguments": key(teamtools.UpdateTool, `{"taskId":"2","status":"completed","n":12345678901234567890}`, ""),
		"digits":    key(teamtools.UpdateTool, `{"taskId":"1","status":"completed","n":12345678901234567891}`, ""),
		"name":      key(teamtools.UpdateTool, `{"taskId":"1","status":"completed","n":12345678901234567890}`, "r1"),
	} {
		if other == same {
			t.Errorf("calls that differ in the %s have the same key", name)
		}
	}
}
