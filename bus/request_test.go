package bus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestAskWithoutHandlerEndsWithContext(t *testing.T) {
	b, _ := mustEmbed(t, Options{})
	_, err := Ask[int, int](within(t, 20*time.Millisecond), b, "nobody", 1)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v", err)
	}
}

func TestAskRefuses(t *testing.T) {
	b, log := mustEmbed(t, Options{})
	var size *SizeError
	_, err := Ask[string, int](within(t, patience), b, "do", strings.Repeat("x", 10<<20)) // a 10 MB prompt
	if !errors.As(err, &size) || size.Limit != DefaultMaxPayload || size.Size < 10<<20 {
		t.Errorf("a request of 10 MB: %v", err)
	}
	if _, err := Ask[func(), int](within(t, patience), b, "do", func() {}); err == nil ||
		!strings.Contains(err.Error(), "func()") {
		t.Errorf("a request that is a function: %v", err)
	}
	log.none(t)
}

func TestCloseEndsRequests(t *testing.T) {
	b, err := Embed(Options{})
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	sent := make(chan struct{})
	silent, err := b.controlAll("silent")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.subscribe(silent, func(delivery) { close(sent) }, nil); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := Ask[int, int](within(t, patience), b, "silent", 1)
		failed <- err
	})
	closes(t, sent, "the request arrives")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := receive(t, failed); !errors.Is(err, ErrClosed) {
		t.Errorf("a request on a bus that closed: %v", err)
	}
	wg.Wait()
}

// TestCloseAnswersFirst: a request that is being worked on when the bus closes
// gets its answer, as do 64 of them at once.
func TestCloseAnswersFirst(t *testing.T) {
	b, _ := mustEmbed(t, Options{})
	const callers = 64
	begun, leave := make(chan struct{}, callers), make(chan struct{})
	if _, err := Handle(b, "work", func(_ context.Context, _ Caller, n int) (string, error) {
		begun <- struct{}{}
		<-leave
		return strings.Repeat("x", n), nil
	}); err != nil {
		t.Fatal(err)
	}
	path := mustListen(t, b, Identity{Kind: "tool", Name: "api", PID: 1})
	var wg sync.WaitGroup
	for range callers {
		client := mustDial(t, path)
		wg.Go(func() {
			if got, err := Ask[int, string](within(t, patience), client, "work", 100_000); len(got) != 100_000 || err != nil {
				t.Errorf("got %d bytes, %v", len(got), err)
			}
		})
	}
	for range callers {
		<-begun
	}
	closed := make(chan error)
	go func() { closed <- b.Close() }()
	close(leave)
	wg.Wait()
	if err := receive(t, closed); err != nil {
		t.Error(err)
	}
}

// handler answers "who" with who asked.
func handleWho(t *testing.T, b *Bus) {
	t.Helper()
	if _, err := Handle(b, "who", func(_ context.Context, c Caller, _ string) (Identity, error) {
		return c.Identity, nil
	}); err != nil {
		t.Fatal(err)
	}
}

func TestHandlerLearnsWhoAsks(t *testing.T) {
	b, log := mustEmbed(t, Options{Self: Identity{Kind: "operator", Name: "_", PID: 7}})
	handleWho(t, b)
	var n atomic.Int64
	ids := []Identity{
		{Kind: "tool", Name: "api", PID: 11}, {Kind: "hook", Name: "docs", PID: 12}, {Kind: "operator", Name: "_", PID: 13},
	}
	path := mustListenBy(t, b, func(net.Conn) (Identity, error) { return ids[n.Add(1)-1], nil })
	for _, want := range ids {
		got, err := Ask[string, Identity](within(t, patience), mustDial(t, path), "who", "I am the lead")
		if err != nil || got != want {
			t.Errorf("handler saw %+v, %v; want %+v", got, err, want)
		}
	}
	got, err := Ask[string, Identity](within(t, patience), b, "who", "")
	if err != nil || got != b.opts.Self {
		t.Errorf("the process itself was taken for %+v, %v", got, err)
	}
	log.none(t)
}

