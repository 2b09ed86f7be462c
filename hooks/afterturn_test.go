package hooks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coveyteam/covey/hooks/proc"
)

// transcriptOf writes a transcript of two turns; the second one calls two tools.
func transcriptOf(t *testing.T) string {
	t.Helper()
	line := func(turn int, message string) string {
		return fmt.Sprintf(`{"type":"x","sessionId":"s","cwd":"/w","turn":%d,"message":%s}`, turn, message)
	}
	text := strings.Join([]string{
		`{"type":"system","subtype":"turn_started","sessionId":"s","cwd":"/w","turn":1}`,
		line(1, `{"role":"user","content":[{"type":"text","text":"hi"}]}`),
		line(1, `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Old","input":{}}]}`),
		line(1, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}`),
		`not a line`,
		line(2, `{"role":"user","content":[{"type":"text","text":"go on"}]}`),
		line(2, `{"role":"assistant","content":[{"type":"text","text":"I look."},`+
			`{"type":"tool_use","id":"b","name":"Bash","input":{"command":"ls"}},{"type":"tool_use","id":"c","name":"Read","input":{}}]}`),
		line(2, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"gone","is_error":true},`+
			`{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"f"}]}]}`),
		line(2, `{"role":"assistant","content":[{"type":"text","text":"It is done."},{"type":"text","text":"Bye."}]}`),
		`{"type":"system","subtype":"turn_ended","sessionId":"s","cwd":"/w","turn":2}`,
		`{"type":"half`,
	}, "\n")
	path := filepath.Join(t.TempDir(), "t.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadTurn(t *testing.T) {
	turn, err := ReadTurn(transcriptOf(t))
	if err != nil {
		t.Fatal(err)
	}
	if turn.SessionID != "s" || turn.Cwd != "/w" || len(turn.Messages) != 7 || turn.FinalResponse != "It is done.\nBye." {
		t.Errorf("%+v", turn)
	}
	var calls []string
	for _, c := range turn.ToolCalls {
		calls = append(calls, fmt.Sprintf("%s %s %s %v", c.Name, c.Input, c.Output, c.Success))
	}
	want := []string{`Bash {"command":"ls"} [{"type":"text","text":"f"}] true`, `Read {} "gone" false`}
	if !slices.Equal(calls, want) {
		t.Errorf("calls %q\nwant  %q", calls, want)
	}
	if _, err := ReadTurn(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a transcript: %v", err)
	}
}

// TestAfterTurn: the last added is called first, one after another; one that
// fails does not keep the next from being called.
func TestAfterTurn(t *testing.T) {
	var reg Registry
	var calls []string
	add := func(name string, do func() (Note, error)) func() {
		return reg.AfterTurn(name, func(_ context.Context, turn Turn) (Note, error) {
			calls = append(calls, fmt.Sprint(name, " ", turn.ReachedMaxIterations, " ", len(turn.ToolCalls)))
			return do()
		})
	}
	add("first", func() (Note, error) { return Note{Message: "m", Data: map[string]any{"k": 1}}, nil })
	add("fails", func() (Note, error) { return Note{}, errors.New("down") })
	remove := add("removed", func() (Note, error) { return Note{}, nil })
	add("panics", func() (Note, error) { panic("boom") })
	remove()
	remove()
	var told []string
	tell := func(name string, n Note, err error) { told = append(told, fmt.Sprint(name, n, err)) }
	reg.TurnEnded(t.Context(), transcriptOf(t), true, tell)
	if want := []string{"panics true 2", "fails true 2", "first true 2"}; !slices.Equal(calls, want) {
		t.Errorf("called %q, want %q", calls, want)
	}
	want := []string{"panics{ map[]} the callback panicked: boom", "fails{ map[]} the callback failed: down", "first{m map[k:1]} <nil>"}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	told = nil
	reg.TurnEnded(t.Context(), "/nowhere", false, tell)
	if len(told) != 1 || !strings.HasPrefix(told[0], "{ map[]} transcript: ") {
		t.Errorf("without a transcript: %q", told)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	calls = nil
	if reg.TurnEnded(over, transcriptOf(t), false, tell); len(calls) != 0 {
		t.Errorf("behind the end of the team: %q", calls)
	}
}

// TestAfterTurnNobody: without such callbacks nothing is read.
func TestAfterTurnNobody(t *testing.T) {
	never := func(string, Note, error) { t.Error("told of nothing") }
	var reg *Registry
	reg.TurnEnded(t.Context(), "/nowhere", false, never)
	new(Registry).TurnEnded(t.Context(), "/nowhere", false, never)
}

// TestAfterTurnDeaf: one that never returns holds nobody up for ever.
func TestAfterTurnDeaf(t *testing.T) {
	path := transcriptOf(t)
	synctest.Test(t, func(t *testing.T) {
		var reg Registry
		release := make(chan struct{})
		var calls []string
		reg.AfterTurn("last", func(context.Context, Turn) (Note, error) {
			calls = append(calls, "last")
			return Note{}, nil
		})
		reg.AfterTurn("deaf", func(context.Context, Turn) (Note, error) { <-release; return Note{Message: "late"}, nil })
		var told []string
		began := time.Now()
		reg.TurnEnded(t.Context(), path, false, func(name string, n Note, err error) {
			told = append(told, fmt.Sprint(name, n, err))
		})
		want := "deaf{ map[]} it ignores its context and still runs: context deadline exceeded"
		if took := time.Since(began); took != afterTurnLimit+proc.DefaultGrace || told[0] != want || len(calls) != 1 {
			t.Errorf("after %v: %q, %q", took, told, calls)
		}
		close(release)
		if err := reg.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
