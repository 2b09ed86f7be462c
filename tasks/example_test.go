package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
)

// openExample opens a store in a folder of its own.
func openExample() (s *tasks.Store, done func()) {
	dir, err := os.MkdirTemp("", "covey-example")
	if err != nil {
		log.Fatal(err)
	}
	s, err = tasks.Open(filepath.Join(dir, "tasks.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	return s, func() {
		if err := errors.Join(s.Close(), os.RemoveAll(dir)); err != nil {
			log.Fatal(err)
		}
	}
}

// Two members want the same task; completing it lets the next one go.
func Example() {
	s, done := openExample()
	defer done()
	ctx := context.Background()

	_, err := s.Add(ctx, actors.Actor{}, []tasks.New{
		{Key: "schema", Subject: "Write the schema"},
		{Key: "api", Subject: "Add the endpoint", BlockedBy: []string{"schema"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	task, err := s.Claim(ctx, actors.Actor{Name: "backend"}, "1", tasks.Claim{Max: 1})
	fmt.Println(task.Owner, task.Status, err)
	_, err = s.Claim(ctx, actors.Actor{Name: "docs"}, "1", tasks.Claim{Max: 1})
	fmt.Println(errors.Is(err, tasks.ErrOwned), err)
	_, err = s.Claim(ctx, actors.Actor{Name: "docs"}, "2", tasks.Claim{Max: 1})
	fmt.Println(errors.Is(err, tasks.ErrBlocked), err)

	completed := tasks.Completed
	_, fields, err := s.Update(ctx, actors.Actor{Name: "backend"}, "1",
		tasks.Patch{Status: &completed, Version: task.Version})
	fmt.Println(fields, err)
	ready, err := s.Ready(ctx)
	fmt.Println(len(ready), ready[0].Subject, err)
	// Output:
	// backend in_progress <nil>
	// true task 1 is owned by another member: backend (in_progress)
	// true task 2 is blocked by task 1
	// [status] <nil>
	// 1 Add the endpoint <nil>
}

// A task is proposed until its hooks agree; a refused one never was.
func ExampleStore_Create() {
	s, done := openExample()
	defer done()
	ctx := context.Background()
	lead := actors.Actor{Name: "lead"}

	for _, subject := range []string{"Fix it", "Add a test for the parser"} {
		task, err := s.Create(ctx, lead, tasks.New{Subject: subject})
		if err != nil {
			log.Fatal(err)
		}
		if len(subject) < 10 { // a hook's opinion
			err = s.Discard(ctx, lead, task.ID, "say what shall be fixed")
		} else {
			_, err = s.Confirm(ctx, lead, task.ID)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	list, err := s.List(ctx)
	fmt.Println(len(list), list[0].ID, list[0].Subject, err)
	// Output: 1 2 Add a test for the parser <nil>
}

// What carries events on reads them, tells them, and settles them.
func ExampleOutbox_Events() {
	s, done := openExample()
	defer done()
	ctx := context.Background()

	_, err := s.Mail().Send(ctx, actors.Actor{Name: "lead"}, mail.Outgoing{To: []string{"backend"}, Text: "The tests are red."})
	if err != nil {
		log.Fatal(err)
	}
	<-s.Outbox().Wake()
	events, err := s.Outbox().Events(ctx, 0, 100)
	for _, e := range events {
		fmt.Printf("%d %T %s\n", e.ID, e.Data, e.Member)
	}
	if err == nil {
		err = s.Outbox().Remove(ctx, events[len(events)-1].ID)
	}
	left, err2 := s.Outbox().Events(ctx, 0, 100)
	fmt.Println(len(left), errors.Join(err, err2))
	// Output:
	// 1 mail.Message lead
	// 0 <nil>
}

// A tool call that was cut off by a crash is answered from its receipt.
func ExampleActor() {
	s, done := openExample()
	defer done()
	ctx := context.Background()

	call := actors.Actor{Name: "lead", CallID: "toolu_01"}
	for range 2 {
		sent, err := s.Mail().Send(ctx, call, mail.Outgoing{To: []string{"docs"}, Text: "Please write it up."})
		fmt.Println(len(sent), err)
	}
	mail, err := s.Mail().Unread(ctx, "docs")
	fmt.Println(len(mail), err)
	// Output:
	// 1 <nil>
	// 1 <nil>
	// 1 <nil>
}
