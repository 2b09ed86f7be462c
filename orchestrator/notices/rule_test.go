package notices

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/configs/yaml"
)

// TestOpening: the next opening lies in the hours and not before now, and no time between now
// and then lies in them, also on the days on which clocks change.
func TestOpening(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		minutes := func(what string) time.Duration {
			return time.Duration(rapid.IntRange(0, 1439).Draw(t, what)) * time.Minute
		}
		h := yaml.Hours{From: minutes("from"), To: minutes("to"), Zone: rapid.SampledFrom([]string{"UTC", "Europe/Berlin", "America/New_York", "America/Santiago", "Asia/Kolkata"}).Draw(t, "zone")}
		if h.From == h.To {
			t.Skip("the whole day")
		}
		zone, err := time.LoadLocation(h.Zone)
		if err != nil {
			t.Fatal(err)
		}
		day := rapid.SampledFrom([]time.Time{
			time.Date(2026, 3, 8, 0, 0, 0, 0, zone), time.Date(2026, 3, 29, 0, 0, 0, 0, zone), time.Date(2026, 9, 5, 0, 0, 0, 0, zone),
			time.Date(2026, 10, 25, 0, 0, 0, 0, zone), time.Date(2026, 11, 1, 0, 0, 0, 0, zone), time.Date(2026, 12, 31, 0, 0, 0, 0, zone),
		}).Draw(t, "day")
		now := day.Add(minutes("now"))
		is := func(at time.Time) bool { return inside(h, clockOf(at.In(zone))) }
		next := opening(h, now)
		if next.Before(now) || next.Sub(now) > 49*time.Hour { // a day may skip the hours
			t.Fatalf("after %v comes %v", now, next)
		}
		if !is(next) {
			t.Fatalf("%v is not in the hours", next)
		}
		for at := now; at.Before(next); at = at.Add(time.Minute) {
			if is(at) {
				t.Fatalf("%v comes before %v", at, next)
			}
		}
	})
}

// TestDue: whatever a rule says, nothing is due before it is ripe, outside of the hours or
// within the digest; and what is not due now is due when the rule is asked again.
func TestDue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := func(what string, most int) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(t, what)) * time.Minute
		}
		rule := configs.Notify{About: []configs.Notable{configs.NotableQuestion}, After: span("after", 30), Digest: span("digest", 60)}
		if rapid.Bool().Draw(t, "hours") {
			rule.Hours = yaml.Hours{From: 8 * time.Hour, To: 20 * time.Hour, Zone: "UTC"}
		}
		now := noon.Add(span("now", 1440))
		r := record{Sent: now.Add(-span("sent", 90)), Failures: rapid.IntRange(0, 5).Draw(t, "failures")}
		if r.Failures > 0 {
			r.Last = now.Add(-span("last", 1))
		}
		var open []Notice
		for i := range rapid.IntRange(1, 4).Draw(t, "open") {
			open = append(open, Notice{Kind: configs.NotableQuestion, ID: string(rune('a' + i)), Since: now.Add(-span("since", 40))})
		}
		batch, again := r.due(rule, open, now, false)
		for _, n := range batch {
			if n.Since.Add(rule.After).After(now) {
				t.Fatalf("%v is not ripe", n)
			}
		}
		if len(batch) > 0 {
			if opening(rule.Hours, now) != now || r.Sent.Add(rule.Digest).After(now) || r.Last.Add(r.pause()).After(now) {
				t.Fatalf("it is too early for %v", batch)
			}
			return
		}
		if !again.After(now) {
			t.Fatalf("nothing is due now, and again at %v", again)
		}
		for range 3 { // ripe first, then in the hours
			if batch, again = r.due(rule, open, again, false); len(batch) > 0 {
				return
			}
		}
		t.Fatal("nothing becomes due")
	})
}

// TestConcerns: a rule about members tells also what is about the whole team.
func TestConcerns(t *testing.T) {
	rule := configs.Notify{About: []configs.Notable{configs.NotableDone, configs.NotableEnded}, Of: []string{"dev"}}
	for _, tc := range []struct {
		n    Notice
		want bool
	}{
		{Notice{Kind: configs.NotableDone, Member: "dev"}, true},
		{Notice{Kind: configs.NotableDone, Member: "ops"}, false},
		{Notice{Kind: configs.NotableEnded}, true},
		{Notice{Kind: configs.NotableQuestion, Member: "dev"}, false},
	} {
		if got := concerns(rule, tc.n); got != tc.want {
			t.Errorf("%+v: %v", tc.n, got)
		}
	}
}

// TestQueueIsBounded: the newest are kept, and the others counted until they were told of.
func TestQueueIsBounded(t *testing.T) {
	var r record
	for seq := range uint64(maxQueue + 7) {
		r.take(Notice{Kind: configs.NotableDone, Seq: seq + 1, Since: noon})
	}
	batch, _ := r.due(configs.Notify{}, nil, noon, false)
	if len(batch) != maxQueue || batch[0].Seq != 8 || r.Dropped != 7 {
		t.Fatalf("%d from %d, %d dropped", len(batch), batch[0].Seq, r.Dropped)
	}
	r.take(Notice{Kind: configs.NotableDone, Seq: 1000, Since: noon}) // while the batch is on its way
	r.settle(batch, 7, noon)
	if len(r.Queue) != 1 || r.Queue[0].Seq != 1000 || r.Dropped != 1 {
		t.Errorf("left: %d, %d dropped", len(r.Queue), r.Dropped)
	}
}

// TestOneLine: what agents write reaches a terminal as one harmless line.
func TestOneLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := oneLine(rapid.String().Draw(t, "text"))
		if slices.ContainsFunc([]rune(text), func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u202e' }) {
			t.Fatalf("%q", text)
		}
	})
	if got := oneLine("a\x1b]9;b\x07\nc"); got != "a ]9;b c" {
		t.Errorf("%q", got)
	}
}
