package acpserver

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// story turns the lines of a journal into updates of a session. What the lead says is the
// agent's message; what else is worth telling is a thought, so that clients can fold it.
type story struct {
	lead    string
	tasks   []tasks.Task // not the deleted ones, in the order of their ids
	planned bool         // the client knows the tasks as they are
	calls   map[callKey]acp.ToolCallId
	begun   [thought + 1]bool // by kind: there was a text since the last call
	said    string            // the last text of the lead
	ended   *events.TeamEnded
}

// callKey names a tool call that is under way: its member, and its id among the member's calls.
type callKey struct{ member, id string }

// chunk is a kind of text. Clients join texts of one kind, some of them also across a plan, a result
// or a text of the other kind.
type chunk int

const (
	message chunk = iota
	thought
)

// newStory returns the story of a team that has these tasks.
func newStory(lead string, list []tasks.Task) *story {
	return &story{lead: lead, tasks: list, planned: true, calls: map[callKey]acp.ToolCallId{}}
}

// tell returns the updates for a line. Changes of tasks are one new plan with the next line of
// another kind, because each plan has all tasks.
func (s *story) tell(e events.Event) []acp.SessionUpdate {
	if d, ok := e.Data.(events.TaskChanged); ok {
		s.task(d.Change)
		return nil
	}
	return append(s.rest(), s.line(e)...)
}

// task takes a change of a task over.
func (s *story) task(change tasks.Change) {
	if change.Task.ID == "" { // of an unknown shape
		return
	}
	s.planned = false
	i := slices.IndexFunc(s.tasks, func(t tasks.Task) bool { return t.ID == change.Task.ID })
	switch gone := change.Op == tasks.Deleted; {
	case i < 0 && !gone:
		s.tasks = append(s.tasks, change.Task)
	case i >= 0 && gone:
		s.tasks = slices.Delete(s.tasks, i, i+1)
	case i >= 0:
		s.tasks[i] = change.Task
	}
}

// rest returns the updates for lines that were told but had no update yet.
func (s *story) rest() []acp.SessionUpdate {
	if s.planned {
		return nil
	}
	return []acp.SessionUpdate{s.plan()}
}

// plan returns all tasks.
func (s *story) plan() acp.SessionUpdate {
	s.planned = true
	entries := []acp.PlanEntry{} // the field is required
	for _, t := range s.tasks {
		e := acp.PlanEntry{Content: term.PlainLine(t.Subject), Priority: acp.PlanEntryPriorityMedium,
			Status: acp.PlanEntryStatusPending}
		if t.Owner != "" {
			e.Content += " (" + term.PlainLine(t.Owner) + ")"
		}
		switch t.Status {
		case tasks.InProgress:
			e.Status = acp.PlanEntryStatusInProgress
		case tasks.Completed:
			e.Status = acp.PlanEntryStatusCompleted
		}
		entries = append(entries, e)
	}
	return acp.UpdatePlan(entries...)
}

// line returns the updates for a line that is not about a task.
func (s *story) line(e events.Event) []acp.SessionUpdate {
	switch d := e.Data.(type) {
	case events.TextSaid:
		if e.Member != s.lead || e.Helper != "" {
			return s.text(thought, e.Member+": "+d.Text)
		}
		s.said = d.Text
		return s.text(message, d.Text)
	case events.ToolCalled:
		return s.call(e, d)
	case events.ToolReturned:
		return s.result(e, d)
	case events.TeamEnded:
		s.ended = &d
		return nil
	case events.TeamStarted, events.TurnStarted, events.Idle:
		return nil // the client sees that the team works
	case events.RequestChanged:
		if d.To == actors.Operator && d.Kind != requests.AskQuestion {
			return nil // the client is asked, or told with another line
		}
	case events.MessageSent:
		if s.isPrompt(d) {
			return nil
		}
	}
	return s.text(thought, view.News(e))
}

// text returns a text in paragraphs of its own; nothing for an empty one.
func (s *story) text(kind chunk, text string) []acp.SessionUpdate {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil
	}
	if s.begun[kind] {
		text = "\n\n" + text
	}
	s.begun[kind] = true
	if kind == thought {
		return []acp.SessionUpdate{acp.UpdateAgentThoughtText(text)}
	}
	return []acp.SessionUpdate{acp.UpdateAgentMessageText(text)}
}

