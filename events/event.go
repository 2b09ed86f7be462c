// Package events defines everything that can happen in a team: one type for each type of line of
// the journal, with its name there and its JSON.
//
// Programs read these lines, so types and fields may be added, but none is renamed.
package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
)

// Event is something that happened in a team. It becomes one line of the journal, which sets
// Seq, Time and Team.
type Event struct {
	Seq    uint64    // number of its line, see Line
	Time   time.Time // for display only
	Team   string
	Member string // empty: the team
	Turn   int    // counts the member's turns from 1; 0 before its first
	// Helper is the id of the member's helper that the event belongs to; empty: the member
	// itself.
	Helper string
	Store  uint64 // id of the store's event; 0: it is no change of the store
	Report uint64 // number of the report of the member's node; 0: it was not reported
	Data   Data
}

// Data is the payload of an Event. Its JSON is the line's data, and its Type is the
// line's type.
type Data interface {
	Type() string
}

// Sink takes a member's events. It must not block for long and may be called
// from several goroutines.
type Sink func(Event)

// Format is the version of the lines' format. Each line holds it. New types and fields do not
// change it.
const Format = 1

// Line is an Event as it stands in a journal. Its data are decoded only for who asks for them.
type Line struct {
	Seq    uint64          `json:"seq"`  // strictly increasing in a team; a restart may leave a gap
	Time   time.Time       `json:"time"` // for display only
	Team   string          `json:"team"`
	Member string          `json:"member"` // empty for events of the team
	Turn   int             `json:"turn"`   // of the member; 0 before its first
	Type   string          `json:"type"`
	Data   json.RawMessage `json:"data"`
	// Helper is the member's helper that the event is about; empty: the member
	// itself.
	Helper string `json:"helper,omitempty"`
	// Store is the id of the store's event; 0 for other lines.
	Store uint64 `json:"store,omitempty"`
	// Report is the number of the report by which the member's node told of the event; 0 for other lines.
	Report uint64 `json:"report,omitempty"`
	Format int    `json:"format,omitempty"` // of the covey that wrote the line

	known Data // what Data says, if the line was made from an Event
}

var errNoSeq = errors.New("no seq")

// Decode reads a line. It fails for text that is not a line of a journal.
func Decode(text []byte) (Line, error) {
	var l Line
	if err := json.Unmarshal(text, &l); err != nil {
		return Line{}, err
	}
	if l.Seq == 0 {
		return Line{}, errNoSeq
	}
	return l, nil
}

// Line encodes the data of an event.
func (e Event) Line() (Line, error) {
	encode := texts.Marshal
	if e.Store > 0 {
		encode = json.Marshal // lines of the store have always escaped <, > and &
	}
	data, err := encode(e.Data)
	if err != nil {
		return Line{}, fmt.Errorf("encode an event of type %s: %w", e.Data.Type(), err)
	}
	return Line{
		Seq: e.Seq, Time: e.Time, Team: e.Team, Member: e.Member, Turn: e.Turn, Type: e.Data.Type(), Data: data,
		Helper: e.Helper, Store: e.Store, Report: e.Report, Format: Format, known: e.Data,
	}, nil
}

// Event decodes the data of a line. Data of an unknown shape give what can be decoded, because
// the journal of a newer covey must be shown, too.
func (l Line) Event() Event {
	e := Event{
		Seq: l.Seq, Time: l.Time, Team: l.Team, Member: l.Member, Turn: l.Turn, Helper: l.Helper, Store: l.Store, Report: l.Report,
		Data: l.known,
	}
	if e.Data != nil {
		return e
	}
	decode, ok := decoders()[l.Type]
	if !ok {
		e.Data = Unknown{l.Type, l.Data}
		return e
	}
	e.Data = decode(l.Data)
	return e
}

// Brief is Event without what a tool has returned, which is most of a journal, for those who fold it:
// the content comes last in its line and is not decoded.
func (l Line) Brief() Event {
	if l.known == nil && Is[ToolReturned](l) {
		if before, _, found := bytes.Cut(l.Data, []byte(`,"content":"`)); found {
			l.Data = append(slices.Clip(before), '}')
		}
	}
	return l.Event()
}

// Is reports whether a line is of a type, without decoding its data.
func Is[T Data](l Line) bool {
	var data T
	return l.Type == data.Type()
}

// Unknown is the data of a line of a newer covey.
type Unknown struct {
	Name string
	JSON json.RawMessage
}

// Type implements Data.
func (u Unknown) Type() string { return u.Name }

// MarshalJSON returns the data as they are in the line.
func (u Unknown) MarshalJSON() ([]byte, error) { return u.JSON, nil }

// decoders returns the decoders of all types of data by the names of the types.
var decoders = sync.OnceValue(func() map[string]func(json.RawMessage) Data {
	byName := map[string]func(json.RawMessage) Data{}
	for _, data := range []Data{
		TeamStarted{}, TeamWaits{}, Bus{}, NodeChanged{}, MemberPlaced{}, TeamEnded{}, BudgetUse{}, MemberUse{}, Coordination{}, SpecChanged{}, ScheduleRan{}, Notified{},
		AfterTurn{}, Warning{}, Notification{},
		MemberStarted{}, MemberEnded{}, MemberLeft{}, MemberHeld{}, MemberResumed{}, MemberRestarts{}, AgentChanged{},
		WatchdogFound{}, NeedsAttention{}, AttentionOver{}, Limited{}, LoggedOut{}, Waiting{}, SettingUp{}, Sandboxed{}, SandboxDenied{}, Rotated{}, FreshSession{}, ProgramStarts{}, ProgramRestarts{},
		TurnStarted{}, TurnEnded{}, TurnFailed{}, Idle{}, PassStarted{}, TextSaid{}, PromptExpanded{}, ToolCalled{},
		ToolReturned{}, CallDetected{}, PermissionDecided{}, HelperStarted{}, HelperEnded{}, HeldUp{}, Planned{},
		Compacted{}, ModelSwitched{}, TokensUsed{},
		HookStarted{}, HookFinished{}, HookFeedback{}, HookStopped{}, HookSummary{}, ModelAsked{}, GateAsked{},
		VerdictFound{}, VerdictReused{},
		TaskChanged{}, TaskUnchanged{}, MessageSent{}, MessageDelivered{}, RequestChanged{}, MergeChanged{}, WorkHinted{}, TargetMoved{},
		WorktreeChanged{},
	} {
		byName[data.Type()] = decoder(reflect.TypeOf(data))
	}
	return byName
})

// decoder returns a function that decodes data of a type. Values to decode into are used again,
// because each would be copied into its Data, and a journal has many lines.
func decoder(t reflect.Type) func(json.RawMessage) Data {
	values := sync.Pool{New: func() any { return reflect.New(t).Interface() }}
	return func(encoded json.RawMessage) Data {
		value := values.Get()
		_ = json.Unmarshal(encoded, value) // see Line.Event
		content := reflect.ValueOf(value).Elem()
		data := content.Interface().(Data)
		content.SetZero() // it shares nothing with what was returned
		values.Put(value)
		return data
	}
}
