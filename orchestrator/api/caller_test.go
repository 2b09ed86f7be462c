package api

import (
	"testing"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/orchestrator/process"
)

func TestCallerIdentityRoundTrip(t *testing.T) {
	for _, c := range []process.Caller{
		{Kind: process.Operator, PID: 1}, {Kind: process.MemberTool, Member: "api", PID: 2},
		{Kind: process.Hook, Member: "docs-2", PID: 3}, {Kind: process.ActingHook, Member: "docs-2", PID: 6},
		{Kind: process.Hook, PID: 4}, {Kind: process.Unowned, PID: 5},
	} {
		if got := CallerFrom(Identity(c)); got != c {
			t.Errorf("%+v came back as %+v", c, got)
		}
		if c.String() == "" {
			t.Errorf("%+v has no description", c)
		}
	}
	for _, kind := range []string{"self", "", "Operator", "root"} {
		if got := CallerFrom(bus.Identity{Kind: kind, Name: "api", PID: 9}); got.Kind != process.Unowned || got.Member != "" {
			t.Errorf("a caller of kind %q is %+v", kind, got)
		}
	}
}
