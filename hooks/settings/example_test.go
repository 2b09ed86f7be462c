package settings_test

import (
	"fmt"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

// Mistakes are reported with their position and a fix.
func ExampleValidate() {
	for _, problem := range settings.Validate(hooks.Settings{
		"TaskComplete": {{Hooks: []hooks.Handler{{Type: "command", Command: "go test ./..."}}}},
		hooks.Stop:     {{Hooks: []hooks.Handler{{Type: "command"}}}},
	}) {
		fmt.Println(problem)
	}
	// Output:
	// Stop[0].hooks[0].command: the hook has no command: write what it is to run
	// TaskComplete: there is no event "TaskComplete": did you mean TaskCompleted?
}

// Parse uses the valid parts of a settings file.
func ExampleParse() {
	file, warnings := settings.Parse(".claude/settings.json", []byte(`{
		"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "./stop.sh"}, {"type": "comand"}]}]},
		"permissions": {"deny": ["Bash(git push *)"]}}`))
	fmt.Println(file.Hooks[hooks.Stop][0].Hooks[0].Command, file.Permissions.Deny)
	for _, warning := range warnings {
		fmt.Println(warning)
	}
	// Output:
	// ./stop.sh [Bash(git push *)]
	// .claude/settings.json:2: hooks.Stop[0].hooks[1].type: there is no handler type "comand": write command, http, mcp_tool, prompt, agent: the hook is left out
}
