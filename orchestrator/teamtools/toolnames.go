package teamtools

import (
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/inbox"
)

// ToolNames says by what names a member's agent knows the tools of the team. Texts for
// a member use these names: an agent that read another one would look for a tool that it
// does not have.
type ToolNames string

const (
	BuiltinNames ToolNames = "builtin" // covey's own agent: TaskUpdate, SendMessage
	MCPNames     ToolNames = "mcp"     // a program that has the tools over MCP: team_task_update
	ShellNames   ToolNames = "shell"   // a program without them: the covey commands
)

// The names of the team tools over MCP. They begin with team_ because agent programs have
// tools of their own that are called as the builtin agent's are.
const (
	SendTool    = "team_send_message"
	MembersTool = "team_members"
	CreateTool  = "team_task_create"
	GetTool     = "team_task_get"
	UpdateTool  = "team_task_update"
	ListTool    = "team_task_list"
	ClaimTool   = "team_task_claim"
	ReportTool  = "team_report"
	PlanTool    = "team_submit_plan"
)

// coveyShell is the covey command in the shell of a member. It need not be on the PATH.
const coveyShell = `"$COVEY_BIN"`

// NamesFor returns the names that an agent knows the tools by.
func NamesFor(a configs.Agent) ToolNames {
	switch {
	case a.Kind == configs.ACP, a.Kind == configs.Command && a.TeamTools:
		return MCPNames
	case a.Kind == configs.Command:
		return ShellNames
	}
	return BuiltinNames
}

// phrases say how something is done with the tools that an agent has. ID stands for the id
// of the task in question.
type phrases struct {
	begin    string // a ready task of its own
	finish   string // a task in progress
	complete string // what completes a task
	claim    string // what claims a task that nobody has
	giveBack string // what gives a task back
	send     string // what sends a message
	plan     string // what submits a plan
	answer   string // what a lead does that has answered a goal which was a question
}

// phrases returns those of an agent that has the tools by these names.
func (n ToolNames) phrases() phrases {
	switch n {
	case MCPNames:
		return phrases{
			begin:    "claim it with " + ClaimTool + ", do it, then set it to completed with " + UpdateTool + ".",
			finish:   "do it, then set it to completed with " + UpdateTool + ".",
			complete: UpdateTool,
			claim:    ClaimTool,
			giveBack: UpdateTool + " with status pending and an empty owner",
			send:     SendTool,
			plan:     PlanTool,
			answer:   "call " + ReportTool + " with answered true and your answer.",
		}
	case ShellNames:
		update := coveyShell + " tasks update ID --status "
		return phrases{
			begin:    "run `" + update + "in_progress`, do it, then run `" + update + "completed`.",
			finish:   "do it, then run `" + update + "completed`.",
			complete: "`" + update + "completed`",
			claim:    "`" + update + "in_progress`",
			giveBack: "`" + update + "pending --owner \"\"`",
			send:     "`" + coveyShell + " send`",
			plan:     "`" + coveyShell + " plan -`",
			answer:   "run `" + coveyShell + " send --answered TEXT` with your answer.",
		}
	}
	return phrases{
		begin:    "set it to in_progress with TaskUpdate, do it, then set it to completed.",
		finish:   "do it, then set it to completed with TaskUpdate.",
		complete: "TaskUpdate",
		claim:    "TaskUpdate, status in_progress",
		giveBack: "TaskUpdate with status pending and an empty owner",
		send:     "SendMessage",
		plan:     inbox.PlanTool,
		answer:   "call " + ReportTool + " with answered true and your answer.",
	}
}

// forTask fills in the id of the task that a phrase is about.
func forTask(phrase, id string) string { return strings.ReplaceAll(phrase, "ID", id) }

// Completing names what completes tasks.
func (n ToolNames) Completing() string { return n.phrases().complete }

// Claiming names what claims a task that nobody has.
func (n ToolNames) Claiming(id string) string { return forTask(n.phrases().claim, id) }
