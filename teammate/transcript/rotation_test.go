package transcript

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/coveyteam/covey/teammate/agent"
)

// TestSucceed: a session goes on with the counts of the one before, with what that has kept, and
// without its conversation.
func TestSucceed(t *testing.T) {
	dir := t.TempDir()
	old, next := filepath.Join(dir, "old.jsonl"), filepath.Join(dir, "next.jsonl")
	step := 3
	own, other := modelSays("done"), modelSays("done")
	own.Step, own.CostUSD = &step, 0.5
	other.Step, other.Voice = &step, "spare"
	write(t, old, started(1), userSays("go", "m1"), own, other, ended(1),
		Line{Type: SystemLine, Subtype: InputsKept, Inputs: []agent.Input{{Kind: agent.FromPerson, Text: "kept"}}})
	h := Handover{Brief: agent.Input{Kind: agent.FromCovey, Text: "the brief"}, Next: "next"}
	file, _ := openTranscript(t, old)
	used := agent.Usage{InputTokens: 7}
	if err := file.HandOver(h, Line{SessionID: "old", Cwd: "/w", Turn: 2, Step: &step, Usage: &used, CostUSD: 0.25}); err != nil {
		t.Fatal(err)
	}
	past, err := ReadHistory(old)
	if err != nil || past.Handover == nil || *past.Handover != h || past.Turns != 2 {
		t.Fatalf("the old session: %+v, %v", past, err)
	}
	if err := os.WriteFile(next+".new", []byte("torn"), 0o600); err != nil { // a crash left it
		t.Fatal(err)
	}
	if err := Succeed(next, old, h); err != nil {
		t.Fatal(err)
	}
	_, now := openTranscript(t, next)
	equal(t, "kept", keptTexts(now), []string{"the brief", "kept"})
	equal(t, "usage", now.Usage, past.Usage)
	equal(t, "cost", now.CostUSD, 0.75)
	equal(t, "turns", now.Turns, 2)
	equal(t, "steps", now.Steps, map[int]int{3: 2})
	equal(t, "voices", now.Voices, map[string]map[int]int{"spare": {3: 1}})
	equal(t, "begun", now.Begun && !now.New, true)
	equal(t, "messages", len(now.Messages)+len(now.Delivered), 0)

	write(t, next, started(3), userSays("the brief, kept, go"), ended(3))
	if err := Succeed(next, old, h); err != nil { // a restored store has not heard of it
		t.Fatal(err)
	}
	if now, err = ReadHistory(next); err != nil || now.Turns != 3 || now.Begun || len(now.Kept) > 0 {
		t.Errorf("the session in use: %+v, %v", now, err)
	}
	if err := Succeed(filepath.Join(dir, "x.jsonl"), filepath.Join(dir, "none.jsonl"), h); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without an old session: %v", err)
	}
}
