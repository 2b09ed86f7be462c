package crew

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
)

// TestMessagesInOrderAndOnce: each message is shown once, and those of one sender in the
// order in which they were sent, also if covey crashes before it records that they were
// shown, and whether the bus carries them, loses them, or brings them late or twice.
func TestMessagesInOrderAndOnce(t *testing.T) {
	t.Parallel()
	c, runs, carried := crewOf(t, Deps{}, "lead", "dev", "ops"), 0, uint64(0)
	reader := addSeat(t, c, &configs.Member{Name: "ops"})
	actors := map[string]teamtools.Actor{}
	for _, name := range []string{"lead", "dev"} {
		m, err := c.deps.Store.Members().Attach(t.Context(), name, func() string { return "session-" + name })
		if err != nil {
			t.Fatal(err)
		}
		actors[name] = teamtools.Actor{Actor: (&members.Member{Member: &configs.Member{Name: name}, Session: m}).Actor()}
	}
	send := func(rt *rapid.T, by teamtools.Actor, n int) {
		in := teamtools.SendMessageInput{To: "ops", Message: texts.Encode(fmt.Sprint(n))}
		if _, err := c.deps.Board.Send(t.Context(), by, in); err != nil {
			rt.Fatal(err)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		runs++ // each has its own call ids and an empty mailbox
		left, err := c.deps.Store.Mail().Unread(t.Context(), "ops")
		if err != nil {
			rt.Fatal(err)
		}
		for _, m := range left {
			if err := reader.Taken(t.Context(), []string{m.ID}); err != nil {
				rt.Fatal(err)
			}
		}
		shown, seen := map[string][]string{}, map[string]bool{}
		look := func(noted bool) {
			in, err := reader.Waiting(t.Context())
			if err != nil {
				rt.Fatal(err)
			}
			var ids []string
			for _, i := range in {
				ids = append(ids, i.MessageID)
				if seen[i.MessageID] { // the transcript has it: teammate.unseen
					continue
				}
				seen[i.MessageID] = true
				var from, n string
				if _, err := fmt.Sscanf(i.Text, `<teammate-message teammate_id=%q summary=%q>`, &from,
					&n); err != nil || i.Kind != agent.FromMail {
					rt.Fatalf("%q: %v", i.Text, err)
				}
				shown[from] = append(shown[from], n)
			}
			if noted {
				if err := reader.Taken(t.Context(), ids); err != nil {
					rt.Fatal(err)
				}
			}
		}
		sent, late := map[string][]string{}, []tasks.Event{}
		carry := func() {
			list, err := c.deps.Store.Outbox().Events(t.Context(), carried, 0)
			if err != nil {
				rt.Fatal(err)
			}
			for _, e := range list {
				carried = e.ID
				switch rapid.IntRange(0, 3).Draw(rt, "bus") {
				case 0:
					late = append(late, e, e)
				case 1:
				default:
					l, err := events.Stored(e).Line()
					if err != nil {
						rt.Fatal(err)
					}
					c.receive("ops", l.Data)
				}
			}
		}
		for n := range rapid.IntRange(1, 25).Draw(rt, "steps") {
			carry()
			switch rapid.IntRange(0, 4).Draw(rt, "what") {
			case 4:
				for _, e := range late {
					l, err := events.Stored(e).Line()
					if err != nil {
						rt.Fatal(err)
					}
					c.receive("ops", l.Data)
				}
			case 0:
				look(rapid.Bool().Draw(rt, "noted"))
			case 1: // a call repeated after a crash
				by := actors["dev"]
				by.CallID = fmt.Sprint("call ", runs, " ", n)
				for range 2 {
					send(rt, by, n)
				}
				sent["dev"] = append(sent["dev"], fmt.Sprint(n))
			default:
				from := rapid.SampledFrom([]string{"lead", "dev"}).Draw(rt, "from")
				send(rt, actors[from], n)
				sent[from] = append(sent[from], fmt.Sprint(n))
			}
		}
		look(true)
		for from := range actors {
			if !slices.Equal(sent[from], shown[from]) {
				rt.Fatalf("%s sent %v, ops was shown %v", from, sent[from], shown[from])
			}
		}
	})
}
