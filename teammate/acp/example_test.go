package acp_test

import (
	"fmt"
	"os"

	"github.com/coveyteam/covey/teammate/acp"
	"github.com/coveyteam/covey/teammate/program"
)

// An agent on a program that speaks the Agent Client Protocol. The program
// starts with the agent's first Run, which a teammate.Teammate makes.
func ExampleNew() {
	agent, err := acp.New(acp.Options{
		Options: program.Options{
			Command:   []string{"opencode", "acp"},
			Env:       []string{"HOME=" + os.Getenv("HOME"), "PATH=" + os.Getenv("PATH")},
			Dir:       "/srv/app",
			System:    func() string { return "You are api, a member of the team crew." },
			OnSession: func(id string) error { return os.WriteFile("session", []byte(id), 0o600) },
		},
		MCPServers: []acp.MCPServer{{
			Name: "covey", URL: "http://127.0.0.1:4000/mcp",
			Headers: []acp.Pair{{Name: "Authorization", Value: "Bearer SECRET"}},
		}},
		Quirks: acp.Quirks{Usage: acp.UsageLastCall},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
	fmt.Println("ready")
	// Output: ready
}
