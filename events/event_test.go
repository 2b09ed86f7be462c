package events

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
)

// TestTypes: every type of data is read back as what it was, and no two have one name.
func TestTypes(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && fn.Name.Name == "Type" {
				named++
			}
		}
	}
	if n := len(decoders()) + 1; n != named { // Unknown is none of them
		t.Errorf("%d types have names, and %d are decoded", named, n)
	}
	for name, decode := range decoders() {
		want := Event{Seq: 7, Time: time.Unix(1, 0).UTC(), Team: "crew", Member: "dev", Turn: 2, Helper: "h",
			Data: decode([]byte(`{}`))}
		l, err := want.Line()
		if err != nil || l.Type != name || l.Event().Data.Type() != name {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
		read, err := Decode(texts.Encode(l))
		if got := read.Event(); err != nil || reflect.TypeOf(got.Data) != reflect.TypeOf(want.Data) || got.Seq != 7 || !got.Time.Equal(want.Time) ||
			got.Team != "crew" || got.Member != "dev" || got.Turn != 2 || got.Helper != "h" {
			t.Errorf("%s: read as %+v, %v", name, got, err)
		}
	}
}

// TestLineBytes: what programs read does not change. Lines of the store escape what HTML does.
func TestLineBytes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	for want, e := range map[string]Event{
		`{"seq":1,"time":"2026-11-21T10:00:00Z","team":"crew","member":"dev","turn":2,"type":"text","data":{"text":"a < b"},` +
			`"helper":"h","format":1}`: {Seq: 1, Time: at, Team: "crew", Member: "dev", Turn: 2, Helper: "h", Data: TextSaid{"a < b"}},
		`{"seq":2,"time":"2026-11-21T10:00:00Z","team":"crew","member":"","turn":0,"type":"team_waits",` +
			`"data":{"until":"2026-11-21T10:00:00Z","members":["dev"]},"format":1}`: {Seq: 2, Time: at, Team: "crew",
			Data: TeamWaits{Until: at, Members: []string{"dev"}}},
		`{"seq":3,"time":"2026-11-21T10:00:00Z","team":"crew","member":"dev","turn":0,"type":"message_delivered",` +
			`"data":{"id":"\u003c"},"store":9,"format":1}`: {Seq: 3, Time: at, Team: "crew", Member: "dev", Store: 9,
			Data: MessageDelivered{tasks.Delivery{ID: "<"}}},
	} {
		l, err := e.Line()
		if got := string(texts.Encode(l)); err != nil || got != want {
			t.Errorf("got\n%s (%v), want\n%s", got, err, want)
		}
	}
}

// TestStored: a change of the store is an event and back. The operator is no member.
func TestStored(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]any{
		"task": tasks.Change{Op: tasks.Claimed}, "message": mail.Message{ID: "m"}, "message_delivered": tasks.Delivery{ID: "m"},
		"request": requests.Request{ID: "r1"}, "merge": tasks.Merge{ID: "1"},
	} {
		e := Stored(tasks.Event{ID: 4, Member: "dev", Data: data})
		if c := e.Change(); e.Data.Type() != name || e.Store != 4 || c.ID != 4 || c.Member != "dev" || !reflect.DeepEqual(c.Data, data) {
			t.Errorf("%s: %+v and back %+v", name, e, c)
		}
		direct, _ := json.Marshal(data)
		if l, err := e.Line(); err != nil || string(l.Data) != string(direct) {
			t.Errorf("%s: %s, want %s (%v)", name, l.Data, direct, err)
		}
	}
	if e := Stored(tasks.Event{Member: actors.Operator, Data: tasks.Delivery{}}); e.Member != "" {
		t.Errorf("the operator is the member %q", e.Member)
	}
}

// TestUnknown: data of a newer covey keep their bytes, and data of another shape give what is known.
func TestUnknown(t *testing.T) {
	t.Parallel()
	l, err := Decode([]byte(`{"seq":1,"type":"new","data":{"a": [1]}}`))
	if u, ok := l.Event().Data.(Unknown); err != nil || !ok || u.Type() != "new" || string(u.JSON) != `{"a": [1]}` {
		t.Errorf("%+v, %v", l.Event(), err)
	}
	l, err = Decode([]byte(`{"seq":1,"type":"tool_result","data":{"id":5,"name":"Bash","content":"x","more":true}}`))
	if d, ok := l.Event().Data.(ToolReturned); err != nil || !ok || d.Name != "Bash" || !Is[ToolReturned](l) || Is[ToolCalled](l) {
		t.Errorf("%+v, %v", l.Event(), err)
	}
	if d := l.Brief().Data.(ToolReturned); d != (ToolReturned{Name: "Bash"}) {
		t.Errorf("in brief %+v", d)
	}
	for _, bad := range []string{`{}`, `[]`, `{"seq":1`, ``} {
		if _, err := Decode([]byte(bad)); err == nil {
			t.Errorf("%q is a line", bad)
		}
	}
}

// TestEventsShareNothing: an event keeps its data when later lines of its type are decoded, whatever
// those lines leave out.
func TestEventsShareNothing(t *testing.T) {
	t.Parallel()
	decoded := func(data string) TaskChanged {
		return Line{Type: "task", Data: []byte(data)}.Event().Data.(TaskChanged)
	}
	first := decoded(`{"op":"created","task":{"id":"1","blockedBy":["7"],"metadata":{"a":1}},"fields":["owner"]}`)
	want := decoded(`{"op":"created","task":{"id":"1","blockedBy":["7"],"metadata":{"a":1}},"fields":["owner"]}`)
	decoded(`{"op":"updated","task":{"id":"2","blockedBy":["8"],"metadata":{"b":2}},"fields":["goal"]}`)
	if last := decoded(`{"by":"dev"}`); !reflect.DeepEqual(last, TaskChanged{tasks.Change{By: "dev"}}) {
		t.Errorf("%+v has what others say", last)
	}
	if !reflect.DeepEqual(first, want) {
		t.Errorf("%+v has changed", first)
	}
}
