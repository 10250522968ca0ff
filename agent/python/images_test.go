package python

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"molt/agent"
	"molt/chat"
	"molt/gateway/wire/wiretest"
	"molt/traj"
)

// TestEnvShowsImages: whatever form they have, the policy is shown images with the text that they came with.
func TestEnvShowsImages(t *testing.T) {
	pool, _, _ := open(t, "paint.py", func(c *Config) { c.Environ = []string{"PAINT_FOLDER=" + t.TempDir()} })
	for _, form := range []string{"bytes", "view", "path", "uri", "pil"} {
		r, policy := play(t, pool, form, "a", "b")
		if r.Outcome != traj.Completed || !slices.Equal(policy.images, []int{0, 2}) || policy.shown[1] != "see>" {
			t.Errorf("%s: %s %s, %d images with %q", form, r.Outcome, r.Detail, policy.images, policy.shown)
		}
	}
	if r, policy := play(t, pool, "first", "b"); r.Outcome != traj.Completed || !slices.Equal(policy.images, []int{1}) {
		t.Errorf("reset: %s %s, %d images", r.Outcome, r.Detail, policy.images)
	}
	for form, want := range map[string]string{
		"url":    "TypeError: image 0 of step is 'http://169.254.169.254/a.png'; want encoded bytes",
		"name":   "want encoded bytes, a path (pathlib.Path)",
		"text":   "image 0 of the agent is no image in PNG, JPEG, GIF or WebP",
		"number": "image 0 of step is int",
	} {
		if r, _ := play(t, pool, form, "a", "b"); r.Outcome != traj.Harness || !strings.Contains(r.Detail, want) {
			t.Errorf("%s: %s, %s", form, r.Outcome, r.Detail)
		}
	}
}

// TestRowsWithImages: the images of a row reach reset, and the policy unless reset says otherwise; and a chat agent as data URIs.
func TestRowsWithImages(t *testing.T) {
	data, err := base64.StdEncoding.DecodeString(wiretest.PNG)
	if err != nil {
		t.Fatal(err)
	}
	image, err := chat.NewImage(data)
	if err != nil {
		t.Fatal(err)
	}
	task := agent.Task{Messages: []chat.Message{chat.NewMessage(chat.User, chat.Part{Text: "a"}, chat.Part{Image: image})}, Label: "row"}
	pool, _, _ := open(t, "paint.py", func(c *Config) { c.Environ = []string{"PAINT_FOLDER=" + t.TempDir()} })
	env := pool.Env()
	start, err := env.Reset(t.Context(), task)
	if err != nil || len(chat.Images(start.Messages...)) != 1 || start.Messages[0].Content != "<a>" {
		t.Errorf("%+v, %v", start, err)
	}
	if err := env.Close(); err != nil {
		t.Error(err)
	}
	c := contextOf(agent.ChatContext{Task: task})
	url := "data:image/png;base64," + wiretest.PNG
	want := `[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"` + url + `"}}]}]`
	if got := c["messages"].(chat.Value).String(); got != want || c["images"].([]string)[0] != url {
		t.Errorf("%s, %v; want %s", got, c["images"], want)
	}
}
