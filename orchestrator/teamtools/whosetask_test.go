package teamtools

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
)

// TestWhoseTask: what each member and the operator may do with a task that dev has in
// progress, by the tool and by the command line alike.
func TestWhoseTask(t *testing.T) {
	completed, pending, nobody, text := tasks.Completed, tasks.Pending, "", "other words"
	ops := "ops"
	changes := map[string]tasks.Patch{
		"complete": {Status: &completed}, "give": {Owner: &ops}, "take back": {Status: &pending, Owner: &nobody},
		"edit": {Description: &text}, "evidence": {Evidence: []tasks.Evidence{{Text: "trust me"}}},
		"take and complete": {Owner: &ops, Status: &completed},
	}
	allowed := map[string][]string{
		"dev":      {"complete", "give", "take back", "edit", "evidence", "take and complete", "delete"},
		"lead":     {"give", "take back", "edit", "evidence", "delete"},
		"ops":      {},
		"operator": {"give", "take back", "edit", "evidence", "delete"},
		"forced":   {"complete", "give", "take back", "edit", "evidence", "take and complete", "delete"},
	}
	for who, may := range allowed {
		t.Run(who, func(t *testing.T) {
			b := newTable(t)
			by := b.as(map[string]string{"operator": "", "forced": ""}[who], "")
			if who != "operator" && who != "forced" {
				by = b.as(who, "")
			}
			by.Force = who == "forced"
			try := func(what string, change func(id string) error) {
				b.add(tasks.New{Subject: what})
				all, err := b.board.deps.Store.List(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				id := all[len(all)-1].ID
				if _, err := b.board.deps.Store.Claim(t.Context(), actors.Actor{}, id, tasks.Claim{Member: "dev"}); err != nil {
					t.Fatal(err)
				}
				b.fired = nil
				err = change(id)
				switch {
				case slices.Contains(may, what):
					if err != nil {
						t.Errorf("%s: %v", what, err)
					}
				case !errors.Is(err, tasks.ErrOwned) || !strings.Contains(err.Error(), "dev") || len(b.fired) > 0:
					t.Errorf("%s: %v, after hooks %v", what, err, b.fired)
				default:
					b.want(id, tasks.InProgress, "dev")
				}
			}
			for what, p := range changes {
				try(what, func(id string) error { _, _, err := b.board.Update(t.Context(), by, id, p); return err })
			}
			try("delete", func(id string) error { _, err := b.board.Remove(t.Context(), by, id); return err })
		})
	}
}

// TestOthersTasks: any member may change a task that another owns and has not begun, unless the spec lets it
// only read them. The lead, the operator and the owner may, and everybody may take what nobody owns.
func TestOthersTasks(t *testing.T) {
	completed, started, text, nobody := tasks.Completed, tasks.InProgress, "other words", ""
	changes := map[string]tasks.Patch{
		"complete": {Status: &completed}, "start": {Status: &started}, "edit": {Subject: &text}, "take": {Owner: &nobody},
	}
	for _, tc := range []struct {
		who, owner string
		read, may  bool
	}{
		{"ops", "dev", false, true}, {"ops", "dev", true, false}, {"dev", "dev", true, true}, {"lead", "dev", true, true},
		{"", "dev", true, true}, {"ops", "", true, true},
	} {
		b := newTable(t)
		b.crew.spec.ReadOthersTasks = tc.read
		b.crew.spec.Teammates[0].Limits.MaxInProgress = 9
		b.board.SetTeam(b.crew.spec)
		by := b.as(tc.who, "")
		check := func(what string, err error) {
			if tc.may && err != nil || !tc.may && (!errors.Is(err, tasks.ErrOwned) || !strings.Contains(err.Error(), "others_tasks: read")) {
				t.Errorf("%q, task of %q, read %v: %s: %v", tc.who, tc.owner, tc.read, what, err)
			}
		}
		id := func(what string) string {
			b.add(tasks.New{Subject: what, Owner: tc.owner})
			all, err := b.board.deps.Store.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return all[len(all)-1].ID
		}
		for what, p := range changes {
			_, _, err := b.board.Update(t.Context(), by, id(what), p)
			check(what, err)
		}
		_, err := b.board.Remove(t.Context(), by, id("delete"))
		check("delete", err)
		if !tc.may && len(b.fired) > 0 {
			t.Errorf("hooks ran: %v", b.fired)
		}
	}
}

// TestWhoseTaskIsAskedInTheChange: the task is claimed by another while the hooks of a
// completion run.
func TestWhoseTaskIsAskedInTheChange(t *testing.T) {
	b := newTable(t)
	b.add(tasks.New{Subject: "one"})
	ops := b.as("ops", "")
	b.hook = func(hooks.Payload) (hooks.Outcome, error) {
		_, err := b.board.deps.Store.Claim(t.Context(), actors.Actor{}, "1", tasks.Claim{Member: "dev"})
		return hooks.Outcome{Decision: hooks.Pass}, err
	}
	if _, _, err := b.board.Update(t.Context(), ops, "1", to(tasks.Completed)); !errors.Is(err, tasks.ErrOwned) {
		t.Errorf("the other's task was completed: %v", err)
	}
	b.want("1", tasks.InProgress, "dev")
}

// TestOwnerIsToldOfItsTask: the lead gives away or deletes what a member works on.
func TestOwnerIsToldOfItsTask(t *testing.T) {
	b := newTable(t)
	b.add(tasks.New{Subject: "given away"}, tasks.New{Subject: "dropped"}, tasks.New{Subject: "not begun", Owner: "dev"})
	for _, id := range []string{"1", "2"} {
		if _, err := b.board.deps.Store.Claim(t.Context(), b.as("dev", "").Actor, id, tasks.Claim{}); err != nil {
			t.Fatal(err)
		}
	}
	lead, ops := b.as("lead", ""), "ops"
	if _, _, err := b.board.Update(t.Context(), lead, "1", tasks.Patch{Owner: &ops}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"2", "3"} {
		if _, err := b.board.Remove(t.Context(), lead, id); err != nil {
			t.Fatal(err)
		}
	}
	letters, err := b.board.deps.Store.Mail().Unread(t.Context(), "dev")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	all, _ := b.board.deps.Store.List(t.Context())
	show, _ := plan.SortMail(letters, all, "dev")
	for _, m := range show {
		if m.Kind == mail.TaskLost {
			told = append(told, m.Text)
		}
	}
	if len(told) != 2 || !strings.Contains(told[0], "Task 1 is not yours any more: given away") ||
		!strings.Contains(told[1], "Task 2 was deleted: dropped") {
		t.Errorf("dev is told %q", told)
	}
	var loss tasks.Loss
	if json.Unmarshal(letters[len(letters)-1].Data, &loss) != nil || loss.By != "lead" || loss.Status != tasks.LossDeleted {
		t.Errorf("the data say %+v", loss)
	}
}
