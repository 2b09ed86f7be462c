package port

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/coveyteam/covey/hooks"
)

// TestCallsOfPort: what crosses between a member and its team stays small. A call with a value of any type
// counts twice.
func TestCallsOfPort(t *testing.T) {
	t.Parallel()
	plain := func(of reflect.Type) bool {
		return of.Kind() != reflect.Interface || of == reflect.TypeFor[context.Context]() || of == reflect.TypeFor[error]()
	}
	calls := 0
	for m := range reflect.TypeFor[Mate]().Methods() {
		calls++
		if anything(m, plain) {
			calls++
		}
	}
	for f := range reflect.TypeFor[Ask]().Fields() {
		if !f.Anonymous {
			calls++
		}
		if f.Type == reflect.TypeFor[*ToolCall]() {
			calls++
		}
	}
	calls += 2 // Report, which has an event
	if calls > 20 {
		t.Errorf("the port has %d calls, want at most 20", calls)
	}
}

// anything reports whether a call has a value that may be of any type: of an interface, a raw payload or an event.
func anything(m reflect.Method, plain func(reflect.Type) bool) bool {
	for in := range m.Type.Ins() {
		if !plain(in) {
			return true
		}
	}
	return false
}

// TestPlainValues: what crosses has neither functions nor channels, and no values of unknown types.
func TestPlainValues(t *testing.T) {
	t.Parallel()
	for _, of := range []reflect.Type{reflect.TypeFor[Ask](), reflect.TypeFor[Answered](), reflect.TypeFor[Reported](), reflect.TypeFor[Order]()} {
		checkPlain(t, of, of.Name(), map[reflect.Type]bool{})
	}
	if _, err := json.Marshal(hooks.Outcome{Results: []hooks.Result{{Type: "command"}}}); err != nil {
		t.Error(err)
	}
}

func checkPlain(t *testing.T, of reflect.Type, path string, seen map[reflect.Type]bool) {
	t.Helper()
	if seen[of] {
		return
	}
	seen[of] = true
	switch of.Kind() {
	case reflect.Func, reflect.Chan, reflect.Interface, reflect.UnsafePointer:
		t.Errorf("%s is a %s", path, of)
	case reflect.Pointer, reflect.Slice, reflect.Array:
		checkPlain(t, of.Elem(), path+"[]", seen)
	case reflect.Map:
		checkPlain(t, of.Key(), path+".key", seen)
		checkPlain(t, of.Elem(), path+"[]", seen)
	case reflect.Struct:
		for f := range of.Fields() {
			if f.IsExported() && f.Tag.Get("json") != "-" {
				checkPlain(t, f.Type, path+"."+f.Name, seen)
			}
		}
	}
}