// answer returns the team's answer, unless the lead has just said it.
func (s *story) answer(text string) []acp.SessionUpdate {
	if strings.TrimSpace(text) == strings.TrimSpace(s.said) {
		return nil
	}
	return s.text(message, text)
}

// prompted returns what the client said in an earlier session, if a line has that.
func (s *story) prompted(e events.Event) []acp.SessionUpdate {
	m, ok := e.Data.(events.MessageSent)
	if !ok || !s.isPrompt(m) {
		return nil
	}
	clear(s.begun[:])
	return []acp.SessionUpdate{acp.UpdateUserMessageText(m.Text)}
}

// isPrompt reports whether a message is what a client has said, or what another program of the
// operator has sent to the lead.
func (s *story) isPrompt(m events.MessageSent) bool {
	return m.From == actors.Operator && m.To == s.lead
}

// The longest texts of a tool call that a client gets. It shows them to people; the journal has
// all.
const (
	maxTitle  = 200    // characters
	maxInput  = 64_000 // bytes
	maxPath   = 4_096  // bytes
	maxResult = 16_000 // characters
)

// call returns the update for a call that begins.
func (s *story) call(e events.Event, p events.ToolCalled) []acp.SessionUpdate {
	clear(s.begun[:])
	id := acp.ToolCallId(fmt.Sprintf("%s-%d", e.Member, e.Seq)) // ids of agents may repeat
	s.calls[callKey{e.Member, p.ID}] = id
	opts := []acp.ToolCallStartOpt{
		acp.WithStartKind(kindOf(p.Name)), acp.WithStartStatus(acp.ToolCallStatusInProgress),
		// The rules and hooks of a team that has this one as a member know the tool by its name.
		func(call *acp.SessionUpdateToolCall) { call.Meta = map[string]any{"toolName": p.Name} },
	}
	if len(p.Input) <= maxInput {
		opts = append(opts, acp.WithStartRawInput(p.Input))
	}
	var where struct {
		Path string `json:"file_path"`
	}
	if json.Unmarshal(p.Input, &where) == nil && filepath.IsAbs(where.Path) && len(where.Path) <= maxPath {
		opts = append(opts, acp.WithStartLocations([]acp.ToolCallLocation{{Path: where.Path}}))
	}
	title := term.PlainLine(strings.TrimSpace(p.Name + " " + texts.MainInput(p.Input)))
	return []acp.SessionUpdate{acp.StartToolCall(id, texts.Short(e.Member+": "+title, maxTitle), opts...)}
}

// result returns the update for a call that has ended. The client does not know a call that began
// before the lines that were told.
func (s *story) result(e events.Event, p events.ToolReturned) []acp.SessionUpdate {
	key := callKey{e.Member, p.ID}
	id, known := s.calls[key]
	delete(s.calls, key)
	if !known {
		return nil
	}
	text := texts.Middle(term.Plain(p.Content), maxResult)
	return []acp.SessionUpdate{acp.UpdateToolCall(id, acp.WithUpdateStatus(statusOf(!p.IsError)),
		acp.WithUpdateContent([]acp.ToolCallContent{acp.ToolContent(acp.TextBlock(text))}))}
}

// statusOf returns the status of a call that has ended, well or not.
func statusOf(well bool) acp.ToolCallStatus {
	if well {
		return acp.ToolCallStatusCompleted
	}
	return acp.ToolCallStatusFailed
}

// kindOf returns the kind of a tool, by which clients choose how to show its calls.
func kindOf(tool string) acp.ToolKind {
	switch tool {
	case "Bash":
		return acp.ToolKindExecute
	case "Edit", "Write":
		return acp.ToolKindEdit
	case "Read":
		return acp.ToolKindRead
	case "Glob", "Grep":
		return acp.ToolKindSearch
	case "WebFetch":
		return acp.ToolKindFetch
	}
	return acp.ToolKindOther
}
