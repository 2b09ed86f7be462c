package launch_test

import (
	"testing"

	"github.com/coveyteam/covey/orchestrator/teamtest"
)

func TestMain(m *testing.M) {
	teamtest.Main(m, map[string]func(dir string) int{
		fakeVariable: fakeAgent, workerVariable: workerAgent, commandFakeVariable: fakeCommand, askerVariable: askerAgent,
	})
}
