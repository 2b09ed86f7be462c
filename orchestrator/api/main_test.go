package api

import (
	"os"
	"testing"

	"github.com/coveyteam/covey/hooks/testrun"
)

func TestMain(m *testing.M) {
	testrun.Begin(0)
	os.Exit(m.Run())
}
