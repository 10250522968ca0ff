package local_test

import (
	"encoding/json/v2"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molt/engine"
	"molt/engine/local"
	"molt/numeric/kernel"
	"molt/numeric/model"
	"molt/weights"
)

const architectures = "testdata/architectures"

// golden is what transformers computes for a tiny model of one architecture (scripts/goldens/model).
type golden struct {
	Sequences [][]int32
	Weights   [][]float32 // of each sequence's log-probs from the second token on, in the sum whose gradient is stored
	Logits    [][]float32 // [positions, vocabulary]
}

// eachArchitecture runs a test on every golden folder.
func eachArchitecture(t *testing.T, f func(t *testing.T, dir string, shape model.Config, w engine.Weights, config weights.ModelConfig)) {
	dirs, err := filepath.Glob(architectures + "/*")
	if err != nil || len(dirs) < 19 {
		t.Fatalf("%d golden folders (%v)", len(dirs), err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			folder, err := weights.ReadFolder(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer folder.Close()
			shape, w, err := local.Read(folder)
			if err != nil {
				t.Fatal(err)
			}
			f(t, dir, shape, w, folder.Config)
		})
	}
}

// modelOf is a model with weights w.
func modelOf(t *testing.T, shape model.Config, w engine.Weights) *model.Model {
	m, err := model.New(shape)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Free)
	given := map[string][]float32{}
	for _, x := range w.Tensors {
		given[x.Name] = x.Data
	}
	for _, p := range m.Params() {
		if copy(p.Data, given[p.Name]) != len(p.Data) {
			t.Fatalf("%s has %d weights, the folder %d", p.Name, len(p.Data), len(given[p.Name]))
		}
	}
	m.Refresh(nil)
	return m
}

