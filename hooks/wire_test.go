package hooks

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/texts"
)

// recordedInput is one stdin that a real host gave to a command hook.
type recordedInput struct {
	Name  string
	Event Event
	Stdin json.RawMessage
}

// recordedInputs reads all of them.
func recordedInputs(tb testing.TB) []recordedInput {
	tb.Helper()
	f, err := os.Open("testdata/inputs.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var all []recordedInput
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var in recordedInput
		if err := json.Unmarshal(lines.Bytes(), &in); err != nil {
			tb.Fatal(err)
		}
		all = append(all, in)
	}
	return all
}

// typed returns the payload type of an event, or nil if it has none yet.
func typed(event Event) Payload {
	for _, p := range []Payload{SessionStartInput{}, SessionEndInput{}, UserPromptSubmitInput{},
		PreToolUseInput{},
		PostToolUseInput{}, PostToolUseFailureInput{}, StopInput{}, StopFailureInput{}, TeammateIdleInput{},
		TaskCreatedInput{}, TaskCompletedInput{}, NotificationInput{}} {
		if p.Event() == event {
			return p
		}
	}
	return nil
}

// TestConformanceInputs: what a host sent comes out again byte for byte, through
// RawPayload for every event and through the typed payloads where there are some.
func TestConformanceInputs(t *testing.T) {
	seen := 0
	for _, rec := range recordedInputs(t) {
		want := string(rec.Stdin) + "\n"
		in, err := ParseInput(rec.Event, rec.Stdin, Common{})
		if err != nil {
			t.Errorf("%s: %v", rec.Name, err)
			continue
		}
		if got := wireOf(t, in); got != want {
			t.Errorf("%s, raw:\n%swant\n%s", rec.Name, got, want)
		}
		payload := typed(rec.Event)
		if payload == nil {
			continue
		}
		seen++
		fresh := reflect.New(reflect.TypeOf(payload))
		if err := json.Unmarshal(rec.Stdin, fresh.Interface()); err != nil {
			t.Errorf("%s: %v", rec.Name, err)
			continue
		}
		in.Payload = fresh.Elem().Interface().(Payload)
		if got := wireOf(t, in); got != want {
			t.Errorf("%s, typed:\n%swant\n%s", rec.Name, got, want)
		}
	}
	if seen < 20 {
		t.Errorf("only %d recordings of typed events", seen)
	}
}

// wireOf is an input as a hook reads it.
func wireOf(t *testing.T, in Input) string {
	t.Helper()
	wire, err := in.Wire()
	if err != nil {
		t.Fatal(err)
	}
	return string(wire)
}

func TestWireKeepsText(t *testing.T) {
	in := Input{Common: Common{SessionID: "s", PermissionMode: "plan"},
		Payload: StopInput{LastAssistantMessage: "a <b> & \u2028 \xff \"c\"\n"}}
	want := `{"session_id":"s","transcript_path":"","cwd":"","permission_mode":"plan","hook_event_name":"Stop",` +
		`"stop_hook_active":false,"last_assistant_message":"a <b> & \u2028 ` + "\uFFFD" + ` \"c\"\n",` +
		`"background_tasks":[],"session_crons":[]}` + "\n"
	got := wireOf(t, in)
	if strings.ReplaceAll(got, `\ufffd`, "\uFFFD") != want {
		t.Errorf("got  %swant %s", got, want)
	}
	if data, err := json.Marshal(in); err != nil || !json.Valid(data) {
		t.Errorf("json.Marshal: %s, %v", data, err)
	}
}

// TestWireModes: events that recorded hosts send no permission_mode with do not
// get one, whatever the caller fills in.
func TestWireModes(t *testing.T) {
	common := Common{SessionID: "s", PermissionMode: "plan", Effort: &Effort{Level: "high"}}
	for _, tc := range []struct {
		payload Payload
		without bool
	}{
		{SessionStartInput{Source: "startup"}, true},
		{SessionEndInput{Reason: "other"}, true},
		{StopFailureInput{Error: "unknown"}, true},
		{TaskCreatedInput{}, true},
		{NotificationInput{NotificationType: "idle_prompt"}, true},
		{UserPromptSubmitInput{Prompt: "p"}, false},
		{TeammateIdleInput{TeammateName: "a", TeamName: "t"}, false},
		{TaskCompletedInput{}, false},
	} {
		got := wireOf(t, Input{Common: common, Payload: tc.payload})
		if strings.Contains(got, "permission_mode") == tc.without || strings.Contains(got, "effort") == tc.without {
			t.Errorf("%s: %s", tc.payload.Event(), got)
		}
	}
}

