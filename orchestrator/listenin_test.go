package orchestrator_test

import (
	"encoding/json"
	"testing"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

// TestProgramListensIn: a program of the operator hears the mail and the task changes of a
// running team.
func TestProgramListensIn(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": idlePair,
		"lead.yaml": `steps: [{say: Yes., times: -1}]`,
		"dev.yaml":  `steps: [{say: Yes., times: -1}]`,
	})
	c := r.Up()
	b, err := bus.Dial(t.Context(), c.Place().Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	letters, changes := make(chan mail.Message, 100), make(chan tasks.Change, 100)
	if _, err := b.OnMail(func(member string, data []byte) {
		var m mail.Message
		if err := json.Unmarshal(data, &m); err != nil || m.To != member {
			t.Errorf("on the subject of %s came %q: %v", member, data, err)
		}
		letters <- m
	}, func() { t.Error("messages were lost") }); err != nil {
		t.Fatal(err)
	}
	if _, err := b.OnTask(func(data []byte) {
		var change tasks.Change
		if err := json.Unmarshal(data, &change); err != nil {
			t.Errorf("%q: %v", data, err)
		}
		changes <- change
	}, func() { t.Error("changes were lost") }); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateTask(t.Context(), api.TaskCreate{Subject: "one", Owner: "dev"}); err != nil {
		t.Fatal(err)
	}
	for change := range changes {
		if change.Op == tasks.Created && change.Task.Subject == "one" {
			break
		}
	}
	for m := range letters {
		if m.To == "dev" && m.Kind == mail.TaskAssignment {
			break
		}
	}
}
