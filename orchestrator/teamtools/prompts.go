package teamtools

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/teammate/agent"
)

// hookInput is what a hook in the background wakes its member with.
func hookInput(m mail.Message) agent.Input {
	in := agent.Input{Kind: agent.FromContext, Text: m.Text, MessageID: m.ID}
	var call mail.HookCall
	if json.Unmarshal(m.Data, &call) == nil && call.Feedback {
		in.Kind = agent.FromHook
	}
	return in
}

// Inputs turns mail into the pieces of one prompt, one piece a message, for an
// agent that knows the team's tools by such names.
func (n ToolNames) Inputs(letters []mail.Message, all []tasks.Task) []agent.Input {
	var in []agent.Input
	for _, m := range letters {
		switch m.Kind {
		case mail.Goal, mail.OperatorMessage:
			in = append(in, agent.Input{Kind: agent.FromPerson, Text: m.Text, MessageID: m.ID})
		case mail.HookMessage:
			in = append(in, hookInput(m))
		case mail.HelperMessage:
			// The notice has a frame of its own, and the helper's words in it are defused.
			in = append(in, agent.Input{Kind: agent.FromHelper, Text: m.Text, MessageID: m.ID})
		case mail.Notice:
			// It may quote what a member has written.
			in = append(in, agent.Input{Kind: agent.FromCovey, Text: agent.Defuse(m.Text), MessageID: m.ID})
		case mail.TaskAssignment:
			text := n.assignmentText(m, all)
			in = append(in, agent.Input{Kind: agent.FromTask, Text: text, MessageID: m.ID})
		case mail.TaskLost:
			in = append(in, agent.Input{Kind: agent.FromTask, Text: agent.Defuse(m.Text), MessageID: m.ID})
		default:
			in = append(in, n.protocolInput(m))
		}
	}
	return in
}

// mailText is a message as a model sees it: data from a named member
// (DESIGN 10.2). What could end the frame early is defused.
func mailText(m mail.Message) string {
	return fmt.Sprintf(`<teammate-message teammate_id="%s" summary="%s">%s</teammate-message>`,
		attribute(m.From), attribute(m.Summary), agent.Defuse(m.Text))
}

// attribute is a text as it stands between the quotes of a frame.
func attribute(s string) string {
	return strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;", "\n", " ", "\r", " ").Replace(s)
}

// NoteText returns a note that a member is idle, for a prompt that tells of this note alone.
func NoteText(n mail.Note) string {
	return "<teammate-message teammate_id=\"" + attribute(n.From) + "\">\n" + agent.Defuse(string(n.Shown())) +
		"\n</teammate-message>"
}

// assignmentText tells a member of a task that it was given, by the task's
// state now: it may have changed since the mail was written. If the task is gone, the
// text is that of the mail.
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
	return agent.Defuse(m.Text)
}

// taskText is a task in full, as the member called reader sees it. What another member
// wrote is framed as a message of that member: it is no order of covey or of a person.
// The task is written #7, as in the lists and results of the task tools, which agents
// know from elsewhere; what the operator reads has tasks.Named.
func taskText(t tasks.Task, reader string) string {
	text := agent.Defuse(t.Subject)
	if t.Description != "" {
		text += "\n" + agent.Defuse(t.Description)
	}
	return fmt.Sprintf("#%s: %s", t.ID, framed(t, reader, text))
}

// framed is a text of a task, as a message of the member who wrote it. Words of the
// operator, of the spec and of the reader need no frame.
func framed(t tasks.Task, reader, text string) string {
	if text == "" || t.Author == "" || t.Author == actors.Operator || t.Author == reader {
		return text
	}
	return fmt.Sprintf(`<teammate-message teammate_id="%s" summary="task %s">%s</teammate-message>`,
		attribute(t.Author), t.ID, text)
}

// ClaimText hands a member a task that was claimed for it.
func (n ToolNames) ClaimText(claimed tasks.Task) string {
	return "You had nothing to do, so you have claimed task " + taskText(claimed, claimed.Owner) +
		"\nIt is in progress and yours: " + forTask(n.phrases().finish, claimed.ID)
}

// NudgeText reminds a member of its open tasks. It says how to give them back, because a
// model that is only told to go on repeats itself.
func (n ToolNames) NudgeText(own []tasks.Task) string {
	lines := make([]string, len(own))
	for i, open := range own {
		lines[i] = fmt.Sprintf("- #%s %s (%s)", open.ID, plan.SubjectLine(open), open.Status)
	}
	return "You are idle, but you own open tasks:\n" + strings.Join(lines, "\n") +
		"\nGo on with them. If you cannot, give them back (" + n.phrases().giveBack + ")" +
		" or tell the lead why."
}

// UnansweredText reminds a member of the questions that wait for it.
func (n ToolNames) UnansweredText(list []requests.Request) string {
	lines := make([]string, len(list))
	for i, r := range list {
		lines[i] = fmt.Sprintf("- %s (request_id %s)", notation.FirstLine(r.Text), r.ID)
	}
	return "You are idle, but others wait for your answer:\n" + strings.Join(lines, "\n") +
		"\nAnswer with " + n.phrases().send + ", as the requests in your messages say."
}

// maxReported is how many tasks the request for a report names. Of more tasks it says only
// who did how many, since the lead can list them.
const maxReported = 20

// ReportText asks the lead for the answer that `covey up` ends with.
func ReportText(all []tasks.Task) string {
	lines := make([]string, len(all))
	for i, t := range all {
		lines[i] = fmt.Sprintf("- #%s %s", t.ID, plan.SubjectLine(t))
		if t.Owner != "" {
			lines[i] += " (by " + t.Owner + ")"
		}
	}
	text := "All tasks are completed:\n" + strings.Join(lines, "\n")
	if len(all) > maxReported {
		text = fmt.Sprintf("All %d tasks are completed: %s.", len(all), whoDidHowMany(all))
	}
	return text + "\nThis is your last turn: report to the user what the team has done."
}

// whoDidHowMany counts tasks by owner, in the order of the owners' names.
func whoDidHowMany(all []tasks.Task) string {
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
