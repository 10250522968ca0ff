package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// TestDoctor: the exit code says whether there is a problem, and --json says which.
func TestDoctor(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, test := range []struct {
		args []string
		code int
	}{{nil, exitOK}, {[]string{"nowhere"}, 3}} {
		var out, talk bytes.Buffer
		code := Run(append([]string{"molt", "doctor", "--json"}, test.args...), strings.NewReader(""), &out, &talk)
		var r struct {
			Findings []struct{ Check, State, Says, Fix string }
		}
		if err := json.Unmarshal(out.Bytes(), &r); err != nil || len(r.Findings) < 4 {
			t.Errorf("%v: %v: %s", test.args, err, out.String())
		}
		problem := false
		for _, f := range r.Findings {
			problem = problem || f.State == "problem"
		}
		if code != test.code || problem != (test.code != exitOK) {
			t.Errorf("%v: exit %d, want %d\n%s%s", test.args, code, test.code, out.String(), talk.String())
		}
	}
}
