package enginetest_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"molt/engine"
	"molt/engine/enginetest"
	"molt/traj"
)

// scripted is the fake as a subject of its own suite.
func scripted(testing.TB) enginetest.Subject {
	config := enginetest.ScriptConfig{MaxTokens: 400}
	script, toy := enginetest.NewScript(config), enginetest.NewToy(config)
	return enginetest.Subject{
		Generator:   script,
		Sink:        script,
		Learner:     toy,
		Fingerprint: enginetest.Fingerprint,
		Probe:       toy,
		Faults: enginetest.Faults{
			Unavailable: func() { script.Inject(enginetest.Fault{Trouble: enginetest.Unavailable}) },
			MissingLogp: func() { script.Inject(enginetest.Fault{Trouble: enginetest.MissingLogp, After: 3}) },
			LoseLearner: toy.Lose,
		},
	}
}

func TestScriptConforms(t *testing.T) { enginetest.Run(t, scripted) }

func TestScriptSaysItsLines(t *testing.T) {
	script := enginetest.NewScript(enginetest.ScriptConfig{
		Reply: enginetest.Turns(map[string][][]int32{"shop": {{5, 6, 2}, {7, 2}}}),
	})
	for _, c := range []struct {
		what   string
		r      engine.Request
		want   []int32
		finish traj.Finish
	}{
		{"turn 0", request("shop", 0, 9), []int32{5, 6, 2}, traj.FinishStop},
		{"turn 1", request("shop", 1, 9), []int32{7, 2}, traj.FinishStop},
		{"turn 0 under a budget", request("shop", 0, 2), []int32{5, 6}, traj.FinishLength},
		{"turn 0 under a stop", stopAt(request("shop", 0, 9), 6), []int32{5, 6}, traj.FinishStop},
	} {
		reply, err := script.Generate(t.Context(), c.r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := sampled(reply); !reflect.DeepEqual(got, c.want) || reply.Finish != c.finish {
			t.Errorf("%s: %v, %s; want %v, %s", c.what, got, reply.Finish, c.want, c.finish)
		}
	}
	if reply, err := script.Generate(t.Context(), request("shop", 2, 4), nil); err != nil || len(reply.Tokens) != 4 {
		t.Errorf("beyond the script: %v, %v; want 4 tokens of the toy", reply, err)
	}
	if got := script.Requests(); len(got) != 5 || got[1].Key.Turn != 1 {
		t.Errorf("recorded %d requests", len(got))
	}
}

func TestScriptRefusesLinesOutsideTheVocabulary(t *testing.T) {
	script := enginetest.NewScript(enginetest.ScriptConfig{Reply: func(engine.Request) []int32 { return []int32{32} }})
	if _, err := script.Generate(t.Context(), request("x", 0, 4), nil); err == nil {
		t.Error("an id outside of the vocabulary was replied")
	}
}

func TestFaults(t *testing.T) {
	onlyShop := func(r engine.Request) bool { return r.Tag == "shop" }
	t.Run("strikes whom it matches, as often as told", func(t *testing.T) {
		script := enginetest.NewScript(enginetest.ScriptConfig{})
		script.Inject(enginetest.Fault{Trouble: enginetest.Unavailable, Match: onlyShop, Times: 2, After: 2})
		for i, want := range []struct {
			tag string
			err error
		}{{"other", nil}, {"shop", engine.ErrUnavailable}, {"shop", engine.ErrUnavailable}, {"shop", nil}} {
			if _, err := script.Generate(t.Context(), request(want.tag, 0, 4), nil); !errors.Is(err, want.err) {
				t.Errorf("request %d of %q: error %v; want %v", i, want.tag, err, want.err)
			}
		}
	})
	t.Run("broken has no class", func(t *testing.T) {
		script := enginetest.NewScript(enginetest.ScriptConfig{})
		script.Inject(enginetest.Fault{Trouble: enginetest.Broken})
		_, err := script.Generate(t.Context(), request("shop", 0, 4), nil)
		if err == nil || errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrLost) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("nan log-prob from a token on", func(t *testing.T) {
		script := enginetest.NewScript(enginetest.ScriptConfig{})
		script.Inject(enginetest.Fault{Trouble: enginetest.NaNLogp, After: 2})
		reply, err := script.Generate(t.Context(), request("shop", 0, 4), nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, token := range reply.Tokens {
			if isNaN := math.IsNaN(float64(token.Logp)); isNaN != (i >= 2) {
				t.Errorf("token %d: log-prob %v", i, token.Logp)
			}
		}
	})
	t.Run("weights switch under a request", func(t *testing.T) {
		script := enginetest.NewScript(enginetest.ScriptConfig{})
		script.Inject(enginetest.Fault{Trouble: enginetest.Switch, After: 2})
		reply, err := script.Generate(t.Context(), request("shop", 0, 4), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := versions(reply); !reflect.DeepEqual(got, []traj.Version{0, 0, 1, 1}) {
			t.Errorf("versions %v; want 0 0 1 1", got)
		}
	})
	t.Run("weights switch to given ones", func(t *testing.T) {
		toy := enginetest.NewToy(enginetest.ScriptConfig{Seed: 9})
		w, _ := toy.Weights(t.Context())
		w.Version = 40
		script := enginetest.NewScript(enginetest.ScriptConfig{})
		script.Inject(enginetest.Fault{Trouble: enginetest.Switch, After: 1, Weights: &w})
		reply, err := script.Generate(t.Context(), request("shop", 0, 2), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := versions(reply); !reflect.DeepEqual(got, []traj.Version{0, 40}) || reply.Fingerprint != w.Fingerprint {
			t.Errorf("versions %v, fingerprint %q; want 0 40, %q", got, reply.Fingerprint, w.Fingerprint)
		}
	})
}

func TestFaultsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := enginetest.NewScript(enginetest.ScriptConfig{TokenTime: time.Second})
		script.Inject(enginetest.Fault{Trouble: enginetest.Slow, Pause: time.Minute, After: 1})
		start := time.Now()
		if _, err := script.Generate(t.Context(), request("shop", 0, 3), nil); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != time.Second+2*time.Minute {
			t.Errorf("a token of a second and two slow ones took %v", took)
		}

		script.Inject(enginetest.Fault{Trouble: enginetest.Hang, After: 2})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		reply, err := script.Generate(ctx, request("shop", 0, 9), nil)
		if err != nil || len(reply.Tokens) != 2 || reply.Finish != traj.FinishAbort || ctx.Err() == nil {
			t.Errorf("a hang gave %d tokens, %q, %v; want 2 and an abort when the context ends", len(reply.Tokens), reply.Finish, err)
		}
	})
}

func TestScriptReportsCachedSessions(t *testing.T) {
	script := enginetest.NewScript(enginetest.ScriptConfig{})
	r := request("shop", 0, 3)
	r.Session = "s"
	first, err := script.Generate(t.Context(), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Prompt = append(append(r.Prompt, sampled(first)...), 9)
	second, err := script.Generate(t.Context(), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if first.Cached != 0 || second.Cached != 5 { // 3 of the prompt, 2 of 3 sampled: the last has no KV yet
		t.Errorf("cached %d, then %d; want 0, then 5", first.Cached, second.Cached)
	}
}

func request(tag string, turn int32, budget int) engine.Request {
	return engine.Request{
		Prompt:   []int32{1, 2, 3},
		Sampling: engine.Sampling{Temperature: 1, MaxTokens: budget},
		Key:      engine.Key{Turn: turn},
		Tag:      tag,
	}
}

func stopAt(r engine.Request, id int32) engine.Request {
	r.Sampling.StopTokens = []int32{id}
	return r
}

func sampled(r engine.Reply) []int32 {
	var got []int32
	for _, t := range r.Tokens {
		got = append(got, t.ID)
	}
	return got
}

func versions(r engine.Reply) []traj.Version {
	var got []traj.Version
	for _, t := range r.Tokens {
		got = append(got, t.Version)
	}
	return got
}
