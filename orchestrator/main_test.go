package orchestrator_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

func TestMain(m *testing.M) {
	testkit.Begin(40)
	programs, err := filepath.Abs("testdata/bin") // what recorded hooks run
	if err != nil {
		panic(err)
	}
	if err := os.Setenv("PATH", programs+string(filepath.ListSeparator)+os.Getenv("PATH")); err != nil {
		panic(err)
	}
	teamtest.Main(m, nil)
}
