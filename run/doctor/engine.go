// The embedded engine with this model: what it takes, and whether its two halves agree.

package doctor

import (
	"context"
	"fmt"
	"math"
	"strings"

	"molt/engine"
	"molt/engine/local"
	"molt/internal/spell"
	"molt/run/machine"
	"molt/run/models"
)

// memory says what the model is stored as, and what generating and training take.
func memory(m *models.Model) []Finding {
	i, err := m.Describe()
	if err != nil {
		return refusals("memory", err)
	}
	found := []Finding{ok("weights", "%s parameters, stored as %s, computed with in float32", spell.Thousands(i.Parameters), strings.Join(i.DTypes, ", ")),
		ok("context", "%s tokens", spell.Thousands(int64(i.Context)))}
	if len(i.Suggested) > 0 {
		found = append(found, note("sampling", "generation_config.json suggests "+strings.Join(i.Suggested, " ")+"; it is never applied", "give these flags if you want them"))
	}
	have := machine.Memory()
	return append(found, fits("to generate", i.Generate, i.Generate.Total, have), fits("to train", i.Train, i.Generate.Total+i.Train.Total, have))
}

func fits(check string, p models.MemoryPlan, need, have int64) Finding {
	says := fmt.Sprintf("up to %s for sequences of %d tokens", spell.MiB(need), p.MaxLen)
	if check == "to train" {
		says += ", generator included"
	}
	switch {
	case have <= 0:
		return note(check, says+"; this system does not say how much memory it has", "")
	case need > have:
		return note(check, fmt.Sprintf("%s, and this machine has %s", says, spell.MiB(have)), "lower rollout.max_len, train.max_tokens_per_micro_batch or engine.cache_mib, train an adapter (actor.lora.rank), or take a smaller model")
	}
	return ok(check, "%s, of %s", says, spell.MiB(have))
}

const sampled = 12 // tokens

// equality samples a few tokens and has the learner score them: every log-prob must come out with the same bits. It lets go
// of the model's weights.
func equality(ctx context.Context, m *models.Model, threads int) Finding {
	const check = "log-probs"
	shape := m.Shape
	shape.MaxPositions = min(shape.MaxPositions, 128)
	config := models.Engine(threads, 1, 0, 0, shape)
	plan, err := local.Plan(shape, config)
	if err != nil {
		return refusals(check, err)[0]
	}
	if need, have := plan.GeneratorWeights+plan.LearnerWeights+plan.Activations, machine.Memory(); have > 0 && need > have {
		return note(check, fmt.Sprintf("generator and learner were not compared: that needs %s", spell.MiB(need)), "")
	}
	g, err := local.NewGenerator(shape, m.Weights, config)
	if err != nil {
		return refusals(check, err)[0]
	}
	defer g.Close()
	config.Copied = m.Release
	l, err := local.NewLearner(shape, m.Weights, config)
	if err != nil {
		return refusals(check, err)[0]
	}
	defer l.Close()
	return compare(ctx, m, g, l)
}

func compare(ctx context.Context, m *models.Model, g engine.Generator, l engine.Learner) Finding {
	const check = "log-probs"
	const fix = "please report this with the model's name and the output of molt doctor --json"
	prompt := m.Tok.EncodeOrdinary("The capital of France is")
	reply, err := g.Generate(ctx, engine.Request{Prompt: prompt, Sampling: engine.Sampling{Temperature: 1, TopP: 1, MaxTokens: sampled}, Key: engine.Key{Seed: 1}}, nil)
	if err != nil {
		return broken(check, "the generator fails: "+err.Error(), fix)
	}
	batch := engine.Batch{Tokens: prompt}
	for i, t := range reply.Tokens {
		batch.Tokens = append(batch.Tokens, t.ID)
		batch.Score = append(batch.Score, int32(len(prompt)+i))
	}
	batch.Starts = []int32{0, int32(len(batch.Tokens))}
	pass, err := l.Forward(ctx, batch, engine.Want{})
	if err != nil {
		return broken(check, "the learner fails: "+err.Error(), fix)
	}
	defer pass.Release()
	for i, logp := range pass.Logp() {
		if want := reply.Tokens[i].Logp; math.Float32bits(logp) != math.Float32bits(want) {
			return broken(check, fmt.Sprintf("of sampled token %d, the generator reports %v and the learner %v", i, want, logp), fix)
		}
	}
	return ok(check, "generator and learner agree bit for bit on %d sampled tokens", len(reply.Tokens))
}
