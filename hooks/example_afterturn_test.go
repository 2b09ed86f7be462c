package hooks_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coveyteam/covey/hooks"
)

// Callbacks behind a turn see all of it and decide nothing. The last added is
// called first.
func ExampleRegistry_AfterTurn() {
	dir, err := os.MkdirTemp("", "turn")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	transcript := filepath.Join(dir, "t.jsonl")
	text := `{"message":{"role":"assistant","content":[{"type":"text","text":"All tests pass."}]}}` + "\n"
	if err := os.WriteFile(transcript, []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	var registry hooks.Registry
	for _, name := range []string{"first", "second"} {
		registry.AfterTurn(name, func(_ context.Context, turn hooks.Turn) (hooks.Note, error) {
			return hooks.Note{Message: name + " heard: " + turn.FinalResponse}, nil
		})
	}
	// A running team does this at the end of each turn.
	registry.TurnEnded(context.Background(), transcript, false, func(_ string, note hooks.Note, err error) {
		fmt.Println(note.Message, err)
	})
	// Output:
	// second heard: All tests pass. <nil>
	// first heard: All tests pass. <nil>
}
