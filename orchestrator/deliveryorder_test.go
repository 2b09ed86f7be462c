package orchestrator

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/orchestrator/testkit"
	"github.com/coveyteam/covey/teammate/agent"
)

// TestMessagesInOrderAndOnce: whoever writes, whenever the receiver looks, and
// whether or not covey gets to note that something was shown: each message is
// shown once, and those of one sender in the order in which they were sent.
func TestMessagesInOrderAndOnce(t *testing.T) {
	t.Parallel()
	c, runs := &crew{store: testkit.OpenStore(t)}, 0
	giveBoard(t, c, "lead", "dev", "ops")
	reader := &seat{member: &roster.Member{Member: &configs.Member{Name: "ops"}}, crew: c}
	actors := map[string]teamtools.Actor{}
	for _, name := range []string{"lead", "dev"} {
		m, err := c.store.Members().Attach(t.Context(), name, func() string { return "session-" + name })
		if err != nil {
			t.Fatal(err)
		}
		actors[name] = teamtools.Actor{Actor: (&roster.Member{Member: &configs.Member{Name: name}, Session: m}).Actor()}
	}
	send := func(rt *rapid.T, by teamtools.Actor, n int) {
		in := teamtools.SendMessageInput{To: "ops", Message: notation.Encode(fmt.Sprint(n))}
		if _, err := c.board.Send(t.Context(), by, in); err != nil {
			rt.Fatal(err)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		runs++ // each has call ids of its own, and a mailbox that is empty
		left, err := c.store.Mail().Unread(t.Context(), "ops")
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
