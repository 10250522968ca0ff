package optim

import (
	"math"
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	params := network(1)
	for _, name := range []string{"adam", "muon"} {
		c := Default()
		c.Name = name
		c.Freeze, c.Rates = []string{"*.layers.[1-9].*"}, []Rate{{"lm_head.*", 2}}
		if err := c.Validate(params); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	nan := math.NaN()
	for want, spoil := range map[string]func(*Config){
		`Name is "sgd"; it must be adam or muon`: func(c *Config) { c.Name = "sgd" },
		"Adam.Beta1 is 1":                        func(c *Config) { c.Adam.Beta1 = 1 },
		"Adam.Beta2 is -1":                       func(c *Config) { c.Adam.Beta2 = -1 },
		"Adam.Eps is 0":                          func(c *Config) { c.Adam.Eps = 0 },
		"Adam.Decay is NaN":                      func(c *Config) { c.Adam.Decay = nan },
		"Muon.Momentum is 1":                     func(c *Config) { c.Name, c.Muon.Momentum = "muon", 1 },
		"Muon.Decay is -1":                       func(c *Config) { c.Name, c.Muon.Decay = "muon", -1 },
		"Muon.AdamShare is NaN":                  func(c *Config) { c.Name, c.Muon.AdamShare = "muon", nan },
		`the rate of "*" by 0`:                   func(c *Config) { c.Rates = []Rate{{"*", 0}} },
		`Freeze: "[" is no pattern`:              func(c *Config) { c.Freeze = []string{"["} },
		`Freeze: "visual.*" decides about no parameter; names are like model.layers.0.input_layernorm.weight`: func(c *Config) { c.Freeze = []string{"visual.*"} },
		`Freeze: "lm_head.weight" decides`: func(c *Config) { c.Freeze = []string{"lm_head*", "lm_head.weight"} },
		`Rates: "lm_head.*" decides`:       func(c *Config) { c.Freeze, c.Rates = []string{"lm_head.*"}, []Rate{{"lm_head.*", 2}} },
		"Freeze leaves nothing to train":   func(c *Config) { c.Freeze = []string{"*"} },
		"Freeze leaves no matrix for Muon": func(c *Config) { c.Name, c.Freeze = "muon", []string{"model.layers.*"} },
	} {
		c := Default()
		spoil(&c)
		if err := c.Validate(params); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want %q", err, want)
		}
		if _, err := New(params, c, 1); err == nil {
			t.Errorf("%q: an optimizer was made", want)
		}
	}
}
