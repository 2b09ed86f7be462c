package teamtools

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/teammate/agent"
)

// hookInput returns the input with which a background hook wakes its member.
func hookInput(m mail.Message) agent.Input {
	in := agent.Input{Kind: agent.FromContext, Text: m.Text, MessageID: m.ID}
	var call mail.HookCall
	if json.Unmarshal(m.Data, &call) == nil && call.Feedback {
		in.Kind = agent.FromHook
	}
	return in
}

// Inputs turns mail into the inputs of one prompt, one per message, for an agent
// with these tool names.
func (n ToolNames) Inputs(letters []mail.Message, all []tasks.Task) []agent.Input {
	var in []agent.Input
	for _, m := range letters {
		switch m.Kind {
		case mail.Goal, mail.OperatorMessage:
			in = append(in, agent.Input{Kind: agent.FromPerson, Text: m.Text, MessageID: m.ID})
		case mail.HookMessage:
			in = append(in, hookInput(m))
		case mail.HelperMessage:
			// The notice has its own frame, and the helper's text in it is
			// defused.
			in = append(in, agent.Input{Kind: agent.FromHelper, Text: m.Text, MessageID: m.ID})
		case mail.Notice, mail.Reminder:
			// A notice may quote a member.
			in = append(in, agent.Input{Kind: agent.FromCovey, Text: texts.Defuse(m.Text), MessageID: m.ID})
		case mail.TaskAssignment:
			text := n.assignmentText(m, all)
			in = append(in, agent.Input{Kind: agent.FromTask, Text: text, MessageID: m.ID})
		case mail.TaskLost:
			in = append(in, agent.Input{Kind: agent.FromTask, Text: texts.Defuse(m.Text), MessageID: m.ID})
		default:
			in = append(in, n.protocolInput(m))
		}
	}
	return in
}

// mailText returns a message for models: data from a named member, not an order.
// Text that could end the frame early is defused.
func mailText(m mail.Message) string {
	return fmt.Sprintf(`<teammate-message teammate_id="%s" summary="%s">%s</teammate-message>`,
		attribute(m.From), attribute(m.Summary), texts.Defuse(m.Text))
}

// attribute escapes a text for a quoted attribute of a frame.
func attribute(s string) string {
	return strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;", "\n", " ", "\r", " ").Replace(s)
}

// NoteText returns the prompt text of a single note that a member is idle.
func NoteText(n mail.Note) string {
	return "<teammate-message teammate_id=\"" + attribute(n.From) + "\">\n" + texts.Defuse(string(n.Shown())) +
		"\n</teammate-message>"
}

// assignmentText tells a member of a task that was assigned to it. It uses the
// task's current state, because the task may have changed since the mail was
// written, and the text of the mail if the task is gone.
func (n ToolNames) assignmentText(m mail.Message, all []tasks.Task) string {
	id, _ := tasks.AssignedTask(m)
	for _, own := range all {
		if own.ID != id {
			continue
		}
		text := "You own task " + taskText(own, m.To)
		if by := tasks.OpenBlockers(own, all); len(by) > 0 {
			return text + "\nIt waits for " + tasks.NamesOf(by) + "; you will be told when it is ready."
		}
		return text + "\nIt is ready: " + forTask(n.phrases().begin, id)
	}
	return texts.Defuse(m.Text)
}

// taskText returns all of a task as text for the member named reader. Text of
// another member is framed as that member's message, because it is not an
// instruction of covey or of a person. The task is written #7, as agents know it
// from the task tools of other hosts; texts for the operator use tasks.Named.
func taskText(t tasks.Task, reader string) string {
	text := texts.Defuse(t.Subject)
	if t.Description != "" {
		text += "\n" + texts.Defuse(t.Description)
	}
	return fmt.Sprintf("#%s: %s", t.ID, framed(t, reader, text))
}

// framed returns a text of a task, framed as a message of its author. Texts of
// the operator, the spec and the reader get no frame.
func framed(t tasks.Task, reader, text string) string {
	if text == "" || t.Author == "" || t.Author == actors.Operator || t.Author == reader {
		return text
	}
	return fmt.Sprintf(`<teammate-message teammate_id="%s" summary="task %s">%s</teammate-message>`,
		attribute(t.Author), t.ID, text)
}

// ClaimText tells a member of a task that covey claimed for it.
func (n ToolNames) ClaimText(claimed tasks.Task) string {
	return "You had nothing to do, so you have claimed task " + taskText(claimed, claimed.Owner) +
		"\nIt is in progress and yours: " + forTask(n.phrases().finish, claimed.ID)
}

// NudgeText reminds a member of its open tasks. It says how to give them back,
// because a model that is only told to continue repeats itself.
func (n ToolNames) NudgeText(own []tasks.Task) string {
	lines := make([]string, len(own))
	for i, open := range own {
		lines[i] = fmt.Sprintf("- #%s %s (%s)", open.ID, plan.SubjectLine(open), open.Status)
	}
	return "You are idle, but you own open tasks:\n" + strings.Join(lines, "\n") +
		"\nGo on with them. If you cannot, give them back (" + n.phrases().giveBack + ")" +
		" or tell the lead why."
}

// UnjudgedTask returns the task of a member that has changed files without one, or in whose
// folder somebody has. lead says that it is the lead.
func UnjudgedTask(goal, member string, lead bool) tasks.New {
	text := "Files were changed without a task, so the team's gates have not judged the work. Check that it is " +
		"complete, and set this task to completed: the gates decide then."
	if lead {
		text += " If the goal was a question, also answer it with " + ReportTool + " (answered true)."
	}
	return tasks.New{Subject: texts.Clip(texts.FirstLine(goal), 80), Owner: member, Description: text}
}

// UnansweredText reminds a member of the requests that wait for its answer.
func (n ToolNames) UnansweredText(list []requests.Request) string {
	lines := make([]string, len(list))
	for i, r := range list {
		lines[i] = fmt.Sprintf("- %s (request_id %s)", texts.FirstLine(r.Text), r.ID)
	}
	return "You are idle, but others wait for your answer:\n" + strings.Join(lines, "\n") +
		"\nAnswer with " + n.phrases().send + ", as the requests in your messages say."
}

// maxReported limits how many tasks the request for a report names. If there are
// more, it gives only counts by owner, since the lead can list the tasks.
const maxReported = 20

// ReportText asks the lead for the report that `covey up` prints at its end.
func ReportText(all []tasks.Task) string {
	lines := make([]string, len(all))
	for i, t := range all {
		lines[i] = fmt.Sprintf("- #%s %s", t.ID, plan.SubjectLine(t))
		if t.Owner != "" {
			lines[i] += " (by " + t.Owner + ")"
		}
	}
	const request = "All tasks are completed. This is your last turn: report to the user what the team has done.\n"
	if len(all) > maxReported {
		return request + fmt.Sprintf("There are %d: %s.", len(all), countsByOwner(all))
	}
	return request + strings.Join(lines, "\n")
}

// countsByOwner counts tasks by owner, in the order of the owners' names.
func countsByOwner(all []tasks.Task) string {
	count := map[string]int{}
	for _, t := range all {
		count[cmp.Or(t.Owner, "nobody in particular")]++
	}
	var who []string
	for _, name := range slices.Sorted(maps.Keys(count)) {
		who = append(who, fmt.Sprintf("%d by %s", count[name], name))
	}
	return strings.Join(who, ", ")
}
