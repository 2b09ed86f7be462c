package acp

import (
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
)

// What programs say again and again while they do not reach their model is told to
// people, once, and is no sign of life.
func TestRetryNoticesAreNoSignOfLife(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ words, told string }{
		"codex-acp 2.6": {`update {"sessionUpdate":"session_info_update","_meta":{"codex":{"error":{"message":"Reconnecting... 2/5",` +
			`"additionalDetails":"429 Too Many Requests","turnId":"t","willRetry":true}}}}`, "Reconnecting... 2/5 429 Too Many Requests"},
		"text":         {"say Reconnecting... 1/5", "Reconnecting... 1/5"},
		"notification": {`raw {"jsonrpc":"2.0","method":"vendor/status","params":{"text":"Retrying in 5 seconds… (attempt 4/10)"}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// What is told of the last one says that those before it have come.
			r := newRig(t, life{Prompts: [][]string{{tt.words, tt.words, "say Reconnecting... 5/5", "cancelled",
				"end cancelled"}, {"end end_turn"}}})
			r.opts.Timeouts.Silence = 3 * time.Second
			bells, last := newBells(t, &r.opts), heldUp("Reconnecting... 5/5")
			r.host.observed = make(chan events.Data, 100)
			go func() {
				watch := bells.next()
				for d := range r.host.observed {
					if d == last {
						break
					}
				}
				watch.ring()
			}()
			_, err := r.turn(t)
			close(r.host.observed)
			var api *agent.APIError
			if !errors.As(err, &api) || !strings.Contains(api.Message, "has not said anything for 3s") {
				t.Fatalf("error %v", err)
			}
			want := []events.Data{last}
			if tt.told != "" {
				want = []events.Data{heldUp(tt.told), last}
			}
			if !reflect.DeepEqual(r.host.events, want) {
				t.Errorf("observed %+v", r.host.events)
			}
			r.host.wants()
		})
	}
}

// heldUp is what people are told of a program that has lost its model.
func heldUp(words string) events.Data {
	return events.HeldUp{For: "the agent program, which tries to reach its model again: " + words}
}

// TestMute: a program that gives no answer at all is told of after 20 s, started again after 40 s and
// given up 80 s later, by the clock that the agent is given.
func TestMute(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{Before: []string{"raw I speak no ACP", "hang"}})
	clock := &alarms{}
	r.opts.After, r.opts.CPU = clock.after, func(int) time.Duration { return 0 }
	r.opts.Backoff = time.Millisecond
	r.opts.Timeouts = Timeouts{Grace: 10 * time.Millisecond}
	_, err := r.turn(t)
	if err == nil || errors.Is(err, errCrash) || !strings.Contains(err.Error(),
		"started 2 times and did not answer; does it speak the Agent Client Protocol?") {
		t.Fatalf("error %v", err)
	}
	told := events.HeldUp{For: "the agent program, which has not answered since it was started 20s ago"}
	held := 0
	for _, e := range r.host.events {
		switch e := e.(type) {
		case events.HeldUp:
			held++
			if e != told {
				t.Errorf("told %+v", e)
			}
		case events.ProgramRestarts:
			if held != 1 || !strings.Contains(e.Reason, "it has not answered: its time was over") || e.Left != 2 {
				t.Errorf("told of the restart %+v", e)
			}
		}
	}
	if begun := (events.ProgramStarts{Program: filepath.Base(r.opts.Command[0])}); !slices.Equal(r.host.starts,
		[]events.ProgramStarts{begun, begun}) {
		t.Errorf("told of the starts %+v", r.host.starts)
	}
	if held != 2 || len(r.host.events) != 3 {
		t.Errorf("observed %+v", r.host.events)
	}
	if clock.past != 120*time.Second {
		t.Errorf("it was given up after %s", clock.past)
	}
	if n := len(r.host.said); n == 0 {
		t.Error("the prompt is not in the transcript")
	}
}

// alarms are a clock on which the time that is waited for is over at once, in the order in which it
// would be: a long wait, and within it short ones, one after another.
type alarms struct {
	past, at time.Duration // at is when the long wait is over
	long     chan time.Time
}

func (c *alarms) after(d time.Duration) <-chan time.Time {
	ring := make(chan time.Time)
	if d == 20*time.Second {
		c.long, c.at = ring, c.past+d
		return ring
	}
	go func() {
		if c.past += d; c.past == c.at {
			c.long <- time.Time{}
		}
		ring <- time.Time{}
	}()
	return ring
}

// A program that is lost in the middle of its work is told of, with what it says on its
// stderr alone.
func TestSilenceInTheMiddle(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{Prompts: [][]string{{"stderr API error 401, attempt 3", "say Well", "cancelled",
		"end cancelled"}}})
	r.opts.Timeouts.Quiet, r.opts.Timeouts.Silence = 100*time.Millisecond, 1500*time.Millisecond
	bells := newBells(t, &r.opts)
	go func() {
		watch, quiet := bells.next(), bells.next()
		quiet.set() // "Well"
		for !strings.Contains(r.live.proc.Stderr.Text(), "attempt 3") && t.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
		quiet.ring()
		watch.ring()
	}()
	_, err := r.turn(t)
	if err == nil {
		t.Fatal("no error")
	}
	want := events.HeldUp{For: "the agent program, which has said nothing for 300ms; its last words on stderr: API error 401, attempt 3"}
	if !slices.Contains(r.host.events, events.Data(want)) {
		t.Errorf("observed %+v", r.host.events)
	}
}
