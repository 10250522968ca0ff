package command

import (
	"os"
	"strings"
	"testing"

	"molt/agent"
)

// TestPrepareLeavesNothing: what cannot be started has no folder.
func TestPrepareLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, test := range []struct {
		name, want string
		preset     Preset
	}{
		{"no such program", "molt-no-such", Preset{Command: "molt-no-such"}},
		{"a placeholder that is none", "{wrokspace} is no placeholder", Preset{Command: "true {wrokspace}"}},
		{"one in a file", "{hmoe} is no placeholder", Preset{Command: "true", Files: []File{{"a", "{hmoe}"}}}},
	} {
		if _, err := Prepare(test.preset, agent.Address{}, Place{}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	left, err := os.ReadDir(os.TempDir())
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
