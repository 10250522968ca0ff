package enginetest_test

import (
	"context"
	"fmt"

	"molt/engine"
	"molt/engine/enginetest"
)

// A script replies to the turns of a request's tag, and breaks where it is told to.
func ExampleScript() {
	script := enginetest.NewScript(enginetest.ScriptConfig{
		Reply: enginetest.Turns(map[string][][]int32{"shop": {{7, 8, 2}, {9, 2}}}),
	})
	defer script.Close()
	script.Inject(enginetest.Fault{
		Trouble: enginetest.Unavailable,
		Match:   func(r engine.Request) bool { return r.Key.Turn == 1 },
	})
	for _, turn := range []int32{0, 1, 1} {
		reply, err := script.Generate(context.Background(), engine.Request{
			Prompt:   []int32{1, 2, 3},
			Sampling: engine.Sampling{Temperature: 1, MaxTokens: 10},
			Key:      engine.Key{Turn: turn},
			Tag:      "shop",
		}, nil)
		fmt.Println(len(reply.Tokens), reply.Finish, err)
	}
	// Output:
	// 3 stop <nil>
	// 0  enginetest: request "shop": 503 by the script: engine unavailable
	// 2 stop <nil>
}
