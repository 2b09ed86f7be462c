package crew_test

import (
	"testing"

	"github.com/coveyteam/covey/orchestrator/teamtest"
)

func TestMain(m *testing.M) {
	teamtest.Main(m, map[string]func(string) int{listenVariable: func(string) int { return listen() }})
}
