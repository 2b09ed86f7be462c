package bus

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"pgregory.net/rapid"
)

type note struct {
	Text string `json:"text"`
	N    int    `json:"n"`
}

func TestPublishSubscribe(t *testing.T) {
	now := time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)
	b, log := mustEmbed(t, Options{Name: "crew", Now: func() time.Time { return now }})
	topic := mustTopic(t, "notes", "api")
	got := make(chan Message[note], 2)
	if _, err := Subscribe(b, topic, func(m Message[note]) { got <- m }); err != nil {
		t.Fatal(err)
	}
	want := note{"a <b> & \u2028 ö \x00", 7}
	for range 2 {
		if err := Publish(b, topic, want); err != nil {
			t.Fatal(err)
		}
	}
	first, second := receive(t, got), receive(t, got)
	if first.Body != want || first.From != "crew" || !first.Time.Equal(now) {
		t.Errorf("got %+v", first)
	}
	if _, err := ulid.ParseStrict(first.ID); err != nil || first.ID == second.ID {
		t.Errorf("ids %q and %q: %v", first.ID, second.ID, err)
	}
	log.none(t)
}

func TestPublishKeepsOrder(t *testing.T) {
	b, _ := mustEmbed(t, Options{})
	topic := mustTopic(t, "order")
	got := make(chan int, 1000)
	if _, err := Subscribe(b, topic, func(m Message[int]) { got <- m.Body }); err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		if err := Publish(b, topic, i); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 1000 {
		if n := receive(t, got); n != i {
			t.Fatalf("message %d came as number %d", n, i)
		}
	}
}

func TestWrongMessageIsReported(t *testing.T) {
	b, log := mustEmbed(t, Options{})
	topic := mustTopic(t, "typed")
	if _, err := Subscribe(b, topic, func(m Message[note]) { t.Errorf("got %+v", m) }); err != nil {
		t.Fatal(err)
	}
	if err := Publish(b, topic, "not a note"); err != nil {
		t.Fatal(err)
	}
	deadline := time.After(patience)
	select {
	case <-log.arrived:
	case <-deadline:
		t.Fatal("nothing was reported")
	}
	if err := log.errs[0]; !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), string(topic)) {
		t.Errorf("reported %v", err)
	}
}

func TestTooLargeIsRefused(t *testing.T) {
	b, log := mustEmbed(t, Options{})
	big := strings.Repeat("x", 10<<20) // a 10 MB prompt
	topic := mustTopic(t, "big")
	var size *SizeError
	if err := Publish(b, topic, big); !errors.As(err, &size) || size.Limit != DefaultMaxPayload ||
		size.Size < 10<<20 {
		t.Errorf("Publish of 10 MB: %v", err)
	}
	if _, err := Request[string, int](within(t, patience), b, topic, big); !errors.As(err, &size) {
		t.Errorf("Request with 10 MB: %v", err)
	}
	if err := Publish(b, topic, big[:DefaultMaxPayload-200]); err != nil {
		t.Errorf("Publish just below the limit: %v", err)
	}
	log.none(t)
}

func TestUnencodableBody(t *testing.T) {
	b, _ := mustEmbed(t, Options{})
	if err := Publish(b, mustTopic(t, "x"), func() {}); err == nil ||
		!strings.Contains(err.Error(), "func()") {
		t.Errorf("Publish of a function: %v", err)
	}
}

func TestOpenRoundTrip(t *testing.T) {
	b := newBus(Options{}.withDefaults(), "")
	rapid.Check(t, func(t *rapid.T) {
		want := note{Text: rapid.String().Draw(t, "text"), N: rapid.Int().Draw(t, "n")}
		data, err := seal(b, &want, nil)
		if err != nil {
			t.Fatal(err)
		}
		m, err := open[note](data)
		if err != nil || m.Body != want {
			t.Fatalf("%+v came back as %+v, %v", want, m.Body, err)
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	for name, wire := range map[string]string{
		"nothing":    ``,
		"no JSON":    `hello`,
		"half":       `{"id":"1","body":{"text":"a"`,
		"no id":      `{"body":{"text":"a"}}`,
		"empty":      `{}`,
		"wrong type": `{"id":"1","body":[1]}`,
		"two values": `{"body":{}} {"body":{}}`,
		"array":      `[]`,
	} {
		t.Run(name, func(t *testing.T) {
			if m, err := open[note]([]byte(wire)); !errors.Is(err, ErrMalformed) {
				t.Errorf("open = %+v, %v; want ErrMalformed", m, err)
			}
		})
	}
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte(`{"id":"1","from":"covey","time":"2026-11-21T07:00:00Z","body":{"text":"a","n":1}}`))
	f.Add([]byte(`{"error":{"code":"busy","text":"later"}}`))
	f.Add([]byte(`{"body":null}`))
	f.Add([]byte(strings.Repeat(`[`, 10_000)))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := open[note](data)
		var remote *Error
		if err != nil && !errors.Is(err, ErrMalformed) && !errors.As(err, &remote) {
			t.Errorf("an error of another kind: %v", err)
		}
		if err == nil && !json.Valid(data) {
			t.Errorf("%q was taken for %+v", data, m)
		}
	})
}

func FuzzCallerOf(f *testing.F) {
	f.Add("covey.ctl.tool.api.12.01J.down")
	f.Add("covey.ctl.tool.*.12.01J.down")
	f.Fuzz(func(t *testing.T, subject string) {
		id, conn, ok := callerOf(subject)
		if ok && (!validToken(id.Kind) || !validToken(id.Name) || !validToken(string(conn))) {
			t.Errorf("callerOf(%q) = %+v, %q", subject, id, conn)
		}
	})
}
