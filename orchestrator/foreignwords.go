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
	byShell tongue = "shell" // a program that has no tools of ours: the covey commands
)

// coveyShell is covey in a shell below a member: nobody says that it is on the PATH.
const coveyShell = `"$COVEY_BIN"`

// tongueOf is how a member's agent reaches the team.
func tongueOf(a configs.Agent) tongue {
	switch {
	case a.Kind == configs.ACP, a.Kind == configs.Command && a.TeamTools:
		return byMCP
	case a.Kind == configs.Command:
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
		return "run `" + coveyShell + " tasks update " + id + " --status in_progress`, do it, then run `" + coveyShell +
			" tasks update " + id + " --status completed`."
	}
	return "set it to in_progress with TaskUpdate, do it, then set it to completed."
}

// toFinish tells how to finish a task that is in progress.
func (t tongue) toFinish(id string) string {
	switch t {
	case byMCP:
		return "do it, then set it to completed with " + mcpUpdate + "."
	case byShell:
		return "do it, then run `" + coveyShell + " tasks update " + id + " --status completed`."
	}
	return "do it, then set it to completed with TaskUpdate."
}

// givingBack is what gives tasks back.
func (t tongue) givingBack() string {
	switch t {
	case byMCP:
		return mcpUpdate + " with status pending and an empty owner"
	case byShell:
		return "`" + coveyShell + " tasks update ID --status pending --owner \"\"`"
	}
	return "TaskUpdate with status pending and an empty owner"
}

// completing names what completes tasks.
func (t tongue) completing() string {
	switch t {
	case byMCP:
		return mcpUpdate
	case byShell:
		return "`" + coveyShell + " tasks update ID --status completed`"
	}
	return "TaskUpdate"
}

// claiming names what claims a task that nobody has.
func (t tongue) claiming(id string) string {
	switch t {
	case byMCP:
		return mcpClaim
	case byShell:
		return "`" + coveyShell + " tasks update " + id + " --status in_progress`"
	}
	return "TaskUpdate, status in_progress"
}

// toAnswer tells a lead what to do once it has answered a goal that was a question.
func (t tongue) toAnswer() string {
	if t == byShell {
		return "run `" + coveyShell + " send --answered TEXT` with your answer."
	}
	return "call " + mcpReport + " with answered true and your answer."
}
