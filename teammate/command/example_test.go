package command_test

import (
	"fmt"
	"os"

	"github.com/coveyteam/covey/teammate/command"
	"github.com/coveyteam/covey/teammate/program"
)

// An agent on Codex without ACP. The program starts with each prompt that a
// teammate.Teammate gives the agent, and goes on in the same session.
func ExampleNew() {
	agent, err := command.New(command.Options{
		Options: program.Options{
			Command:   []string{"codex", "exec", "--json"},
			Env:       []string{"HOME=" + os.Getenv("HOME"), "PATH=" + os.Getenv("PATH")},
			Dir:       "/srv/app",
			System:    func() string { return "You are api, a member of the team crew." },
			OnSession: func(id string) error { return os.WriteFile("session", []byte(id), 0o600) },
		},
		Resume:  []string{"resume", "{session}"},
		Dialect: command.Codex,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
	fmt.Println("ready")
	// Output: ready
}

// Any program will do: this one gets the prompt as an argument, prints its
// reply, and remembers nothing.
func ExampleNew_text() {
	agent, err := command.New(command.Options{
		Options: program.Options{
			Command: []string{"/usr/local/bin/ask", "--question={prompt}"},
			Dir:     "/srv/app",
			Brief:   func() string { return "Before this, you were asked to review the parser." },
		},
		Dialect: command.Text,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
	fmt.Println("ready")
	// Output: ready
}
