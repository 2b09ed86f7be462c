package members

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/events"
)

// event is an event of dev, or of its helper.
func event(helper string, data events.Data) events.Event {
	return events.Event{Member: "dev", Helper: helper, Data: data}
}

// line is a line of dev.
func line(seq uint64, typ, helper string) events.Line {
	return events.Line{Seq: seq, Type: typ, Member: "dev", Helper: helper}
}

// shown returns the texts of a member's drafts, with a mark for helpers.
func shown(d *Drafts, member string) string {
	var list []string
	for _, draft := range d.Now(member).Drafts {
		list = append(list, draft.Member+strings.Repeat("'", len(draft.Helper))+": "+draft.Text)
	}
	return strings.Join(list, ", ")
}

// TestDraftsFollowAnswers: a text is there from its first piece until its line is in the journal,
// or until it is withdrawn.
func TestDraftsFollowAnswers(t *testing.T) {
	d := NewDrafts()
	dev, helper, api := d.Of("dev", ""), d.Of("dev", "h"), d.Of("api", "")
	for i, step := range []struct {
		do   func()
		want string
	}{
		{func() { dev.Add("I ") }, "dev: I "},
		{func() { dev.Add("look."); helper.Add("Me, too."); api.Add("Hm") }, "api: Hm, dev: I look., dev': Me, too."},
		{func() { api.Withdraw() }, "dev: I look., dev': Me, too."},
		{func() { d.Journaled(line(3, "text", "")) }, "dev: I look., dev': Me, too."}, // an earlier text
		{func() { d.see(event("", events.TextSaid{Text: "I look."})) }, "dev: I look., dev': Me, too."},
		{func() { d.Journaled(line(4, "tool_call", "")) }, "dev: I look., dev': Me, too."},
		{func() { d.Journaled(line(5, "text", "")) }, "dev': Me, too."},
		{func() { d.see(event("", events.TextSaid{})); d.Journaled(line(6, "text", "")) }, "dev': Me, too."},
		{func() { dev.Add("Next") }, "dev: Next, dev': Me, too."},
		// The journal is late: the next answer begins before the line of this one is written.
		{func() { d.see(event("", events.TextSaid{Text: "Next"})); dev.Add("After") }, "dev: After, dev': Me, too."},
		{func() { d.Journaled(line(7, "text", "")) }, "dev: After, dev': Me, too."},
		{func() { d.see(event("h", events.HelperEnded{})) }, "dev: After"},
		{func() { d.see(event("", events.TurnEnded{})) }, ""},
		{func() { dev.Add("a"); d.see(event("", events.PassStarted{})) }, ""},
		{func() { dev.Add("a"); d.see(event("", events.MemberEnded{})) }, ""},
		{func() { dev.Add(""); dev.Withdraw() }, ""},
	} {
		step.do()
		if got := shown(d, ""); got != step.want {
			t.Fatalf("step %d: %q, want %q", i, got, step.want)
		}
	}
	if now := d.Now(""); now.Seq != 7 || now.Number == 0 {
		t.Errorf("%+v", now)
	}
	if got := shown(d, "api"); got != "" || d.Now("api").Number == 0 {
		t.Errorf("of another member: %q", got)
	}
}

// TestDraftsKeepTheEnd: of a long text its end is kept, in whole characters.
func TestDraftsKeepTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := NewDrafts()
		var all strings.Builder
		for _, piece := range rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("aé漢😀\n")), 1, 40, -1), 1, 12).Draw(t, "pieces") {
			piece = strings.Repeat(piece, rapid.IntRange(1, 200).Draw(t, "times"))
			d.Of("dev", "").Add(piece)
			all.WriteString(piece)
		}
		got := d.Now("dev").Drafts[0]
		switch {
		case !strings.HasSuffix(all.String(), got.Text) || !utf8.ValidString(got.Text):
			t.Fatalf("%q is not the end of what was added", got.Text)
		case len(got.Text) > draftTail || got.Cut && len(got.Text) < draftTail-utf8.UTFMax:
			t.Fatalf("%d bytes are shown", len(got.Text))
		case got.Cut != (got.Text != all.String()):
			t.Fatalf("cut is %v, %d of %d bytes are shown", got.Cut, len(got.Text), all.Len())
		}
	})
}

