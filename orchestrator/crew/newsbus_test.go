package crew

import (
	"encoding/json"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
)

// TestCommittedMailIsOnTheBus: what a killed run committed and did not publish is on the bus
// once in the next run, and never again; the receiver reads it in between in any case.
func TestCommittedMailIsOnTheBus(t *testing.T) {
	t.Parallel()
	b, err := bus.Embed(bus.Options{})
	testkit.Must(t, err)
	defer func() { testkit.Must(t, b.Close()) }()
	c := crewOf(t, Deps{Bus: b}, "lead", "ops")
	addSeat(t, c, &configs.Member{Name: "lead"})
	ops := addSeat(t, c, &configs.Member{Name: "ops"})
	heard, changes := make(chan mail.Message, 10), make(chan tasks.Change, 10)
	sub, err := b.OnMail(func(member string, data []byte) {
		c.receive(member, data)
		var m mail.Message
		if json.Unmarshal(data, &m) != nil || m.To != member {
			t.Errorf("on the subject of %s came %q", member, data)
		}
		heard <- m
	}, c.deps.Loop.Poke)
	testkit.Must(t, err)
	defer sub.Close()
	work, err := b.OnTask(func(data []byte) {
		var change tasks.Change
		if err := json.Unmarshal(data, &change); err != nil {
			t.Errorf("%q: %v", data, err)
		}
		changes <- change
	}, nil)
	testkit.Must(t, err)
	defer work.Close()
	send := func(text string) mail.Message {
		t.Helper()
		sent, err := c.deps.Store.Mail().Send(t.Context(), actors.Actor{Name: "lead"}, mail.Outgoing{To: []string{"ops"}, Text: text})
		testkit.Must(t, err)
		return sent[0]
	}
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	run := func() (end func()) {
		t.Helper()
		j, err := state.OpenJournal(path, state.JournalOptions{
			Team: "crew", Store: c.deps.Store, Log: slog.New(slog.DiscardHandler), See: func(events.Line) {}, Failed: func(error) {},
		})
		testkit.Must(t, err)
		go j.Run(events.TeamStarted{}, state.Views{Line: func(events.Line) {}, Stored: c.Stored, Grew: func(uint64) {}})
		return func() { testkit.Must(t, j.Close()) }
	}
	first := send("before the kill")
	_, err = c.deps.Store.Add(t.Context(), actors.Actor{Name: "lead"}, []tasks.New{{Subject: "one"}})
	testkit.Must(t, err)
	if in, err := ops.Waiting(t.Context()); err != nil || len(in) != 1 || in[0].MessageID != first.ID {
		t.Errorf("before the bus has it, ops reads %+v, %v", in, err)
	}
	end := run()
	if m := <-heard; m.ID != first.ID || m.Text != "before the kill" || m.From != "lead" {
		t.Errorf("heard %+v", m)
	}
	if change := <-changes; change.Op != tasks.Created || change.Task.Subject != "one" {
		t.Errorf("heard of %+v", change)
	}
	<-c.deps.Loop.Poked()
	if in, err := ops.Waiting(t.Context()); err != nil || len(in) != 1 || in[0].MessageID != first.ID {
		t.Errorf("once the bus has brought it, ops reads %+v, %v", in, err)
	}
	testkit.Must(t, ops.Taken(t.Context(), []string{first.ID}))
	end()
	end = run()
	defer end()
	second := send("in the next run")
	if m := <-heard; m.ID != second.ID {
		t.Errorf("the next run published %+v again", m)
	}
	if in, err := ops.Waiting(t.Context()); err != nil || len(in) != 1 || in[0].MessageID != second.ID {
		t.Errorf("ops reads %+v, %v", in, err)
	}
}

// TestMailWithoutABus: the loop looks for mail that the bus could not take.
func TestMailWithoutABus(t *testing.T) {
	t.Parallel()
	b, err := bus.Embed(bus.Options{})
	testkit.Must(t, err)
	testkit.Must(t, b.Close())
	c := crewOf(t, Deps{Bus: b}, "lead")
	addSeat(t, c, &configs.Member{Name: "lead"})
	l, err := events.Event{Data: events.MessageSent{Message: mail.Message{To: "lead"}}}.Line()
	testkit.Must(t, err)
	c.Stored(l)
	select {
	case <-c.deps.Loop.Poked():
	default:
		t.Error("the loop was not poked")
	}
}
