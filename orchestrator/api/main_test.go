package api

import (
	"os"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
)

func TestMain(m *testing.M) {
	testkit.Begin(0)
	os.Exit(m.Run())
}
