// Large files in ranges: faults, kills, and servers that know no ranges.

package hub

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// noise has no two equal stretches, so that what lands in a wrong place is seen.
func noise(n int) string {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return string(b)
}

var ranged = with(map[string]string{"model.safetensors": noise(40_000)})

// inSpans is a configuration under which model.safetensors arrives in ten spans of 4000 bytes or eight of 5000.
func inSpans(t *testing.T, h *fakeHub) Config {
	c := quick(t, h)
	c.large = 4000
	return c
}

// askedRanges are those that were asked for of large files, sorted.
func askedRanges(h *fakeHub) (out []string) {
	for _, line := range h.asked() {
		if _, r, ok := strings.Cut(line, "bytes="); ok && strings.HasPrefix(line, "cdn") {
			out = append(out, r)
		}
	}
	slices.Sort(out)
	return out
}

func TestRanges(t *testing.T) {
	h := newFakeHub(t, ranged)
	c := inSpans(t, h)
	var last Progress
	c.Progress = func(p Progress) { last = p }
	m := resolve(t, c, "org/name")
	checkFiles(t, m.Dir, ranged, wanted)
	var want []string
	for from := 0; from < 40_000; from += 4000 {
		want = append(want, fmt.Sprintf("%d-%d", from, from+3999))
	}
	for from := 0; from < 5000; from += 625 { // tokenizer.json
		want = append(want, fmt.Sprintf("%d-%d", from, from+624))
	}
	slices.Sort(want)
	if got := askedRanges(h); !slices.Equal(got, want) {
		t.Errorf("asked for %v, want %v", got, want)
	}
	if last.Done != last.Total || last.Done != m.Downloaded {
		t.Errorf("progress ends at %+v", last)
	}
	if blobs := names(t, filepath.Join(c.Cache, "models--org--name", "blobs")); len(blobs) != 5 {
		t.Errorf("left over: %v", blobs)
	}
}

// TestRangesThatAreCut: every request for a range ends half way, some of them after nothing.
func TestRangesThatAreCut(t *testing.T) {
	h := newFakeHub(t, ranged)
	faulty(h, "model.safetensors", 40, func(w http.ResponseWriter, r *http.Request) {
		var from, last int
		fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &last)
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/40000", from, last))
		w.Header().Set("Content-Length", fmt.Sprint(last+1-from))
		w.WriteHeader(http.StatusPartialContent)
		_, _ = io.WriteString(w, ranged["model.safetensors"][from:from+(last+1-from)/2])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	checkFiles(t, resolve(t, inSpans(t, h), "org/name").Dir, ranged, wanted)
}

func TestRangesUnknown(t *testing.T) {
	h := newFakeHub(t, ranged)
	h.ranges = false
	c := inSpans(t, h)
	var last Progress
	c.Progress = func(p Progress) { last = p }
	checkFiles(t, resolve(t, c, "org/name").Dir, ranged, wanted)
	if last.Done != last.Total {
		t.Errorf("progress ends at %+v", last)
	}
}

func TestRangesAnsweredWrongly(t *testing.T) {
	h := newFakeHub(t, ranged)
	faulty(h, "model.safetensors", 99, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Range", "bytes 0-3999/40000")
		w.Header().Set("Content-Length", "4000")
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(make([]byte, 4000))
	})
	if _, err := inSpans(t, h).Resolve(t.Context(), "org/name"); err == nil || !strings.Contains(err.Error(), `the hub sends "bytes 0-3999/40000" where bytes from `) {
		t.Errorf("got %v", err)
	}
}

// TestRangesWrongOnce: a span that was damaged on its way is found, and all of it is fetched again.
func TestRangesWrongOnce(t *testing.T) {
	h := newFakeHub(t, ranged)
	faulty(h, "model.safetensors", 1, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Range", r.Header.Get("Range")[len("bytes="):]+"/40000")
		w.Header().Set("Content-Range", "bytes "+w.Header().Get("Content-Range"))
		w.Header().Set("Content-Length", "4000")
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(make([]byte, 4000))
	})
	checkFiles(t, resolve(t, inSpans(t, h), "org/name").Dir, ranged, wanted)
}

