package transcript

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
)

// History is the content of a transcript when it was opened. The zero value is a new
// conversation.
type History struct {
	New       bool                   // there was no transcript, not even an empty one
	Messages  []agent.Message        // the conversation since its last compaction, oldest first
	Turns     int                    // number of the last turn begun; 0: none yet
	Steps     map[int]int            // step of the member's own script -> how often it has served
	Voices    map[string]map[int]int // likewise, of other agents that it has had
	Delivered map[string]bool        // ids of the messages (mail, goal, tasks) that it shows
	Usage     agent.Usage            // tokens of all model requests so far
	CostUSD   float64                // their cost at the time, as far as prices were known
	Largest   Request                // the most that one of them has used
	Cut       *Cut                   // the interrupted turn; nil: every turn ended
	Kept      []agent.Input          // inputs that the next prompt begins with
	Helpers   []string               // ids of helpers and commands in the background that were interrupted

	// Handover is set if the session was about to end when it was interrupted, and Begun if it
	// has taken the place of another and no turn has begun since.
	Handover *Handover
	Begun    bool

	cwd string // of the last line

	HelperType, HelperCall string // in a helper's own transcript: its kind, and the last call that wanted it
}

// Request is what one model request has used.
type Request struct {
	Tokens int64
	USD    float64
}

// Max returns the larger of each of the two amounts.
func (r Request) Max(tokens int64, usd float64) Request {
	return Request{max(r.Tokens, tokens), max(r.USD, usd)}
}

// CutPoint describes how far an interrupted turn had come.
type CutPoint string

// The points at which a turn can be interrupted.
const (
	// CutAtPrompt: the last message is the user's (a prompt, feedback or tool
	// results), and no model has answered it.
	CutAtPrompt CutPoint = "prompt"
	// CutAtTools: tool calls of the last assistant message have no result.
	CutAtTools CutPoint = "tools"
	// CutAtGates: the agent had finished, and the turn end had not run.
	CutAtGates CutPoint = "gates"
)

// Cut is a turn that a crash interrupted.
type Cut struct {
	Turn     int
	Cause    events.Cause // why the turn began
	PromptID string       // prompt_id of its hooks
	Point    CutPoint
	Open     []agent.ToolCall // calls without a result, in order; only at CutAtTools
	Passes   int              // model requests answered in this turn
	Refusals int              // refused turn ends in a row
	Refused  bool             // some turn end of this turn was refused: stop_hook_active
	LastText string           // text of the last assistant message, trimmed
}

// maxLine bounds a line: a longer one means a damaged file.
const maxLine = 1 << 30

// errLongLine is the error for a line that is longer than maxLine.
var errLongLine = fmt.Errorf("it is longer than %d bytes", maxLine)

// past accumulates the history from the lines of a transcript.
type past struct {
	h    History
	end  int64  // where the last good line ends
	last string // its uuid
	cut  Cut    // the open turn; Turn 0: none
	said bool   // the open turn holds a message
	bad  int    // number of the first invalid line; 0: none yet
}

