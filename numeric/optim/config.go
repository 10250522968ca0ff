package optim

import (
	"errors"
	"fmt"
	"math"
)

// Config says how parameters step. The learning rate comes with each step: it is that of the optimizer in Name.
type Config struct {
	// Name is "adam" (AdamW for every parameter), or "muon": Muon for the matrices inside the network, AdamW for the rest.
	Name string
	Adam Adam
	Muon Muon // read when Name is "muon"
	// Freeze lists patterns, as path.Match reads them, of names of parameters that never change. They have no moments and
	// are no part of the gradients' norm.
	Freeze []string
	// Rates gives parameters learning rates of their own; the first pattern that matches counts.
	Rates []Rate
}

// Adam is AdamW with bias correction and decoupled decay (Loshchilov and Hutter 2019).
type Adam struct {
	Beta1, Beta2 float64 // decay of the first and second moment, [0, 1)
	Eps          float64 // added to the root of the second moment, (0, 1)
	Decay        float64 // decoupled weight decay of matrices, [0, 1); norms and biases never decay
	BF16         bool    // keep both moments in bfloat16: 4 bytes a weight instead of 8; see half.go
}

// Muon is momentum made orthogonal (Jordan 2024, https://kellerjordan.github.io/posts/muon).
type Muon struct {
	Momentum  float64 // share of the running mean that a step keeps, [0, 1)
	Nesterov  bool    // look ahead: blend the gradient in once more
	Decay     float64 // decoupled weight decay, [0, 1)
	AdamShare float64 // learning rate of the parameters that AdamW steps, as a share of Muon's, >= 0
}

// Rate multiplies the learning rate of the parameters whose names match Pattern by Scale, > 0.
type Rate struct {
	Pattern string
	Scale   float64
}

// Default is AdamW as the original Molt sets it, and Muon ready to be chosen.
func Default() Config {
	return Config{
		Name: "adam",
		Adam: Adam{Beta1: 0.9, Beta2: 0.95, Eps: 1e-8},
		Muon: Muon{Momentum: 0.95, Nesterov: true, AdamShare: 1},
	}
}

// Validate reports everything that is wrong with c for these parameters, naming each field. Data and Grad may be nil.
func (c Config) Validate(params []Param) error {
	_, err := c.rules(params)
	return errors.Join(c.validateNumbers(), err)
}

func (c Config) validateNumbers() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("optim: "+format, args...))
		}
	}
	share := func(name string, x float64) {
		check(x >= 0 && x < 1, "%s is %g; it must be at least 0 and below 1", name, x)
	}
	check(c.Name == "adam" || c.Name == "muon", "Name is %q; it must be adam or muon", c.Name)
	share("Adam.Beta1", c.Adam.Beta1)
	share("Adam.Beta2", c.Adam.Beta2)
	check(c.Adam.Eps > 0 && c.Adam.Eps < 1, "Adam.Eps is %g; it must be above 0 and below 1", c.Adam.Eps)
	share("Adam.Decay", c.Adam.Decay)
	if c.Name == "muon" {
		share("Muon.Momentum", c.Muon.Momentum)
		share("Muon.Decay", c.Muon.Decay)
		check(c.Muon.AdamShare >= 0 && !math.IsInf(c.Muon.AdamShare, 0), "Muon.AdamShare is %g; it must be finite and at least 0", c.Muon.AdamShare)
	}
	for _, r := range c.Rates {
		check(r.Scale > 0 && !math.IsInf(r.Scale, 0), "Rates multiplies the rate of %q by %g; it must be above 0 and finite (Freeze keeps parameters as they are)", r.Pattern, r.Scale)
	}
	return errors.Join(errs...)
}
