package web

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	termview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/view"
)

// A feed takes up lines as they are written, whole ones only, and goes on after a damaged one.
func TestFeedFollows(t *testing.T) {
	f := newFramed(t, "ana")
	f.follow()
	f.untilLine()
	half := f.encoded(says("ana", "One."))
	f.write(half[:30])
	f.add() // a signal without a line
	f.write(half[30:])
	f.untilLine()
	f.seq++
	f.write("{\"seq\":" + strings.Repeat("\x00", 70_000) + "\n")
	f.add(says("ana", "Two."), teamtest.Line(0, "ana", "news_from_the_future", `[1]`), says("ana", "Three."))
	f.until(func(s *view.State) bool { return s.Seq == 6 })
	f.page.feed.Read(func(now termview.Now) {
		s := now.State
		if want := []view.Gap{{After: 2, Before: 4}}; !slices.Equal(s.Gaps, want) || s.Member("ana").Doing != "Three." || now.Status != nil || now.Trouble != nil {
			t.Errorf("gaps %+v, ana %q, status %v, trouble %q", s.Gaps, s.Member("ana").Doing, now.Status, now.Trouble)
		}
	})
	if page := f.get("/"); !strings.Contains(page, "was cut off; covey up goes on") || !strings.Contains(page, "Three.") {
		t.Errorf("the page of a team that was killed: %s", page)
	}
}

// `covey up --fresh` puts another file in place of the journal: nothing of the old one stays.
func TestFeedOfFreshTeam(t *testing.T) {
	f := newFramed(t, "ana", "ben")
	f.add(says("ana", "Old."), says("ben", "Old."))
	ended := f.follow()
	f.untilLine()
	if err := os.Remove(f.place.Journal()); err != nil {
		t.Fatal(err)
	}
	f.seq = 0
	f.add(started("cleo")...)
	if err := <-ended; err != nil {
		t.Errorf("the file was replaced: %v", err)
	}
	f.add(says("cleo", "New."))
	f.follow()
	f.untilLine()
	page := f.get("/")
	for text, want := range map[string]bool{"Old.": false, "New.": true, "member-ana": false, "member-cleo": true} {
		if strings.Contains(page, text) != want {
			t.Errorf("%q is in the page: %v", text, !want)
		}
	}
}

// What cannot be read is said on the page, and a team that has never run is no trouble.
func TestFeedTrouble(t *testing.T) {
	teamtest.StateHome(t)
	place := teamtest.Place(t, "crew")
	feed := termview.NewFeed(place)
	if err := feed.Follow(t.Context(), nil); err != nil {
		t.Errorf("it has never run: %v", err)
	}
	newer := teamtest.Line(0, "", "team_started", `{"members":["lead"]}`)
	newer.Format = events.Format + 1
	teamtest.WriteJournal(t, place, newer)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		feed.Run(ctx)
	}()
	f := &framed{T: t, page: &Page{feed: feed}}
	var trouble error
	f.untilNow(func(now termview.Now) bool { trouble = now.Trouble; return trouble != nil })
	cancel()
	<-done
	if !strings.Contains(trouble.Error(), "update covey") {
		t.Errorf("the trouble is %v", trouble)
	}
}

// A run.json that a killed team left behind makes it no running one.
func TestFeedOfDeadTeam(t *testing.T) {
	f := newFramed(t, "ana")
	dead := teamtest.DeadProcess(t)
	teamtest.WriteRun(t, f.place, func(r *state.RunFile) { r.PID = dead })
	f.follow()
	f.untilLine()
	if page := f.get("/member/ana"); !strings.Contains(page, "The team does not run") || strings.Contains(page, `action="/send"`) {
		t.Errorf("a form that nobody would answer: %s", page)
	}
}