// TestRangesLeftovers goes on with what an earlier download has left, and begins again where that makes no sense.
func TestRangesLeftovers(t *testing.T) {
	data := ranged["model.safetensors"]
	table := func(span uint64, done ...uint64) string {
		b := binary.LittleEndian.AppendUint64([]byte(spansMagic), span)
		for _, n := range done {
			b = binary.LittleEndian.AppendUint64(b, n)
		}
		return string(b)
	}
	half := slices.Repeat([]uint64{2000}, 10)
	for _, c := range []struct {
		name, suffix, left string
		requests           int // for ranges of the file
	}{
		{"nothing", inRanges, "", 10},
		{"half of each", inRanges, data + table(4000, half...), 10},
		{"one is missing", inRanges, data[:4000] + strings.Repeat("?", 4000) + data[8000:] + table(4000, 4000, 0, 4000, 4000, 4000, 4000, 4000, 4000, 4000, 4000), 1},
		{"all", inRanges, data + table(4000, slices.Repeat([]uint64{4000}, 10)...), 0},
		{"all, cut to its length", inRanges, data, 0},
		{"all of another file, cut to its length", inRanges, strings.Repeat("?", 40_000), 10},
		{"all of another file", inRanges, strings.Repeat("?", 40_000) + table(4000, slices.Repeat([]uint64{4000}, 10)...), 10},
		{"other spans", inRanges, data + table(5000, slices.Repeat([]uint64{5000}, 10)...), 10},
		{"more than there is", inRanges, data + table(4000, slices.Repeat([]uint64{1 << 63}, 10)...), 10},
		{"no table", inRanges, data[:20_000], 10},
		{"garbage", inRanges, data + strings.Repeat("x", 96), 10},
		{"from one stream", incomplete, data[:20_000], 5},
		{"from one stream, in the middle of a span", incomplete, data[:22_000], 5},
		{"from one stream, too long", incomplete, data + data, 10},
	} {
		h := newFakeHub(t, ranged)
		config := inSpans(t, h)
		blob := filepath.Join(config.Cache, "models--org--name", "blobs", h.sum("model.safetensors"))
		if err := os.MkdirAll(filepath.Dir(blob), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(blob+c.suffix, []byte(c.left), 0o666); err != nil {
			t.Fatal(err)
		}
		checkFiles(t, resolve(t, config, "org/name").Dir, ranged, wanted)
		if got := h.counts["/"+h.sum("model.safetensors")]; got != c.requests {
			t.Errorf("%s: %d requests, want %d", c.name, got, c.requests)
		}
		if c.name == "half of each" && !slices.Contains(askedRanges(h), "10000-11999") {
			t.Errorf("%s: asked for %v", c.name, askedRanges(h))
		}
		if left := names(t, filepath.Dir(blob)); len(left) != 5 {
			t.Errorf("%s: left over: %v", c.name, left)
		}
	}
}

// slowly sends at most rate bytes a second on each connection.
func slowly(data []byte, rate int, sent *atomic.Int64) *httptest.Server {
	h := &fakeHub{ranges: true}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.send(&slowWriter{w, rate, sent, r.Context()}, r, data)
	}))
}

type slowWriter struct {
	http.ResponseWriter
	rate int
	sent *atomic.Int64
	ctx  context.Context
}

func (w *slowWriter) Write(p []byte) (n int, err error) {
	const tick = 10 * time.Millisecond
	for len(p) > 0 && w.ctx.Err() == nil {
		part := p[:min(len(p), max(1, w.rate/100))]
		m, err := w.ResponseWriter.Write(part)
		if n += m; err != nil {
			return n, err
		}
		w.ResponseWriter.(http.Flusher).Flush()
		w.sent.Add(int64(m))
		p = p[m:]
		time.Sleep(tick)
	}
	return n, nil
}

// slowHub is a hub whose large files lie on a server that limits each connection.
func slowHub(t testing.TB, bytes, rate int) (h *fakeHub, sent *atomic.Int64) {
	sent = new(atomic.Int64)
	h = newFakeHub(nil, with(map[string]string{"model.safetensors": noise(bytes)}))
	cdn := slowly(h.files["model.safetensors"], rate, sent)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.long = h.sum("model.safetensors")
	h.fault = func(w http.ResponseWriter, r *http.Request, n int) bool {
		if !strings.HasSuffix(r.URL.Path, "model.safetensors") {
			return false
		}
		http.Redirect(w, r, cdn.URL, http.StatusFound)
		return true
	}
	t.Cleanup(func() { cdn.CloseClientConnections(); cdn.Close(); h.cdn.Close(); h.Server.Close() })
	return h, sent
}

// TestKilledInRanges kills a process in the middle of a download, three times. Nothing takes what it leaves for a file, and
// little is fetched twice.
func TestKilledInRanges(t *testing.T) {
	if endpoint := os.Getenv("HUB_TEST_ENDPOINT"); endpoint != "" {
		_, err := Config{Cache: os.Getenv("HUB_TEST_CACHE"), Endpoint: endpoint, large: 1 << 20}.Resolve(t.Context(), "org/name")
		t.Fatal("not killed: ", err)
	}
	const size = 16 << 20
	h, sent := slowHub(t, size, 4<<20)
	c := Config{Cache: t.TempDir(), Endpoint: h.URL, large: 1 << 20}
	blob := filepath.Join(c.Cache, "models--org--name", "blobs", h.sum("model.safetensors"))
	for round := range 3 {
		child := exec.Command(os.Args[0], "-test.run=^TestKilledInRanges$")
		child.Env = append(os.Environ(), "HUB_TEST_ENDPOINT="+h.URL, "HUB_TEST_CACHE="+c.Cache)
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		for goal := int64(round+1) * (size / 5); sent.Load() < goal; {
			time.Sleep(5 * time.Millisecond)
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait() // it was killed
		if info, err := os.Stat(blob + inRanges); err != nil || info.Size() <= size {
			t.Errorf("what is left has %v bytes, %v", info, err)
		}
		if _, err := os.Stat(blob); err == nil {
			t.Fatal("a file that is not complete got its name")
		}
		off := c
		off.Offline = true
		if _, err := off.Resolve(t.Context(), "org/name"); err == nil {
			t.Error("an incomplete model is taken")
		}
	}
	m := resolve(t, c, "org/name")
	if data, err := os.ReadFile(filepath.Join(m.Dir, "model.safetensors")); err != nil || !bytes.Equal(data, h.files["model.safetensors"]) {
		t.Errorf("the file differs: %v", err)
	}
	if again := sent.Load() - size; again > size/4 {
		t.Errorf("%d bytes were sent twice", again)
	}
}

// BenchmarkSlowConnections fetches 64 MiB from a server that sends 16 MiB a second on each connection.
func BenchmarkSlowConnections(b *testing.B) {
	for _, streams := range []int{1, 8} {
		b.Run(fmt.Sprintf("%d streams", streams), func(b *testing.B) {
			h, _ := slowHub(b, 64<<20, 16<<20)
			b.SetBytes(64 << 20)
			for b.Loop() {
				if _, err := (Config{Cache: b.TempDir(), Endpoint: h.URL, Streams: streams}).Resolve(b.Context(), "org/name"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
