package teamtools

import (
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/inbox"
)

// ToolNames selects the names by which a member's agent knows the team tools.
// Texts for a member use these names, because an agent would look for a tool of
// any other name.
type ToolNames string

const (
	BuiltinNames ToolNames = "builtin" // the builtin agent: TaskUpdate, SendMessage
	MCPNames     ToolNames = "mcp"     // programs with the tools over MCP: team_task_update
	ShellNames   ToolNames = "shell"   // programs without them: the covey commands
)

// The names of the team tools over MCP. They begin with team_ because agent
// programs have tools of their own with the same names as the builtin agent's.
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
	AskTool     = "team_ask_lead"

	ScheduleCreateTool = "team_schedule_create"
	ScheduleDeleteTool = "team_schedule_delete"
	ScheduleListTool   = "team_schedule_list"
	SpawnTool          = "team_spawn"
)

// SpawnName is the name that the builtin agent knows SpawnTool by.
const SpawnName = "TeammateSpawn"

// coveyShell is the covey command in a member's shell. It need not be on the
// PATH.
const coveyShell = `"$COVEY_BIN"`

// NamesFor returns the tool names of an agent.
func NamesFor(a configs.Agent) ToolNames {
	switch {
	case a.Kind == configs.ACP, a.Kind == configs.Command && a.TeamTools:
		return MCPNames
	case a.Kind == configs.Command:
		return ShellNames
	}
	return BuiltinNames
}

// phrases tell an agent which of its tools to use for a purpose. ID stands for a
// task's id.
type phrases struct {
	begin    string // begins a ready task of its own
	finish   string // finishes a task in progress
	complete string // completes a task
	claim    string // claims a task that nobody owns
	giveBack string // releases a task
	send     string // sends a message
	plan     string // submits a plan
	answer   string // reports the answer to a goal that was a question
	spawn    string // adds a teammate; empty: the agent cannot
}

// phrases returns the phrases for an agent with these tool names.
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
			spawn:    SpawnTool,
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
		spawn:    SpawnName,
	}
}

// forTask fills a task's id into a phrase.
func forTask(phrase, id string) string { return strings.ReplaceAll(phrase, "ID", id) }

// Completing returns the phrase for completing a task.
func (n ToolNames) Completing() string { return n.phrases().complete }

// Claiming returns the phrase for claiming a task.
func (n ToolNames) Claiming(id string) string { return forTask(n.phrases().claim, id) }
