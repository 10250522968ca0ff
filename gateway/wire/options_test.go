package wire

import "testing"

func TestFill(t *testing.T) {
	type inner struct {
		Turns   int     `json:"turns"`
		Seconds float64 `json:"seconds"`
	}
	for body, want := range map[string]string{
		`{"seed":1,"limits":{"turns":2}}`: "",
		`{"seed":"x"}`:                    "seed: is a string; want an integer, 0 or more",
		`{"seed":-1}`:                     "seed: is a number out of range; want an integer, 0 or more",
		`{"seed":1.5}`:                    "seed: is a number out of range; want an integer, 0 or more",
		`{"name":{}}`:                     "name: is an object; want a string",
		`{"limits":[]}`:                   "limits: is an array; want an object",
		`{"limits":{"turns":true}}`:       "limits.turns: is true; want an integer",
		`{"limits":{"seconds":"1"}}`:      "limits.seconds: is a string; want a number",
		`{"limits":{"trns":1}}`:           "limits.trns: there is no such field",
		`[]`:                              "is an array; want an object",
		`{"seed":`:                        "chat: reading JSON: the text ends inside the value",
	} {
		var into struct {
			Seed   uint64 `json:"seed"`
			Name   string `json:"name"`
			Limits inner  `json:"limits"`
		}
		got := ""
		if p := Fill(&into, []byte(body)); p != nil {
			got = p.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}
