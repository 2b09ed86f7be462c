package journal

import (
	"os"
	"testing"

	"github.com/coveyteam/covey/hooks/testrun"
)

func TestMain(m *testing.M) {
	testrun.Begin(30)
	os.Exit(m.Run())
}
