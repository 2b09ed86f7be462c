package merging_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/coveyteam/covey/orchestrator/teamtest"
)

func TestMain(m *testing.M) {
	end := teamtest.Begin(nil)
	// What a gate has left behind is watched for a while, and each look takes as long as the
	// machine has processes.
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		end()
		os.Exit(code)
	}), goleak.IgnoreAnyFunction("github.com/coveyteam/covey/hooks/proc.(*crowd).look"))
}
