package teamtools

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"testing"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
)

// The tasks that mail is about say the same of it as the whole list does.
func TestConcernedIsEnough(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	for range 20 {
		board := newTable(t).board
		store := board.deps.Store
		ctx, n := t.Context(), 14 // ids of one digit and of two
		for i := range n {
			task := tasks.New{Subject: fmt.Sprint("part ", i), Owner: "dev"}
			for by := range i {
				if random.IntN(4) == 0 {
					task.BlockedBy = append(task.BlockedBy, strconv.Itoa(by+1))
				}
			}
			random.Shuffle(len(task.BlockedBy), func(a, b int) {
				task.BlockedBy[a], task.BlockedBy[b] = task.BlockedBy[b], task.BlockedBy[a]
			})
			if _, err := store.Add(ctx, actors.Actor{}, []tasks.New{task}); err != nil {
				t.Fatal(err)
			}
		}
		var letters []mail.Message
		for i := range random.IntN(10) {
			id := strconv.Itoa(1 + random.IntN(n))
			m := mail.Message{ID: fmt.Sprint("m", i), Kind: mail.TaskAssignment, Text: "x", Data: texts.Encode(tasks.Assignment{TaskID: id})}
			if random.IntN(5) == 0 {
				m.Kind = mail.Text
			}
			letters = append(letters, m)
			if random.IntN(6) == 0 {
				if _, err := store.Delete(ctx, actors.Actor{}, id, nil); err != nil {
					t.Logf("task %s: %v", id, err) // it has been before
				}
			}
		}
		all, err := store.List(ctx)
		if err != nil {
			t.Fatal(err)
		}
		about, err := board.Concerned(ctx, letters)
		if err != nil {
			t.Fatal(err)
		}
		show, moot := plan.SortMail(letters, all, "dev")
		shown, passed := plan.SortMail(letters, about, "dev")
		if !reflect.DeepEqual(show, shown) || !reflect.DeepEqual(moot, passed) {
			t.Fatalf("of %v would be shown %v, and %v is", letters, show, shown)
		}
		if want, got := MCPNames.Inputs(show, all), MCPNames.Inputs(shown, about); !reflect.DeepEqual(want, got) {
			t.Fatalf("the prompt is\n%+v\nand would be\n%+v", got, want)
		}
	}
}
