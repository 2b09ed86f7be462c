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

// afterTurnLimit is how long one callback behind a turn may take: as long as a
// Stop hook.
const afterTurnLimit = 600 * time.Second

// Turn is what a callback behind a turn is told of it.
type Turn struct {
	SessionID string
	Cwd       string
	// Messages is the whole conversation as the transcript has it, oldest first:
	// each an object with role and content.
	Messages      []json.RawMessage
	FinalResponse string       // text of the last assistant message
	ToolCalls     []ToolRecord // of this turn, in the order in which they were asked for
	// ReachedMaxIterations says that the turn ended because limits.max_turns was
	// used up.
	ReachedMaxIterations bool
}

// ToolRecord is one tool call of a turn.
type ToolRecord struct {
	Name    string
	Input   json.RawMessage
	Output  json.RawMessage // what the model saw: a string, or content blocks; nil: there is no result
	Success bool
}

// Note is what such a callback leaves for people. The zero Note leaves nothing.
type Note struct {
	Message string
	Data    map[string]any
}

// AfterTurn is a function that is told of turns that have ended.
type AfterTurn func(ctx context.Context, turn Turn) (Note, error)

// afterTurn is one registered AfterTurn.
type afterTurn struct {
	name    string
	do      AfterTurn
	removed bool
}

// AfterTurn has do called behind each turn that came to its end: not behind one
// that was interrupted or whose model failed. It decides nothing; what may
// refuse a turn's end is a callback on Stop. What was added last is called
// first, and one after another. An error or a panic is told, and the next is
// called all the same. name is for people. remove is as that of Add.
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

// TurnEnded calls the AfterTurn callbacks for a turn that has just ended, and
// returns when the last has. The host calls it; transcript is the path of the
// member's. told hears what became of each, and under no name if the transcript
// could not be read; nothing is read if there are no callbacks.
func (r *Registry) TurnEnded(
	ctx context.Context, transcript string, reachedMax bool, told func(name string, n Note, err error),
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
		told("", Note{}, err)
		return
	}
	turn.ReachedMaxIterations = reachedMax
	for _, a := range slices.Backward(list) {
		if ctx.Err() != nil {
			return
		}
		if note, called, err := r.callAfter(ctx, a, turn); called {
			told(a.name, note, err)
		}
	}
}

// callAfter calls one of them; called is false for one that was removed.
func (r *Registry) callAfter(ctx context.Context, a *afterTurn, turn Turn) (note Note, called bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, afterTurnLimit)
	defer cancel()
	var n Note
	c := r.start("callback "+a.name, func() bool { return !a.removed },
		func(c *call) { n, c.err = a.do(ctx, turn) })
	switch {
	case c == nil:
		return note, false, nil
	case !c.finished(ctx, proc.DefaultGrace):
		return note, true, fmt.Errorf("it ignores its context and still runs: %w", ctx.Err())
	case c.fault != "":
		return note, true, errors.New(c.fault)
	}
	return n, true, nil
}

// ReadTurn reads a member's transcript: the conversation, and what it says of
// the last turn. Callbacks on Stop find the path in their Input.
func ReadTurn(transcript string) (Turn, error) {
	f, err := os.Open(transcript)
	if err != nil {
		return Turn{}, fmt.Errorf("transcript: %w", err)
	}
	defer f.Close()
	var p pastTurn
	r := bufio.NewReaderSize(f, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF): // a line without an end is still being written
			return p.turn, nil
		case err != nil:
			return Turn{}, fmt.Errorf("transcript %s: %w", transcript, err)
		}
		p.add(line)
	}
}

// pastTurn folds a transcript into its last turn.
type pastTurn struct {
	turn   Turn
	number int
	calls  map[string]int // id of a call -> its place in ToolCalls
}

// transcriptLine is what is read of a line.
type transcriptLine struct {
	SessionID string          `json:"sessionId"`
	Cwd       string          `json:"cwd"`
	Turn      int             `json:"turn"`
	Message   json.RawMessage `json:"message"`
}

// contentBlock is what is read of a message's content.
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

// add takes one line in. What is no message is left out, as other readers of
// transcripts do.
func (p *pastTurn) add(text []byte) {
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

// addBlock takes in one piece of a message.
func (p *pastTurn) addBlock(role string, b contentBlock) {
	switch b.Type {
	case "text":
		if role == "assistant" {
			p.turn.FinalResponse += orNothing(p.turn.FinalResponse, "\n") + b.Text
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

// orNothing is separator, unless text is empty.
func orNothing(text, separator string) string {
	if text == "" {
		return ""
	}
	return separator
}