func TestArchitecturesComputeWhatTransformersDoes(t *testing.T) {
	eachArchitecture(t, func(t *testing.T, dir string, shape model.Config, w engine.Weights, _ weights.ModelConfig) {
		var g golden
		text, err := os.ReadFile(filepath.Join(dir, "golden.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &g, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		m := modelOf(t, shape, w)
		pool := kernel.NewPool(2)
		defer pool.Close()
		work := model.NewWork(m, pool, model.Budget{Tokens: 64, Grad: true})
		defer work.Free()
		for i, ids := range g.Sequences {
			checkLogits(t, m, work, ids, g.Logits[i])
		}
		checkGradients(t, m, work, g, dir)
	})
}

// checkLogits runs a sequence token by token, as generation does.
func checkLogits(t *testing.T, m *model.Model, work *model.Work, ids []int32, want []float32) {
	kv, err := model.NewKV(m.Config(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer kv.Free()
	vocab, worst := m.Config().Vocab, 0.0
	seq, row := &model.Seq{Pages: []int32{0}}, make([]float32, vocab)
	for p := range ids {
		m.Logits(work, row, m.Extend(work, kv, []model.Span{{Seq: seq, Tokens: ids[p:][:1]}}, []bool{true}), 1)
		seq.Len++
		for i, v := range row {
			worst = max(worst, math.Abs(float64(v)-float64(want[p*vocab+i])))
		}
	}
	if !(worst <= 1e-5) {
		t.Errorf("of %d tokens the logits differ by up to %.1e", len(ids), worst)
	}
}

func checkGradients(t *testing.T, m *model.Model, work *model.Work, g golden, dir string) {
	var b model.Batch
	var d []float32
	b.Starts = []int32{0}
	for i, ids := range g.Sequences {
		for j := range ids[1:] {
			b.Score = append(b.Score, int32(len(b.Tokens)+j+1))
		}
		b.Tokens = append(b.Tokens, ids...)
		b.Starts = append(b.Starts, int32(len(b.Tokens)))
		d = append(d, g.Weights[i]...)
	}
	grads, err := model.NewGrads(m.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer grads.Free()
	m.Forward(work, b, model.Want{Grad: true}).Backward(grads, d, nil, nil)
	file, err := weights.Open(filepath.Join(dir, "gradients.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if len(file.Names()) != len(grads.Params()) {
		t.Fatalf("%d gradients, transformers %d", len(grads.Params()), len(file.Names()))
	}
	for _, p := range grads.Params() {
		want, err := file.Tensor(p.Name)
		if err != nil {
			t.Fatal(err)
		}
		largest, worst := 0.0, 0.0
		for i, x := range want.Data {
			largest = max(largest, math.Abs(float64(x)))
			worst = max(worst, math.Abs(float64(x)-float64(p.Data[i])))
		}
		if !(worst <= 2e-5*largest) || largest == 0 {
			t.Errorf("the gradient of %s differs by up to %.1e of %.1e", p.Name, worst, largest)
		}
	}
}

// What is written is the model that was read. With MOLT_EXPORT_DIR the folders stay there, for transformers to load.
func TestArchitecturesSurviveExport(t *testing.T) {
	out := os.Getenv("MOLT_EXPORT_DIR")
	if out == "" {
		out = t.TempDir()
	}
	eachArchitecture(t, func(t *testing.T, dir string, shape model.Config, w engine.Weights, config weights.ModelConfig) {
		export := weights.Model{Config: config}
		for _, x := range w.Tensors {
			export.Tensors = append(export.Tensors, weights.Tensor(x))
		}
		to := filepath.Join(out, filepath.Base(dir))
		if _, err := weights.WriteFolder(to, export); err != nil {
			t.Fatal(err)
		}
		folder, err := weights.ReadFolder(to)
		if err != nil {
			t.Fatal(err)
		}
		defer folder.Close()
		gotShape, got, err := local.Read(folder)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(shape, gotShape); diff != "" {
			t.Errorf("the shape changed on its way through a folder:\n%s", diff)
		}
		if got.Fingerprint != w.Fingerprint {
			t.Errorf("fingerprint %s, before %s", got.Fingerprint, w.Fingerprint)
		}
	})
}

// The bitwise law at the seam that training uses, for every block: a generator's log-probs are the learner's, with shared
// prompts and batches of any make-up, at any thread count, on every kernel path.
func TestArchitecturesTrainOnWhatTheyGenerate(t *testing.T) {
	eachArchitecture(t, func(t *testing.T, _ string, shape model.Config, w engine.Weights, _ weights.ModelConfig) {
		var first []engine.Token
		for _, path := range kernel.Paths() {
			defer kernel.SetPath(path)()
			for threads := 1; threads <= 3; threads++ {
				sampled := generateAndScore(t, shape, w, threads)
				if first == nil {
					first = sampled
				}
				if diff := cmp.Diff(first, sampled); diff != "" {
					t.Errorf("path %s, %d threads: what is sampled differs:\n%s", path, threads, diff)
				}
			}
		}
	})
}

// generateAndScore samples a few replies at once, checks their log-probs against the learner's and returns their tokens.
func generateAndScore(t *testing.T, shape model.Config, w engine.Weights, threads int) []engine.Token {
	config := local.Default()
	config.Threads, config.Running, config.StepTokens, config.BatchTokens = threads, 3, 16, 256
	g, err := local.NewGenerator(shape, w, config)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	const temperature = 0.8
	replies, errs := make([]engine.Reply, 4), make([]error, 4)
	prompts := make([][]int32, len(replies))
	var group sync.WaitGroup
	for i := range replies {
		prompts[i] = append(promptOf(shape.Vocab, 18, 1), int32(i/2)) // pairs have the same prompt
		group.Go(func() {
			replies[i], errs[i] = g.Generate(t.Context(), engine.Request{Prompt: prompts[i], Key: engine.Key{Sample: int32(i)},
				Sampling: engine.Sampling{Temperature: temperature, MaxTokens: 30}}, nil)
		})
	}
	group.Wait()
	b := engine.Batch{Starts: []int32{0}}
	var sampled []engine.Token
	for i, reply := range replies {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		b.Tokens = append(b.Tokens, prompts[i]...)
		for _, token := range reply.Tokens {
			b.Score = append(b.Score, int32(len(b.Tokens)))
			b.Temperature = append(b.Temperature, temperature)
			b.Tokens = append(b.Tokens, token.ID)
		}
		sampled = append(sampled, reply.Tokens...)
		b.Starts = append(b.Starts, int32(len(b.Tokens)))
	}
	l, err := local.NewLearner(shape, w, config)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	pass, err := l.Forward(t.Context(), b, engine.Want{})
	if err != nil {
		t.Fatal(err)
	}
	for i, logp := range pass.Logp() {
		if math.Float32bits(logp) != math.Float32bits(sampled[i].Logp) {
			t.Fatalf("%d threads: token %d has log-prob %x when generated, %x when learned from", threads, i, sampled[i].Logp, logp)
		}
	}
	return sampled
}
