package configs

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs/yaml"
)

// TestLaterProvider: a provider that later versions will have is reported as such, and
// the model counts as given.
func TestLaterProvider(t *testing.T) {
	var m modelSpec
	d := yaml.NewDecoder("t.yaml", []byte("{provider: openai, model: x}\n"))
	modelPart(&m).Decode(d, nil, d.Root)
	if len(d.Problems) != 1 || !strings.HasPrefix(d.Problems[0].Message, "provider: openai: not yet") {
		t.Errorf("a later word gives %v", d.Problems)
	}
	if !m.given() {
		t.Error("what is there and cannot be used counts as missing")
	}
}
