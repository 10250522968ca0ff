// Exported models may be narrower than what was trained; nothing else of the run changes.

package run

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molt/run/finetune"
	"molt/run/folder"
	"molt/run/models"
	"molt/run/problem"
	"molt/weights"
)

func TestNarrowExport(t *testing.T) {
	whole, narrow := microSFT(t), microSFT(t)
	narrow.Ckpt.DType = "bf16"
	a, b := runSFT(t, whole), runSFT(t, narrow)
	if a.Loss != b.Loss {
		t.Errorf("the loss is %v, and %v without the narrow export", b.Loss, a.Loss)
	}
	trained, err := models.Open(a.Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	exported, err := models.Open(b.Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range trained.Weights.Tensors {
		bytes, err := weights.Encode(nil, w.Data, weights.BF16)
		if err != nil {
			t.Fatal(err)
		}
		rounded := make([]float32, len(w.Data))
		if err := weights.Decode(rounded, bytes, weights.BF16); err != nil {
			t.Fatal(err)
		}
		if got := exported.Weights.Tensors[i]; got.Name != w.Name || !slices.Equal(got.Data, rounded) || slices.Equal(got.Data, w.Data) {
			t.Errorf("%s is not what was trained, rounded", w.Name)
		}
	}
	saved, _, err := weights.Latest(filepath.Join(narrow.Ckpt.Path, folder.CheckpointsDir))
	if err != nil {
		t.Fatal(err)
	}
	defer saved.Close()
	for _, w := range trained.Weights.Tensors {
		if i := slices.Index(saved.Names(), w.Name); i >= 0 {
			if got, err := saved.Tensor(w.Name); err != nil || !slices.Equal(got.Data, w.Data) {
				t.Errorf("%s is rounded in the checkpoint: %v", w.Name, err)
			}
		}
	}
	plan, err := finetune.Plan(t.Context(), narrow)
	if err == nil && !strings.Contains(strings.Join(plan.Writes, "\n"), "rounded to bf16: not bit for bit the weights that were trained") {
		t.Errorf("a dry run does not say what is lost: %q", plan.Writes)
	}
}

// TestShardedExport: a model of more than ckpt.max_shard_size is written in shards, with the same weights.
func TestShardedExport(t *testing.T) {
	whole, sharded := microSFT(t), microSFT(t)
	sharded.Ckpt.MaxShard = 20e-6
	a, b := runSFT(t, whole), runSFT(t, sharded)
	one, err := models.Open(a.Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	many, err := models.Open(b.Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	shards, _ := filepath.Glob(filepath.Join(b.Checkpoint, "model-*-of-*.safetensors"))
	if one.Weights.Fingerprint != many.Weights.Fingerprint || len(shards) < 2 {
		t.Errorf("%d shards; fingerprints %s and %s", len(shards), many.Weights.Fingerprint, one.Weights.Fingerprint)
	}
}

// TestNarrowExportRefused: an adapter is written as it was trained, so the setting would do nothing.
func TestNarrowExportRefused(t *testing.T) {
	sft := microSFT(t)
	sft.Model.LoRA.Rank, sft.Model.LoRA.Export, sft.Ckpt.DType = 2, "adapter", "bf16"
	_, err := finetune.Plan(t.Context(), sft)
	wantProblem(t, err, problem.Combined, "ckpt.dtype")
	sft.Ckpt.DType, sft.Ckpt.MaxShard = "f32", 1
	_, err = finetune.Plan(t.Context(), sft)
	wantProblem(t, err, problem.Combined, "ckpt.max_shard_size")
	rl := microRL(t)
	withLoRA(rl)
	rl.Actor.LoRA.Export, rl.Ckpt.DType = "adapter", "f16"
	_, err = preflight(t.Context(), rl)
	wantProblem(t, err, problem.Combined, "ckpt.dtype")
}
