package capture

import (
	"testing"

	"molt/engine"
	"molt/gateway/wire"
)

// TestStrictToolsAreAnotherRequest: a reply that nothing was asked of is not given again where tools are strict.
func TestStrictToolsAreAnotherRequest(t *testing.T) {
	r := demanding(t, "a", func(*wire.Options) {})
	held := asked(engine.Sampling{}, r)
	r.Names = wire.Names{"look": {Name: "look"}, "price": {Name: "price"}}
	if free := asked(engine.Sampling{}, r); free == held {
		t.Errorf("both are %q", free)
	}
}
