package teamtools

import (
	"errors"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate/agent"
)

// TestLateCompletionAsksNoGate: the gates of a task that was taken away are not run for
// who had it; they may take minutes, and nothing can come of it.
func TestLateCompletionAsksNoGate(t *testing.T) {
	b := newTable(t)
	b.add(tasks.New{Subject: "slow"})
	dev, ops := b.as("dev", ""), "ops"
	if _, err := b.board.Claim(t.Context(), dev, "1", "dev"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.board.Update(t.Context(), b.as("lead", ""), "1", tasks.Patch{Owner: &ops}); err != nil {
		t.Fatal(err)
	}
	_, _, err := b.board.Update(t.Context(), dev, "1", to(tasks.Completed))
	if !errors.Is(err, tasks.ErrStale) || len(b.fired) != 0 {
		t.Errorf("error %v, asked %q", err, b.fired)
	}
	b.want("1", tasks.InProgress, "ops")
}

// TestLossIsShown: a member reads of a task that it has lost as of a task.
func TestLossIsShown(t *testing.T) {
	loss := mail.Message{ID: "m1", Kind: mail.TaskLost, Data: texts.Encode(tasks.Loss{TaskID: "1"})}
	show, _ := plan.SortMail([]mail.Message{loss}, []tasks.Task{listedTask("1", tasks.InProgress, "b")}, "a")
	in := BuiltinNames.Inputs(show, nil)
	if len(in) != 1 || in[0].Kind != agent.FromTask || in[0].MessageID != "m1" || plan.CauseOf(show) != events.ByTask {
		t.Errorf("inputs %+v, cause %s", in, plan.CauseOf(show))
	}
}
