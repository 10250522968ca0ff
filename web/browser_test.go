package web_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// browser is a headless Chromium that is driven over a pipe, with one page open.
type browser struct {
	t       *testing.T
	to      *os.File
	replies chan reply
	next    int
	session string
	seen    []reply // events that came in
}

type reply struct {
	ID     int            `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
	Result jsontext.Value `json:"result"`
	Error  jsontext.Value `json:"error"`
}

func startBrowser(t *testing.T) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" || testing.Short() {
		t.Skip("needs Chromium, and is left out of short tests")
	}
	theirsIn, oursOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	oursIn, theirsOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	profile, err := os.MkdirTemp("", "molt-chromium")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync",
		"--disable-component-update", "--disable-default-apps", "--user-data-dir="+profile, "--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{theirsIn, theirsOut}
	if err := cmd.Start(); err != nil {
		t.Skipf("Chromium does not start: %v", err)
	}
	b := &browser{t: t, to: oursOut, replies: make(chan reply, 1024)}
	theirsIn.Close()
	theirsOut.Close()
	go b.listen(oursIn) // ends when the browser does; Cleanup waits for that
	t.Cleanup(func() {
		b.session = ""
		b.send("Browser.close", nil)
		if err := cmd.Wait(); err != nil {
			t.Logf("Chromium: %v", err)
		}
		for range b.replies {
		}
		oursOut.Close()
		oursIn.Close()
		if err := os.RemoveAll(profile); err != nil {
			t.Logf("a helper process of Chromium still writes: %v", err)
		}
	})
	b.open()
	return b
}

// listen is the one sender of replies.
func (b *browser) listen(from *os.File) {
	defer close(b.replies)
	messages := bufio.NewReader(from)
	for {
		text, err := messages.ReadBytes(0)
		if err != nil {
			return
		}
		var r reply
		if err := json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &r); err == nil {
			b.replies <- r
		}
	}
}

func (b *browser) send(method string, params any) int {
	b.next++
	message := map[string]any{"id": b.next, "method": method}
	if params != nil {
		message["params"] = params
	}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	text, err := json.Marshal(message)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		b.t.Logf("Chromium does not listen: %v", err)
	}
	return b.next
}

// call waits for the answer of one command and reads it into result.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	id := b.send(method, params)
	deadline := time.After(60 * time.Second)
	for {
		select {
		case r, ok := <-b.replies:
			switch {
			case !ok:
				b.t.Fatalf("%s: Chromium ended", method)
			case r.ID == 0:
				b.seen = append(b.seen, r)
				continue
			case r.ID != id:
				continue
			case r.Error != nil:
				b.t.Fatalf("%s: %s", method, r.Error)
			}
			if result != nil {
				if err := json.Unmarshal(r.Result, result); err != nil {
					b.t.Fatalf("%s: %v", method, err)
				}
			}
			return
		case <-deadline:
			b.t.Fatalf("%s: no answer within a minute", method)
		}
	}
}

// part runs a part of a test.
func (b *browser) part(name string, do func(t *testing.T)) {
	whole := b.t
	whole.Run(name, func(t *testing.T) {
		b.t = t
		defer func() { b.t = whole }()
		do(t)
	})
}

func (b *browser) open() {
	var target struct {
		TargetID string `json:"targetId"`
	}
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct {
		SessionID string `json:"sessionId"`
	}
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page.enable", "Runtime.enable", "Log.enable", "Network.enable"} {
		b.call(domain, nil, nil)
	}
	b.size(1280, 900)
}

func (b *browser) size(width, height int) {
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}, nil)
}

// show opens a view of the file and waits until it is drawn.
func (b *browser) show(path, view string) {
	b.t.Helper()
	b.call("Page.navigate", map[string]any{"url": "about:blank"}, nil)
	b.call("Page.navigate", map[string]any{"url": "file://" + filepath.ToSlash(path) + view}, nil)
	for range 3000 {
		if b.eval(`document.readyState === 'complete' && !!document.querySelector('main, noscript pre')`) == "true" {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.t.Fatalf("%s%s is not drawn", path, view)
}

// eval gives the JSON of an expression's value.
func (b *browser) eval(expression string) string {
	b.t.Helper()
	var got struct {
		Result struct {
			Value jsontext.Value `json:"value"`
		} `json:"result"`
		Exception jsontext.Value `json:"exceptionDetails"`
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &got)
	if got.Exception != nil {
		b.t.Fatalf("%s: %s", expression, got.Exception)
	}
	return string(got.Result.Value)
}

// want checks the value of an expression, which is spelled as JSON.
func (b *browser) want(expression, want string) {
	b.t.Helper()
	got := b.eval(expression)
	var a, c any
	if json.Unmarshal([]byte(got), &a) != nil || json.Unmarshal([]byte(want), &c) != nil || !reflect.DeepEqual(a, c) {
		b.t.Errorf("%s\n is %s\nnot %s", expression, got, want)
	}
}

// press types keys by their names.
func (b *browser) press(keys ...string) {
	b.t.Helper()
	for _, key := range keys {
		event := map[string]any{"type": "keyDown", "key": key, "windowsVirtualKeyCode": map[string]int{"Escape": 27, "Enter": 13}[key]}
		if len(key) == 1 {
			event["text"] = key
		}
		if key == "Enter" {
			event["text"] = "\r"
		}
		b.call("Input.dispatchKeyEvent", event, nil)
		b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key}, nil)
	}
	b.settle()
}

// pointAt moves the pointer to the middle of an element.
func (b *browser) pointAt(element string) {
	b.t.Helper()
	var at [2]float64
	text := b.eval(`(e => { e.scrollIntoView({ block: 'center' }); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })(` + element + `)`)
	if err := json.Unmarshal([]byte(text), &at); err != nil {
		b.t.Fatal(err)
	}
	b.call("Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": at[0], "y": at[1]}, nil)
	b.settle()
}

// settle waits until the page has handled its events and drawn.
func (b *browser) settle() {
	b.eval(`new Promise(done => setTimeout(() => requestAnimationFrame(() => done(1)), 30))`)
}

// problems lists what the console complained about and every request that was not the file itself.
func (b *browser) problems() []string {
	b.settle()
	var list []string
	for _, r := range b.seen {
		text := string(r.Params)
		switch r.Method {
		case "Runtime.exceptionThrown", "Runtime.consoleAPICalled":
			list = append(list, r.Method+" "+text)
		case "Log.entryAdded":
			list = append(list, text)
		case "Network.requestWillBeSent":
			var sent struct {
				Request struct {
					URL string `json:"url"`
				} `json:"request"`
			}
			if err := json.Unmarshal(r.Params, &sent); err != nil || !strings.HasPrefix(sent.Request.URL, "file:///") && sent.Request.URL != "about:blank" {
				list = append(list, "request "+text)
			}
		}
	}
	b.seen = nil
	return list
}

// screenshot writes a picture when MOLT_SCREENSHOTS names a folder.
func (b *browser) screenshot(name string) {
	dir := os.Getenv("MOLT_SCREENSHOTS")
	if dir == "" {
		return
	}
	b.settle()
	var shot struct {
		Data string `json:"data"`
	}
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func quoted(s string) string { return fmt.Sprintf("%q", s) }