func TestHandlerTrouble(t *testing.T) {
	b, log := mustEmbed(t, Options{})
	if _, err := Handle(b, "do", func(_ context.Context, _ Caller, what string) (string, error) {
		switch what {
		case "panic":
			panic("ouch")
		case "huge":
			return strings.Repeat("x", DefaultMaxPayload+1), nil
		case "refuse":
			return "", fmt.Errorf("wrapped: %w", Errorf(CodeDenied, "no"))
		case "fail":
			return "", errors.New("no code")
		}
		return what, nil
	}); err != nil {
		t.Fatal(err)
	}
	client := mustDial(t, mustListen(t, b, Identity{Kind: "tool", Name: "api", PID: 1}))
	for what, want := range map[string]Code{"panic": CodeInternal, "huge": CodeTooLarge, "refuse": CodeDenied, "fail": CodeInternal} {
		if _, err := Ask[string, string](within(t, patience), client, "do", what); err == nil ||
			CodeOf(err) != want {
			t.Errorf("%s: %v, want code %s", what, err, want)
		}
	}
	if _, err := Ask[int, string](within(t, patience), client, "do", 7); CodeOf(err) != CodeInvalid {
		t.Errorf("a request of the wrong type: %v", err)
	}
	if got, err := Ask[string, string](within(t, patience), client, "do", "fine"); got != "fine" ||
		err != nil {
		t.Errorf("afterwards: %q, %v", got, err)
	}
	if p := wait[*PanicError](t, log); p.Value != "ouch" {
		t.Errorf("told of %+v", p)
	}
}

func TestHandlerEndsWithCaller(t *testing.T) {
	for name, hangUp := range map[string]func(t *testing.T, team, client *Bus){
		"caller leaves": func(t *testing.T, _, client *Bus) {
			if err := client.Close(); err != nil {
				t.Error(err)
			}
		},
		"caller is hung up on": func(t *testing.T, team, client *Bus) {
			team.HangUp(func(id Identity) bool { return id.Name == "api" })
			closes(t, client.Done(), "the client learns of it")
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := mustEmbed(t, Options{})
			begun, gone, cancelled := make(chan struct{}), make(chan struct{}), make(chan struct{})
			if _, err := Handle(b, "wait", func(ctx context.Context, c Caller, _ int) (int, error) {
				close(begun)
				<-ctx.Done()
				close(cancelled)
				<-c.Gone()
				close(gone)
				return 0, ctx.Err()
			}); err != nil {
				t.Fatal(err)
			}
			client := mustDial(t, mustListen(t, b, Identity{Kind: "tool", Name: "api", PID: 1}))
			var wg sync.WaitGroup
			wg.Go(func() {
				if _, err := Ask[int, int](within(t, patience), client, "wait", 1); !errors.Is(err, ErrClosed) {
					t.Errorf("the request ended with %v", err)
				}
			})
			closes(t, begun, "the handler begins")
			hangUp(t, b, client)
			closes(t, cancelled, "the handler's context ends")
			closes(t, gone, "the caller is gone")
			wg.Wait()
		})
	}
}

func TestTooManyOpenRequests(t *testing.T) {
	b, _ := mustEmbed(t, Options{})
	leave := make(chan struct{})
	var begun atomic.Int64
	all := make(chan struct{})
	if _, err := Handle(b, "wait", func(ctx context.Context, _ Caller, _ int) (int, error) {
		if begun.Add(1) == maxOpenRequests {
			close(all)
		}
		<-leave
		return 1, nil
	}); err != nil {
		t.Fatal(err)
	}
	path := mustListen(t, b, Identity{Kind: "tool", Name: "api", PID: 1})
	client := mustDial(t, path)
	var wg sync.WaitGroup
	for range maxOpenRequests {
		wg.Go(func() {
			if _, err := Ask[int, int](within(t, patience), client, "wait", 1); err != nil {
				t.Error(err)
			}
		})
	}
	closes(t, all, "all requests are worked on")
	if _, err := Ask[int, int](within(t, patience), client, "wait", 1); CodeOf(err) != CodeBusy {
		t.Errorf("one request too many: %v", err)
	}
	close(leave)
	wg.Wait()
	if n, err := Ask[int, int](within(t, patience), mustDial(t, path), "wait", 1); n != 1 || err != nil {
		t.Errorf("afterwards: %d, %v", n, err)
	}
}
