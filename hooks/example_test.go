package hooks_test

import (
	"fmt"

	"github.com/coveyteam/covey/hooks"
)

// An input given by hand gets the common fields that it lacks.
func ExampleParseInput() {
	in, err := hooks.ParseInput(hooks.PreToolUse, []byte(`{"tool_name":"Bash","tool_input":{"command":"ls"}}`),
		hooks.Common{SessionID: "by-hand", Cwd: "/work"})
	if err != nil {
		fmt.Println(err)
		return
	}
	wire, err := in.Wire()
	fmt.Print(string(wire))
	fmt.Println(err)
	// Output:
	// {"session_id":"by-hand","transcript_path":"","cwd":"/work","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}
	// <nil>
}