// TestManyDraftsShareTheRoom: an answer has a bound, however many write.
func TestManyDraftsShareTheRoom(t *testing.T) {
	d := NewDrafts()
	for i := range 100 {
		d.Of(strings.Repeat("m", i+1), "").Add(strings.Repeat("x", draftTail))
	}
	size := 0
	for _, draft := range d.Now("").Drafts {
		size += len(draft.Text)
	}
	if size > draftsShown || size < draftsShown/2 {
		t.Errorf("%d bytes are shown", size)
	}
	if alone := d.Now("m").Drafts[0]; len(alone.Text) != draftTail {
		t.Errorf("of one member %d bytes are shown", len(alone.Text))
	}
}

// TestNextWaitsForAChange: a reader gets the first piece at once, and then what came in a while
// as one. Other members do not wake it.
func TestNextWaitsForAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := NewDrafts()
		got := make(chan Drafting)
		next := func(after uint64) {
			go func() {
				now, err := d.Next(t.Context(), "dev", after)
				if err != nil {
					t.Error(err)
				}
				got <- now
			}()
			synctest.Wait()
		}
		began := time.Now()
		next(0)
		d.Of("api", "").Add("Not this.")
		d.Of("dev", "").Add("a")
		now := <-got
		if now.Drafts[0].Text != "a" || time.Since(began) != 0 {
			t.Errorf("%+v after %v", now, time.Since(began))
		}
		next(now.Number)
		for range 1000 {
			d.Of("dev", "").Add("b")
		}
		if now = <-got; len(now.Drafts[0].Text) != 1001 || time.Since(began) != draftPace {
			t.Errorf("%+v after %v", now, time.Since(began))
		}
		next(now.Number)
		d.Of("dev", "").Withdraw()
		if now = <-got; len(now.Drafts) != 0 {
			t.Errorf("after it was withdrawn: %+v", now)
		}
	})
}

// TestNextEnds: readers wait no longer than their context, and than the team.
func TestNextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := NewDrafts()
		d.Of("dev", "").Add("a")
		for _, after := range []uint64{1, 0} {
			ctx, cancel := context.WithTimeout(t.Context(), draftPace/2)
			if _, err := d.Next(ctx, "api", after); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Next = %v", err)
			}
			cancel()
		}
		ended := make(chan error)
		for range 2 {
			go func() {
				_, err := d.Next(t.Context(), "", 1)
				ended <- err
			}()
		}
		time.Sleep(2 * draftPace) // of the bubble: both wait for a change
		d.Close()
		d.Close()
		for range 2 {
			if err := <-ended; !errors.Is(err, ErrOver) {
				t.Errorf("Next = %v", err)
			}
		}
	})
}

// TestUnseenDraftsCostNothing: a piece that nobody reads is copied, and that is all.
func TestUnseenDraftsCostNothing(t *testing.T) {
	d := NewDrafts()
	dev := d.Of("dev", "")
	dev.Add(strings.Repeat("x", 2*draftTail))
	if n := testing.AllocsPerRun(1000, func() { dev.Add("a few words ") }); n > 0 {
		t.Errorf("%v allocations for a piece", n)
	}
}

// BenchmarkDraft measures a piece of text that nobody reads, and one that a reader could have.
func BenchmarkDraft(b *testing.B) {
	for name, readers := range map[string]int{"unread": 0, "read": 1} {
		b.Run(name, func(b *testing.B) {
			d := NewDrafts()
			dev := d.Of("dev", "")
			ctx, cancel := context.WithCancel(b.Context())
			ended := make(chan struct{}, readers)
			for range readers {
				go func() {
					defer func() { ended <- struct{}{} }()
					var now Drafting
					for err := error(nil); err == nil; {
						now, err = d.Next(ctx, "", now.Number)
					}
				}()
			}
			b.ReportAllocs()
			for b.Loop() {
				dev.Add("a few words ")
			}
			cancel()
			for range readers {
				<-ended
			}
		})
	}
}
