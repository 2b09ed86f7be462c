package state

import (
	"os"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
)

func TestMain(m *testing.M) {
	testkit.Begin(30)
	os.Exit(m.Run())
}
