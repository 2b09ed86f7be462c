package tasks

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/tasks/mail"
)

// TestReceivedMail: what comes over the bus late, twice, not at all or without content changes
// nothing of what a member reads: the store's messages in order, each until it was read.
func TestReceivedMail(t *testing.T) {
	s := open(t, &Options{MaxUnread: 1 << 20})
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		name := fmt.Sprint("m", runs)
		in := &mail.Received{Member: name}
		var late [][]byte
		for range rapid.IntRange(1, 15).Draw(rt, "steps") {
			switch rapid.IntRange(0, 3).Draw(rt, "what") {
			case 0:
				want, err := s.mail.Unread(t.Context(), name)
				ok(t, want, err)
				boxes, err := s.mail.UnreadOf(t.Context(), []*mail.Received{in})
				got := ok(t, boxes, err)[0]
				if fmt.Sprint(got) != fmt.Sprint(want) || !reflect.DeepEqual(textsOf(got), textsOf(want)) {
					rt.Fatalf("%s reads\n%v\nand the store has\n%v", name, got, want)
				}
				for _, m := range got {
					if rapid.Bool().Draw(rt, "read") {
						ok(t, 0, s.mail.Deliver(t.Context(), as(name), []string{m.ID}))
					}
				}
			case 1:
				for _, data := range late {
					in.Put(data)
				}
				late = nil
			default:
				text := strings.Repeat("<é>\x00", rapid.SampledFrom([]int{0, 1, 1, 1, 20_000}).Draw(rt, "length"))
				_, err := s.mail.Send(t.Context(), as("ann"), mail.Outgoing{
					To: []string{name}, Text: text, Data: json.RawMessage(`{"a": "<b>"}`),
				})
				ok(t, 0, err)
				for _, e := range drain(t, s) {
					if _, ok := e.Data.(mail.Message); !ok {
						continue
					}
					message, err := json.Marshal(e.Data)
					ok(t, 0, err)
					switch rapid.IntRange(0, 4).Draw(rt, "bus") {
					case 0: // lost
					case 1:
						late = append(late, message, message)
					case 2:
						in.Put(nil)
					default:
						in.Put(message)
					}
				}
			}
		}
	})
}

// textsOf returns the texts and data of messages.
func textsOf(list []mail.Message) (out []string) {
	for _, m := range list {
		out = append(out, m.Text, string(m.Data))
	}
	return out
}

// TestReceivedMailIsNotReadAgain: what came over the bus is taken from there, and once it was
// read a Received holds nothing more of it. Mail that has no room is the store's alone.
func TestReceivedMailIsNotReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	s := openAt(t, path, nil)
	in := &mail.Received{Member: "bob"}
	put := func(m mail.Message, text string) {
		t.Helper()
		m.Text = text
		data, err := json.Marshal(m)
		in.Put(ok(t, data, err))
	}
	sent, err := s.mail.Send(t.Context(), as("ann"), mail.Outgoing{To: []string{"bob"}, Text: "from the store"})
	m := ok(t, sent, err)[0]
	texts := func() []string {
		t.Helper()
		boxes, err := s.mail.UnreadOf(t.Context(), []*mail.Received{in})
		var out []string
		for _, m := range ok(t, boxes, err)[0] {
			out = append(out, m.Text)
		}
		return out
	}
	other := m
	other.To = "cy"
	put(other, "another's mail")
	wantList(t, "mail that came for another", texts(), []string{"from the store"})
	put(m, strings.Repeat("x", 300<<10))
	wantList(t, "mail without room", texts(), []string{"from the store"})
	put(m, "from the bus")
	put(m, "twice")
	wantList(t, "mail", texts(), []string{"from the bus"})
	ok(t, 0, s.mail.Deliver(t.Context(), as("bob"), []string{m.ID}))
	wantList(t, "mail that was read", texts(), nil)
	put(m, "late")
	wantList(t, "mail that came after it was read", texts(), nil)
	// Each of these needs most of the room: the earlier ones have left it.
	for i := range 4 {
		sent, err := s.mail.Send(t.Context(), as("ann"), mail.Outgoing{To: []string{"bob"}, Text: "from the store"})
		m := ok(t, sent, err)[0]
		long := strings.Repeat(fmt.Sprint(i), 200<<10)
		put(m, long)
		wantList(t, "long mail", texts(), []string{long})
		ok(t, 0, s.mail.Deliver(t.Context(), as("bob"), []string{m.ID}))
		wantList(t, "mail that was read", texts(), nil)
	}
	drain(t, s)
}
