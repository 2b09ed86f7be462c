package orchestrator

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate/agent"
)

// TestMessagesInOrderAndOnce: whoever writes, whenever the receiver looks, and
// whether or not covey gets to note that something was shown: each message is
// shown once, and those of one sender in the order in which they were sent.
func TestMessagesInOrderAndOnce(t *testing.T) {
	t.Parallel()
	b, runs := newTable(t), 0
	reader := &seat{member: &roster.Member{Member: &configs.Member{Name: "ops"}}, crew: &crew{store: b.board.store}}
	reader.crew.merges = deskOf(reader.crew)
	actors := map[string]actor{"lead": b.as("lead", ""), "dev": b.as("dev", "")}
	rapid.Check(t, func(rt *rapid.T) {
		runs++ // each has call ids of its own, and a mailbox that is empty
		left, err := b.board.store.Mail().Unread(t.Context(), "ops")
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
		sent := map[string][]string{}
		for n := range rapid.IntRange(1, 25).Draw(rt, "steps") {
			switch rapid.IntRange(0, 3).Draw(rt, "what") {
			case 0:
				look(rapid.Bool().Draw(rt, "noted"))
			case 1: // a call that is made again after a crash
				by := actors["dev"]
				by.CallID = fmt.Sprint("call ", runs, " ", n)
				for range 2 {
					if _, err := b.board.send(t.Context(), by, "ops",
						mail.Outgoing{Text: fmt.Sprint(n)}); err != nil {
						rt.Fatal(err)
					}
				}
				sent["dev"] = append(sent["dev"], fmt.Sprint(n))
			default:
				from := rapid.SampledFrom([]string{"lead", "dev"}).Draw(rt, "from")
				if _, err := b.board.send(t.Context(), actors[from], "ops",
					mail.Outgoing{Text: fmt.Sprint(n)}); err != nil {
					rt.Fatal(err)
				}
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

// TestFullMailbox: the sender is told, and what to do; nobody else of a
// broadcast gets it either.
func TestFullMailbox(t *testing.T) {
	b := newTable(t)
	dev := b.as("dev", "")
	var all sync.WaitGroup
	for range 1000 { // at once: one commit takes many
		all.Go(func() {
			out := mail.Outgoing{To: []string{"ops"}, Text: "x"}
			if _, err := b.board.store.Mail().Send(t.Context(), actors.Actor{Name: "x"}, out); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, to := range []string{"ops", "*"} {
		_, err := b.board.send(t.Context(), dev, to, mail.Outgoing{Text: "one more"})
		const want = "nothing was sent: mailbox full: ops has 1000 unread messages; wait until it reads them, or do without the message"
		if err == nil || err.Error() != want {
			t.Errorf("to %s: %v", to, err)
		}
	}
	if mail, err := b.board.store.Mail().Unread(t.Context(), "lead"); err != nil || len(mail) > 0 {
		t.Errorf("the lead has %d messages, %v", len(mail), err)
	}
}

// TestMailBetweenToolCalls: a member that works sees what others write before
// its next request, not when its turn is over.
func TestMailBetweenToolCalls(t *testing.T) {
	r := newRig(t, map[string]string{
		"team.yaml": pairSpec + "tasks: [{id: one, subject: One, owner: dev}]\n",
		"lead.yaml": `steps:
  - {when: 'summary="ready\?"', call: [{tool: SendMessage, input: {to: dev, message: "Yes, go on."}}]}
  - {say: Very well., times: -1}
`,
		"dev.yaml": `steps:
  - call: [{tool: SendMessage, input: {to: lead, message: "ready?"}}]
  - {when: "Yes, go on", call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]}
  - {when: "Updated task", say: Done.}
  - {call: [{tool: TaskList, input: {}}], times: -1, delay: 5ms}
`,
	})
	r.want(r.run(Options{}), CodeDone, "all work is done")
	if n := r.turnsOf("dev"); n != 1 {
		t.Errorf("dev took %d turns:\n%s", n, show(r.lines.all()))
	}
}
