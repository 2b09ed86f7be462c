package orchestrator

import (
	"errors"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate/agent"
)

func TestLossIsMoot(t *testing.T) {
	all := []tasks.Task{
		task("1", tasks.InProgress, "b"), task("2", tasks.Completed, "b"), task("3", tasks.Pending, ""),
		task("4", tasks.Pending, "a"),
	}
	loss := func(id string) mail.Message {
		return mail.Message{ID: "m" + id, Kind: mail.TaskLost, Data: rawjson.Encode(tasks.Loss{TaskID: id})}
	}
	for id, want := range map[string]bool{"1": false, "2": true, "3": false, "4": true, "9": true} {
		if have := lossIsMoot(loss(id), all, "a"); have != want {
			t.Errorf("the loss of task %s is moot: %v", id, have)
		}
	}
	for _, m := range []mail.Message{{Kind: mail.Text}, {Kind: mail.TaskLost, Data: []byte("{")}} {
		if lossIsMoot(m, all, "a") {
			t.Errorf("moot: %+v", m)
		}
	}
	show, moot := sortMail([]mail.Message{loss("1"), loss("2")}, all, "a")
	if len(show) != 1 || show[0].ID != "m1" || strings.Join(moot, "") != "m2" {
		t.Errorf("shown %+v, moot %q", show, moot)
	}
	in := byTools.inputs(show, all)
	if len(in) != 1 || in[0].Kind != agent.FromTask || in[0].MessageID != "m1" || causeOf(show) != agent.ByTask {
		t.Errorf("inputs %+v, cause %s", in, causeOf(show))
	}
}

// TestLateCompletionAsksNoGate: the gates of a task that was taken away are not run for
// who had it; they may take minutes, and nothing can come of it.
func TestLateCompletionAsksNoGate(t *testing.T) {
	b := newTable(t)
	b.add(tasks.New{Subject: "slow"})
	dev, ops := b.as("dev", ""), "ops"
	if _, err := b.board.claim(t.Context(), dev, "1", "dev"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.board.update(t.Context(), b.as("lead", ""), "1", tasks.Patch{Owner: &ops}); err != nil {
		t.Fatal(err)
	}
	_, _, err := b.board.update(t.Context(), dev, "1", to(tasks.Completed))
	if !errors.Is(err, tasks.ErrStale) || len(b.fired) != 0 {
		t.Errorf("error %v, asked %q", err, b.fired)
	}
	b.want("1", tasks.InProgress, "ops")
}
