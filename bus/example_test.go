package bus_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/coveyteam/covey/bus"
)

// A member's mailbox is in the store; the bus tells that there is mail.
func ExampleBus_Wake() {
	b, err := bus.Embed(bus.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	woken := make(chan string, 1)
	if _, err := b.OnWake(func(member string) { woken <- member }); err != nil {
		fmt.Println(err)
		return
	}
	if err := b.Wake("backend"); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(<-woken, "looks for mail")
	// Output: backend looks for mail
}

// Inside the process, a request goes to whoever responds on its topic.
func ExampleRequest() {
	b, err := bus.Embed(bus.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	topic, err := bus.Topic("lengths")
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := bus.Respond(b, topic, func(m bus.Message[string]) (int, error) {
		if m.Body == "" {
			return 0, bus.Errorf("empty", "nothing to measure")
		}
		return len(m.Body), nil
	}); err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	n, err := bus.Request[string, int](ctx, b, topic, "hello")
	fmt.Println(n, err)
	_, err = bus.Request[string, int](ctx, b, topic, "")
	fmt.Println(bus.CodeOf(err), err)
	// Output:
	// 5 <nil>
	// empty nothing to measure
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
