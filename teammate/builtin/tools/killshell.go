package tools

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/teammate/agent"
)

// killInput is the input of KillShell.
type killInput struct {
	ShellID string `json:"shell_id"`
}

// killOutput is KillShell's tool_response.
type killOutput struct {
	Message string `json:"message"`
	ShellID string `json:"shell_id"`
}

func (t *Set) killShellTool() agent.Tool {
	spec := agent.Spec{
		Name:        "KillShell",
		Description: "Ends a command that runs in the background, with all that it has started.",
	}
	about := map[string]string{
		"shell_id": "The id of the background command to end, or the number of a process that a command has left running",
	}
	return NewTyped(spec, about, nil, t.killShell)
}

// killShell ends a run and waits until its processes are gone, so that their ports and
// files are free for the model's next call. In a sandbox no other command can end what a command
// has left running, because each is held by itself.
func (t *Set) killShell(_ context.Context, in killInput) agent.ToolResult {
	if s, ok := t.leftRunning(in.ShellID); ok {
		endMarked(s.marker)
		message := fmt.Sprintf("process %d has ended, with what its command has left running besides", s.pid)
		return Success(message, killOutput{message, in.ShellID})
	}
	r, err := t.find(in.ShellID)
	if err != nil {
		return agent.Failed("KillShell: %v", err)
	}
	// This takes at most the grace time plus the time that KILL takes.
	r.kill()
	<-r.ended
	message := fmt.Sprintf("%s is %s", r.ID, r.status())
	return Success(message, killOutput{message, r.ID})
}
