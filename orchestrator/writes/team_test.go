package writes_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/coveyteam/covey/orchestrator/teamtest"
)

func TestMain(m *testing.M) {
	end := teamtest.Begin(nil)
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		end()
		os.Exit(code)
	}))
}
