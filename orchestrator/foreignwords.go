package orchestrator

import "github.com/coveyteam/covey/configs"

// tongue is how a member's agent reaches the team: texts for a member name the
// tools as its agent knows them. A name that it cannot find would send it
// looking for something that is not there.
type tongue string

// The tongues.
const (
	byTools tongue = "tools" // the builtin agent: TaskUpdate, SendMessage, …
	byMCP   tongue = "mcp"   // an agent program: team_task_update, team_send_message, …
	byShell tongue = "shell" // a program that may have no tools of ours: the covey commands
)

// tongueOf is how a member's agent reaches the team.
func tongueOf(a configs.Agent) tongue {
	switch a.Kind {
	case configs.ACP:
		return byMCP
	case configs.Command:
		return byShell
	}
	return byTools
}

// toBegin tells how to begin with a ready task that is one's own.
func (t tongue) toBegin(id string) string {
	switch t {
	case byMCP:
		return "claim it with " + mcpClaim + ", do it, then set it to completed with " + mcpUpdate + "."
	case byShell:
		return "run `covey tasks update " + id + " --status in_progress`, do it, then run `covey tasks update " + id +
			" --status completed`."
	}
	return "set it to in_progress with TaskUpdate, do it, then set it to completed."
}

// toFinish tells how to finish a task that is in progress.
func (t tongue) toFinish(id string) string {
	switch t {
	case byMCP:
		return "do it, then set it to completed with " + mcpUpdate + "."
	case byShell:
		return "do it, then run `covey tasks update " + id + " --status completed`."
	}
	return "do it, then set it to completed with TaskUpdate."
}

// givingBack is what gives tasks back.
func (t tongue) givingBack() string {
	switch t {
	case byMCP:
		return mcpUpdate + " with status pending and an empty owner"
	case byShell:
		return "`covey tasks update ID --status pending --owner \"\"`"
	}
	return "TaskUpdate with status pending and an empty owner"
}

// completing names what completes tasks.
func (t tongue) completing() string {
	switch t {
	case byMCP:
		return mcpUpdate
	case byShell:
		return "`covey tasks update ID --status completed`"
	}
	return "TaskUpdate"
}

// claiming names what claims a task that nobody has.
func (t tongue) claiming(id string) string {
	switch t {
	case byMCP:
		return mcpClaim
	case byShell:
		return "`covey tasks update " + id + " --status in_progress`"
	}
	return "TaskUpdate, status in_progress"
}

// toAnswer tells a lead what to do once it has answered a goal that was a question.
func (t tongue) toAnswer() string {
	if t == byShell {
		return "run `covey send --answered TEXT` with your answer."
	}
	return "call " + mcpReport + " with answered true and your answer."
}
