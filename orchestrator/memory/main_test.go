package memory_test

import (
	"testing"

	"github.com/coveyteam/covey/orchestrator/teamtest"
)

func TestMain(m *testing.M) { teamtest.Main(m, nil) }
