package bus

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// note is the body of a request.
type note struct {
	Text string `json:"text"`
	N    int    `json:"n"`
}

func TestOpenRoundTrip(t *testing.T) {
	b := newBus(Options{}.withDefaults())
	rapid.Check(t, func(t *rapid.T) {
		want := note{Text: rapid.String().Draw(t, "text"), N: rapid.Int().Draw(t, "n")}
		data, err := seal(b, &want, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := open[note](data)
		if err != nil || got != want {
			t.Fatalf("%+v came back as %+v, %v", want, got, err)
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
	f.Add([]byte(`{"id":"1","body":{"text":"a","n":1}}`))
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
	f.Add("covey.t.ctl.tool.api.12.01J.down")
	f.Add("covey.t.ctl.tool.*.12.01J.down")
	f.Fuzz(func(t *testing.T, subject string) {
		id, conn, ok := callerOf(subject)
		if ok && (!validToken(id.Kind) || !validToken(id.Name) || !validToken(string(conn))) {
			t.Errorf("callerOf(%q) = %+v, %q", subject, id, conn)
		}
	})
}
