package bus

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
)

// operator is the caller that may listen.
var operator = Identity{Kind: "operator", Name: "_", PID: 1}

// letter is a message as it comes.
type letter struct{ member, text string }

// listen collects the mail that comes to b.
func listen(t *testing.T, b *Bus, room int) (<-chan letter, *Subscription) {
	t.Helper()
	got := make(chan letter, room)
	sub, err := b.OnMail(func(member string, data []byte) { got <- letter{member, string(data)} }, nil)
	if err != nil {
		t.Fatal(err)
	}
	return got, sub
}

// TestMailCarriesContent: each message comes once, with its content, in order, inside of the
// process and to a listener of the operator.
func TestMailCarriesContent(t *testing.T) {
	b, log := mustEmbed(t, Options{Team: "shop", Operator: func(id Identity) bool { return id == operator }})
	inside, sub := listen(t, b, 1000)
	outside, _ := listen(t, mustDial(t, mustListen(t, b, operator)), 1000)
	raw, err := b.nc.SubscribeSync("covey.shop.mail.dev-2")
	if err != nil {
		t.Fatal(err)
	}
	const sent = 500
	for i := range sent {
		if err := errors.Join(b.Mail("lead", []byte(strconv.Itoa(i))), b.Mail("dev-2", []byte(`{"text":"a\u0000b"}`))); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2 * sent {
		want := letter{"lead", strconv.Itoa(i / 2)}
		if i%2 == 1 {
			want = letter{"dev-2", `{"text":"a\u0000b"}`}
		}
		if got := receive(t, inside); got != want {
			t.Fatalf("message %d came as %+v, want %+v", i, got, want)
		}
		if got := receive(t, outside); got != want {
			t.Fatalf("message %d came outside as %+v, want %+v", i, got, want)
		}
	}
	if m, err := raw.NextMsg(patience); err != nil || string(m.Data) != `{"text":"a\u0000b"}` {
		t.Errorf("on the receiver's subject came %+v, %v", m, err)
	}
	for range 2 {
		if err := sub.Close(); err != nil {
			t.Errorf("Close of a subscription: %v", err)
		}
	}
	if err := errors.Join(b.Mail("lead", nil), b.nc.Flush()); err != nil {
		t.Fatal(err)
	}
	if len(inside) > 0 {
		t.Error("a closed subscription still hears")
	}
	log.none(t)
}

// TestTooLargeIsLeftOut: what is over the limit comes without its content.
func TestTooLargeIsLeftOut(t *testing.T) {
	b, log := mustEmbed(t, Options{})
	sizes := make(chan int, 4)
	if _, err := b.OnMail(func(_ string, data []byte) { sizes <- len(data) }, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := b.OnTask(func(data []byte) { sizes <- len(data) }, nil); err != nil {
		t.Fatal(err)
	}
	whole := bytes.Repeat([]byte("x"), DefaultMaxPayload)
	large := append(whole, 'x')
	for name, publish := range map[string]func([]byte) error{
		"mail": func(data []byte) error { return b.Mail("dev", data) }, "task": b.Task,
	} {
		for _, test := range []struct {
			data []byte
			want int
		}{{large, 0}, {whole, DefaultMaxPayload}} {
			if err := publish(test.data); err != nil {
				t.Errorf("%s of %d bytes: %v", name, len(test.data), err)
			}
			if n := receive(t, sizes); n != test.want {
				t.Errorf("%s of %d bytes came with %d, want %d", name, len(test.data), n, test.want)
			}
		}
	}
	log.none(t)
}

func TestJournalAndTasksReachTheOperator(t *testing.T) {
	b, _ := mustEmbed(t, Options{Operator: func(id Identity) bool { return id == operator }})
	client := mustDial(t, mustListen(t, b, operator))
	grew, changes := make(chan uint64, 1), make(chan string, 1)
	if _, err := client.OnJournal(func(seq uint64) { grew <- seq }); err != nil {
		t.Fatal(err)
	}
	if _, err := client.OnTask(func(change []byte) { changes <- string(change) }, nil); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(b.JournalGrew(1<<40), b.Task([]byte(`{"op":"created"}`))); err != nil {
		t.Fatal(err)
	}
	if seq, change := receive(t, grew), receive(t, changes); seq != 1<<40 || change != `{"op":"created"}` {
		t.Errorf("heard of line %d and of %q", seq, change)
	}
}

// TestSlowSubscriberIsTold: who is too slow learns that messages were dropped, after the
// drop, so that it can read the store.
func TestSlowSubscriberIsTold(t *testing.T) {
	b, log := mustEmbed(t, Options{Queue: 4})
	begun, leave, lost := make(chan struct{}), make(chan struct{}), make(chan struct{}, 100)
	var once sync.Once
	if _, err := b.OnMail(func(string, []byte) {
		once.Do(func() { close(begun) })
		<-leave
	}, func() { lost <- struct{}{} }); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if err := b.Mail("dev", nil); err != nil {
			t.Fatal(err)
		}
	}
	closes(t, begun, "the callback begins")
	drop := wait[*DropError](t, log)
	receive(t, lost)
	close(leave)
	if drop.Subject != "covey.covey.mail.*" || drop.Dropped < 1 {
		t.Errorf("told of %+v", drop)
	}
}

// TestListenerThatDoesNotRead: a listener that never reads is hung up on, and holds up
// neither the team's own receiver nor other callers.
func TestListenerThatDoesNotRead(t *testing.T) {
	b, _ := mustEmbed(t, Options{Operator: func(id Identity) bool { return id == operator }})
	handleWho(t, b)
	path := mustListen(t, b, operator)
	c, _, h := rawDial(t, path)
	if _, err := fmt.Fprintf(c, "CONNECT {\"auth_token\":%q}\r\nSUB covey.covey.mail.* 1\r\nPING\r\n", h.Token); err != nil {
		t.Fatal(err)
	}
	const sent, size = 120, 1 << 20 // more than the server holds for one connection
	inside, _ := listen(t, b, sent)
	text := bytes.Repeat([]byte("x"), size)
	for range sent {
		if err := b.Mail("dev", text); err != nil {
			t.Fatal(err)
		}
		if got := receive(t, inside); len(got.text) != size {
			t.Fatalf("%d bytes came, want %d", len(got.text), size)
		}
	}
	if _, err := Ask[string, Identity](within(t, patience), mustDial(t, path), "who", ""); err != nil {
		t.Errorf("another caller: %v", err)
	}
	hungUp := make(chan struct{})
	go func() {
		defer close(hungUp)
		for buf := make([]byte, size); ; {
			if _, err := c.Read(buf); err != nil {
				return
			}
		}
	}()
	closes(t, hungUp, "the listener is hung up on")
}

// TestOnlyTheOperatorListens: members, hooks and strays hear no mail, not even their own.
func TestOnlyTheOperatorListens(t *testing.T) {
	for kind, may := range map[string]bool{"operator": true, "tool": false, "hook": false, "acting_hook": false, "stray": false} {
		team, _ := mustEmbed(t, Options{Operator: func(id Identity) bool { return id.Kind == "operator" }})
		in := intrude(t, mustListen(t, team, Identity{Kind: kind, Name: "bob", PID: 2}))
		for _, subject := range []string{"covey.covey.mail.*", "covey.covey.mail.bob", "covey.covey.tasks"} {
			sub, err := in.SubscribeSync(subject)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(in.Flush(), team.Mail("bob", []byte("secret")), team.Task([]byte("secret")), team.nc.Flush(),
				in.Flush()); err != nil {
				t.Fatal(err)
			}
			if !may {
				if err := receive(t, in.refused); !errors.Is(err, nats.ErrPermissionViolation) {
					t.Errorf("%s subscribes to %s: %v", kind, subject, err)
				}
			}
			if n, _, _ := sub.Pending(); (n > 0) != may {
				t.Errorf("%s reads %d messages on %s", kind, n, subject)
			}
		}
	}
}
