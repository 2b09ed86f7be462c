package bus_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/coveyteam/covey/bus"
)

// A program of the operator listens in: it hears each committed message and each change of
// a task. A program dials the socket of a running team, which run.json in the folder of the
// team's state names.
func ExampleBus_OnMail() {
	socket, end, err := runTeam()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer end()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	b, err := bus.Dial(ctx, socket)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	heard := make(chan string)
	if _, err := b.OnMail(func(member string, message []byte) {
		var m struct{ ID, From, Text string }
		if err := json.Unmarshal(message, &m); err != nil {
			m.Text = "(too large for the bus; covey logs shows it)"
		}
		heard <- fmt.Sprintf("%s to %s: %s", m.From, member, m.Text)
	}, func() { heard <- "messages were lost; covey logs shows them" }); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := b.OnTask(func(change []byte) {
		var c struct {
			Op   string
			Task struct{ Subject string }
		}
		if err := json.Unmarshal(change, &c); err == nil {
			heard <- c.Op + ": " + c.Task.Subject
		}
	}, nil); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := bus.Ask[string, bool](ctx, b, "work", ""); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(<-heard)
	fmt.Println(<-heard)
	// Unordered output:
	// lead to dev: The schema is ready.
	// claimed: Add the endpoint
}

// runTeam stands for covey up. Asked to work, it commits a message and a claim.
func runTeam() (socket string, end func(), err error) {
	b, err := bus.Embed(bus.Options{Team: "shop", Operator: func(id bus.Identity) bool { return id.Kind == "operator" }})
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "covey")
	if err != nil {
		return "", nil, errors.Join(err, b.Close())
	}
	end = func() {
		if err := errors.Join(b.Close(), os.RemoveAll(dir)); err != nil {
			fmt.Println(err)
		}
	}
	if _, err := bus.Handle(b, "work", func(context.Context, bus.Caller, string) (bool, error) {
		return true, errors.Join(
			b.Mail("dev", []byte(`{"id":"01JDS","from":"lead","to":"dev","text":"The schema is ready."}`)),
			b.Task([]byte(`{"op":"claimed","by":"dev","task":{"id":"2","subject":"Add the endpoint"}}`)))
	}); err != nil {
		end()
		return "", nil, err
	}
	socket = filepath.Join(dir, "control.sock")
	if err := b.Listen(socket, func(net.Conn) (bus.Identity, error) {
		return bus.Identity{Kind: "operator", Name: "_"}, nil // covey asks the kernel here
	}); err != nil {
		end()
		return "", nil, err
	}
	return socket, end, nil
}

// From outside, a caller is who the listener says it is, whatever it claims.
func ExampleHandle() {
	team, err := bus.Embed(bus.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer team.Close()
	if _, err := bus.Handle(team, "greet", func(_ context.Context, c bus.Caller, name string) (string, error) {
		return fmt.Sprintf("%s %s says it is %s", c.Kind, c.Name, name), nil
	}); err != nil {
		fmt.Println(err)
		return
	}
	dir, err := os.MkdirTemp("", "covey")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "control.sock")
	if err := team.Listen(socket, func(net.Conn) (bus.Identity, error) {
		return bus.Identity{Kind: "tool", Name: "docs"}, nil // covey asks the kernel here
	}); err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client, err := bus.Dial(ctx, socket)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	answer, err := bus.Ask[string, string](ctx, client, "greet", "the lead")
	fmt.Println(answer, err)
	// Output: tool docs says it is the lead <nil>
}
