package hooks

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/coveyteam/covey/hooks/proc"
)

// afterTurnLimit is how long one AfterTurn callback may take, the same as a Stop hook.
const afterTurnLimit = 600 * time.Second

// Turn describes a turn that has ended to an AfterTurn callback.
type Turn struct {
	SessionID string
	Cwd       string
	// Messages is the whole conversation as in the transcript, oldest first: each is an
	// object with role and content.
	Messages      []json.RawMessage
	FinalResponse string       // text of the last assistant message
	ToolCalls     []ToolRecord // of this turn, in the order of the requests
	// ReachedMaxIterations means that the turn ended because limits.max_turns was used up.
	ReachedMaxIterations bool
}

// ToolRecord is one tool call of a turn.
type ToolRecord struct {
	Name    string
	Input   json.RawMessage
	Output  json.RawMessage // what the model saw: a string, or content blocks; nil if there is no result
	Success bool
}

// Note is what an AfterTurn callback reports to people. The zero Note reports nothing.
type Note struct {
	Message string
	Data    map[string]any
}

// AfterTurn is a function that is called after a turn has ended.
type AfterTurn func(ctx context.Context, turn Turn) (Note, error)

// afterTurn is one registered AfterTurn.
type afterTurn struct {
	name    string
	do      AfterTurn
	removed bool
}

// AfterTurn registers do to be called after each turn that ended by itself, not after one
// that was interrupted or whose model failed. It cannot refuse the end of a turn; a
// callback on Stop can. Callbacks run one after another, the last one added first. An
// error or a panic is reported, and the next one runs. name is for people. remove is as
// for Add.
func (r *Registry) AfterTurn(name string, do AfterTurn) (remove func()) {
	a := &afterTurn{name: cmp.Or(name, "without a name"), do: do}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.after = append(slices.Clone(r.after), a)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		a.removed = true
		r.after = slices.DeleteFunc(slices.Clone(r.after), func(other *afterTurn) bool { return other == a })
	}
}

// TurnEnded calls the AfterTurn callbacks for a turn that has just ended, and returns when
// the last has returned. The host calls it; transcript is the path of the member's. report
// is called with the result of each callback, or with an empty name if the transcript
// cannot be read. Without callbacks nothing is read.
func (r *Registry) TurnEnded(
	ctx context.Context, transcript string, reachedMax bool, report func(name string, n Note, err error),
) {
	if r == nil {
		return
	}
	r.mu.Lock()
	list := r.after
	r.mu.Unlock()
	if len(list) == 0 {
		return
	}
	turn, err := ReadTurn(transcript)
	if err != nil {
		report("", Note{}, err)
		return
	}
	turn.ReachedMaxIterations = reachedMax
	for _, a := range slices.Backward(list) {
		if ctx.Err() != nil {
			return
		}
		if note, called, err := r.callAfter(ctx, a, turn); called {
			report(a.name, note, err)
		}
	}
}

// callAfter calls one callback. called is false if it was removed.
func (r *Registry) callAfter(ctx context.Context, a *afterTurn, turn Turn) (note Note, called bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, afterTurnLimit)
	defer cancel()
	var n Note
	c := r.start("callback "+a.name, func() bool { return !a.removed },
		func(c *call) { n, c.err = a.do(ctx, turn) })
	switch {
	case c == nil:
		return note, false, nil
	case !c.wait(ctx, proc.DefaultGrace):
		return note, true, fmt.Errorf("it ignores its context and still runs: %w", ctx.Err())
	case c.fault != "":
		return note, true, errors.New(c.fault)
	}
	return n, true, nil
}

// ReadTurn reads the conversation and its last turn from a member's transcript. Callbacks
// on Stop find the path in their Input.
func ReadTurn(transcript string) (Turn, error) {
	f, err := os.Open(transcript)
	if err != nil {
		return Turn{}, fmt.Errorf("transcript: %w", err)
	}
	defer f.Close()
	var p turnReader
	r := bufio.NewReaderSize(f, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF): // a line without a newline is still being written
			return p.turn, nil
		case err != nil:
			return Turn{}, fmt.Errorf("transcript %s: %w", transcript, err)
		}
		p.add(line)
	}
}

// turnReader reduces a transcript to its last turn.
type turnReader struct {
	turn   Turn
	number int
	calls  map[string]int // from the id of a call to its index in ToolCalls
}

// transcriptLine holds the fields that are read of a line.
type transcriptLine struct {
	SessionID string          `json:"sessionId"`
	Cwd       string          `json:"cwd"`
	Turn      int             `json:"turn"`
	Message   json.RawMessage `json:"message"`
}

// contentBlock holds the fields that are read of a message's content.
type contentBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

// add adds one line. Lines that are not messages are skipped, as other readers of
// transcripts do.
func (p *turnReader) add(text []byte) {
	var line transcriptLine
	if json.Unmarshal(text, &line) != nil {
		return
	}
	if line.SessionID != "" {
		p.turn.SessionID, p.turn.Cwd = line.SessionID, line.Cwd
	}
	if line.Turn != p.number || p.calls == nil {
		p.number, p.calls, p.turn.ToolCalls = line.Turn, map[string]int{}, nil
	}
	var m struct {
		Role    string         `json:"role"`
		Content []contentBlock `json:"content"`
	}
	if len(line.Message) == 0 || json.Unmarshal(line.Message, &m) != nil {
		return
	}
	p.turn.Messages = append(p.turn.Messages, line.Message)
	if m.Role == "assistant" {
		p.turn.FinalResponse = ""
	}
	for _, b := range m.Content {
		p.addBlock(m.Role, b)
	}
}

// addBlock adds one block of a message.
func (p *turnReader) addBlock(role string, b contentBlock) {
	switch b.Type {
	case "text":
		if role == "assistant" {
			if p.turn.FinalResponse != "" {
				p.turn.FinalResponse += "\n"
			}
			p.turn.FinalResponse += b.Text
		}
	case "tool_use":
		p.calls[b.ID] = len(p.turn.ToolCalls)
		p.turn.ToolCalls = append(p.turn.ToolCalls, ToolRecord{Name: b.Name, Input: b.Input})
	case "tool_result":
		if i, ok := p.calls[b.ToolUseID]; ok {
			p.turn.ToolCalls[i].Output, p.turn.ToolCalls[i].Success = b.Content, !b.IsError
		}
	}
}