// badPayload is a payload that is not an object.
type badPayload struct{ value any }

func (badPayload) Event() Event { return Stop }

func (p badPayload) MarshalJSON() ([]byte, error) { return json.Marshal(p.value) }

func TestWireRefusesBadPayloads(t *testing.T) {
	for _, value := range []any{1, "x", []int{1}, nil, func() {}} {
		if wire, err := (Input{Payload: badPayload{value}}).Wire(); err == nil {
			t.Errorf("%v: %s", value, wire)
		}
	}
	if wire := wireOf(t, Input{Payload: badPayload{struct{}{}}}); !json.Valid([]byte(wire)) {
		t.Errorf("an empty payload: %s", wire)
	}
}

func TestParseInputFillsIn(t *testing.T) {
	defaults := Common{SessionID: "def", TranscriptPath: "/t", Cwd: "/cwd", PermissionMode: "default",
		PromptID: "p"}
	in, err := ParseInput("FutureEvent",
		[]byte(`{"z":1,"cwd":"/own","session_id":"own","a":{"b":[1,2]},"z":2}`), defaults)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"session_id":"own","transcript_path":"/t","cwd":"/own","prompt_id":"p","hook_event_name":"FutureEvent",` +
		`"z":2,"a":{"b":[1,2]}}` + "\n"
	if got := wireOf(t, in); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

func TestParseInputErrors(t *testing.T) {
	for raw, want := range map[string]string{
		``:                                 "not one JSON object",
		`null`:                             "not one JSON object",
		`[1]`:                              "not one JSON object",
		`{"a":1}{"b":2}`:                   "more after the object",
		`{"a":`:                            "not one JSON object",
		`{"session_id":5}`:                 "session_id is 5: want a string",
		`{"effort":"high"}`:                `effort is "high": want an object like {"level":"high"}`,
		`{"hook_event_name":"SessionEnd"}`: `hook_event_name is "SessionEnd", but the event is Stop`,
	} {
		_, err := ParseInput(Stop, []byte(raw), Common{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
	}
	if _, err := ParseInput(Stop, []byte(`[]`), Common{}); !errors.Is(err, texts.ErrNotObject) {
		t.Errorf("%v is not ErrNotObject", err)
	}
}

// FuzzParseInput: whatever is given by hand, nothing panics; what is taken is
// written as one JSON line that reads back as the same.
func FuzzParseInput(f *testing.F) {
	for _, rec := range recordedInputs(f) {
		f.Add(string(rec.Event), []byte(rec.Stdin))
	}
	f.Add("Stop", []byte(`{"a":1,"a":2,"effort":null}`))
	f.Add("", []byte(`{}`))
	f.Fuzz(func(t *testing.T, event string, raw []byte) {
		in, err := ParseInput(Event(event), raw, Common{SessionID: "s"})
		if err != nil {
			if json.Valid(raw) && strings.HasPrefix(strings.TrimSpace(string(raw)), "{") && strings.Contains(err.Error(), "more after") {
				t.Fatalf("%s: %v", raw, err)
			}
			return
		}
		in.Subject()
		in.HookName()
		in.Member()
		in.Call("/")
		wire, err := in.Wire()
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if !json.Valid(wire) || strings.Count(string(wire), "\n") != 1 || !strings.HasSuffix(string(wire), "}\n") {
			t.Fatalf("%s became %q", raw, wire)
		}
		again, err := ParseInput(Event(event), wire, Common{})
		if err != nil {
			if strings.Contains(err.Error(), "hook_event_name") && strings.ToValidUTF8(event, "") != event {
				return // an event's name that is not UTF-8 cannot be written as it is
			}
			t.Fatalf("%s: %v", wire, err)
		}
		if second, err := again.Wire(); err != nil || string(second) != string(wire) {
			t.Fatalf("%s became %s, %v", wire, second, err)
		}
	})
}