// readTranscript reads all lines. past.end excludes invalid lines at the end, which are
// what a power loss leaves of lines that were never synced.
func readTranscript(file io.Reader) (*past, error) {
	p := &past{}
	r := bufio.NewReaderSize(file, 16<<10) // a member that is new has an empty file, and a team many members
	var at int64
	var buf []byte
	for n := 1; ; n++ {
		raw, err := readLine(r, buf[:0])
		buf = raw
		at += int64(len(raw))
		switch {
		case errors.Is(err, io.EOF):
			if p.bad > 0 && p.end == 0 {
				return nil, fmt.Errorf("%w: line %d is no transcript line; move the file away to start over", ErrDamaged, p.bad)
			}
			return p, nil
		case errors.Is(err, errLongLine):
			return nil, fmt.Errorf("%w: line %d: %w; move the file away to start over", ErrDamaged, n, err)
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		var ln Line
		bad := json.Unmarshal(raw, &ln) != nil || ln.Type == ""
		if ln.Format > Format { // read also where another field has another type
			return nil, fmt.Errorf("line %d was %w (format %d, this one reads up to %d)", n, ErrNewer, ln.Format, Format)
		}
		if bad {
			if p.bad == 0 {
				p.bad = n
			}
			continue
		}
		if p.bad > 0 {
			return nil, fmt.Errorf("%w: line %d cannot be read and others follow it; repair it or move the file away", ErrDamaged, p.bad)
		}
		p.add(ln)
		p.end = at
	}
}

// readLine appends the next line, with its newline, to buf. A last line without one is
// torn and counts as the end.
func readLine(r *bufio.Reader, buf []byte) ([]byte, error) {
	for {
		part, err := r.ReadSlice('\n')
		buf = append(buf, part...)
		if len(buf) > maxLine {
			return buf, errLongLine
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return buf, err
		}
	}
}

// add processes one line.
func (p *past) add(ln Line) {
	p.last, p.h.cwd = ln.UUID, ln.Cwd
	switch {
	case ln.Type == SystemLine:
		p.addSystem(ln)
	case ln.Message == nil:
	case ln.Type == UserLine:
		p.addUser(ln)
	case ln.Type == AssistantLine:
		p.addAssistant(ln)
	}
}

func (p *past) addSystem(ln Line) {
	switch ln.Subtype {
	case TurnStarted:
		p.h.HelperType, p.h.HelperCall = ln.AgentType, ln.Call
		p.h.Turns = max(p.h.Turns, ln.Turn)
		p.cut = Cut{Turn: ln.Turn, Cause: ln.Cause, PromptID: ln.PromptID}
		p.said = false
		p.h.Handover, p.h.Begun = nil, false
	case TurnEnded:
		p.h.Turns = max(p.h.Turns, ln.Turn)
		p.cut = Cut{}
		if ln.Reason == events.EndImageError { // as the agent does that goes on without a restart
			p.h.Messages = agent.WithoutImages(p.h.Messages, agent.RefusedImages)
		}
	case InputsKept:
		for _, in := range ln.Inputs {
			p.deliver(in.MessageID)
			in.MessageID = ""
			p.h.Kept = append(p.h.Kept, in)
		}
	case TokensUsed:
		p.spend(ln)
	case Rotated:
		p.handedOver(ln)
	case Begun:
		p.begun(ln)
	case HelperStarted:
		p.h.Helpers = append(p.h.Helpers, ln.Helper)
	case HelperEnded:
		p.h.Helpers = slices.DeleteFunc(p.h.Helpers, func(id string) bool { return id == ln.Helper })
	}
}

func (p *past) addUser(ln Line) {
	if ln.IsSummary {
		p.h.Messages = nil
		p.served(ln)
		p.spend(ln)
	}
	p.h.Messages = append(p.h.Messages, *ln.Message)
	p.said = true
	if len(ln.Kinds) > 0 && p.cut.Turn > 0 { // the request for a brief is outside of turns
		p.h.Kept = nil // this prompt began with them
	}
	for _, id := range ln.Mail {
		p.deliver(id)
	}
	for _, b := range ln.Message.Content {
		p.cut.Open = slices.DeleteFunc(p.cut.Open, func(c agent.ToolCall) bool { return c.ID == b.ToolUseID })
	}
	if ln.Refusals > 0 {
		p.cut.Refusals, p.cut.Refused = ln.Refusals, true
	}
	p.cut.Point = CutAtPrompt
	if len(p.cut.Open) > 0 {
		p.cut.Point = CutAtTools
	}
}

func (p *past) addAssistant(ln Line) {
	p.h.Messages = append(p.h.Messages, *ln.Message)
	p.said = true
	p.served(ln)
	p.spend(ln)
	p.cut.Passes++
	p.cut.LastText = ln.Message.Text()
	p.cut.Open = ln.Message.ToolCalls()
	p.cut.Point = CutAtGates
	if len(p.cut.Open) > 0 {
		p.cut.Point = CutAtTools
		p.cut.Refusals = 0 // a tool call starts the count again
	}
}

// Served returns how often each step of an agent's script has served, by its voice.
func (h *History) Served(voice string) map[int]int {
	if voice == "" {
		if h.Steps == nil {
			h.Steps = map[int]int{}
		}
		return h.Steps
	}
	if h.Voices == nil {
		h.Voices = map[string]map[int]int{}
	}
	if h.Voices[voice] == nil {
		h.Voices[voice] = map[int]int{}
	}
	return h.Voices[voice]
}

// served counts the step of a script that served a line.
func (p *past) served(ln Line) {
	if ln.Step != nil {
		p.h.Served(ln.Voice)[*ln.Step]++
	}
}

// spend adds the use and cost in a line.
func (p *past) spend(ln Line) {
	if ln.Usage != nil {
		p.h.Usage = p.h.Usage.Plus(*ln.Usage)
		p.h.CostUSD += ln.CostUSD
		p.h.Largest = p.h.Largest.Max(ln.Usage.Total(), ln.CostUSD)
	}
}

func (p *past) deliver(id string) {
	if id == "" {
		return
	}
	if p.h.Delivered == nil {
		p.h.Delivered = map[string]bool{}
	}
	p.h.Delivered[id] = true
}

// history returns the history of the whole file. A turn without a message was interrupted
// before its prompt was stored: its work was never confirmed and comes again.
func (p *past) history() History {
	if p.cut.Turn > 0 && p.said {
		p.h.Cut = &p.cut
	}
	return p.h
}
