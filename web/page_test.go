package web_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"molt/metrics"
	"molt/metrics/testdata/demo"
	"molt/web"
)

// onDisk writes the report where a browser can open it.
func (r run) onDisk(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, []byte(r.report(t, web.Options{})), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func nameOf(r *metrics.RolloutKept) string {
	name := fmt.Sprintf("%d/%d/%d", r.Step, r.Group, r.Sample)
	if r.Split == metrics.HeldOut {
		name = metrics.HeldOut + ":" + name
	}
	return name
}

// whole finds a group of which all rollouts were kept and which trained.
func (r run) whole(t *testing.T) []*metrics.RolloutKept {
	t.Helper()
	byGroup := map[int64][]*metrics.RolloutKept{}
	for _, k := range r.rollouts {
		byGroup[k.Group] = append(byGroup[k.Group], k)
		if all := byGroup[k.Group]; len(all) == k.Samples && k.LossShare != nil && k.Step >= 3 {
			return all
		}
	}
	t.Fatal("no group was kept whole")
	return nil
}

func TestPageInABrowser(t *testing.T) {
	b := startBrowser(t)
	r := makeRun(t, demo.Options{Seed: 1, Steps: 20, SFTSteps: 300, Async: true, Crash: true})
	path := r.onDisk(t)
	clean := func(what string) {
		if p := b.problems(); len(p) > 0 {
			b.t.Errorf("%s: the console or the network has %s", what, strings.Join(p, "\n"))
		}
	}
	b.part("overview", func(t *testing.T) {
		b.show(path, "")
		b.want(`document.querySelector('h1').textContent`, `"shop-quickstart finished"`)
		b.want(`document.querySelectorAll('.chart').length`, fmt.Sprint(len(metrics.AllSeries(r.records))))
		b.want(`[...document.querySelectorAll('.curve')].filter(p => !p.getAttribute('d')).length`, `0`)
		resumed := 0 // curves over the phase that was resumed
		for _, s := range metrics.AllSeries(r.records) {
			if !strings.HasPrefix(s.Name, "sft.") {
				resumed++
			}
		}
		b.want(`[document.querySelectorAll('.alarms li').length, document.querySelectorAll('line.resume').length]`, fmt.Sprintf("[1, %d]", resumed))
		steps := slices.Collect(seconds(metrics.Of[metrics.StepDone](r.records)))
		b.eval(`[...document.querySelectorAll('.chart')].find(c => c.textContent.startsWith('Reward')).focus()`)
		b.press("Home")
		read := `document.activeElement.querySelector('output').textContent + ' ' + document.activeElement.querySelector('.where').textContent.split(' · ')[0]`
		b.want(read, quoted(fmt.Sprintf("%.3f step 1", steps[0].Reward.Mean)))
		b.press("ArrowRight", "ArrowRight")
		b.want(read, quoted(fmt.Sprintf("%.3f step 3", steps[2].Reward.Mean)))
		b.screenshot("overview")
		b.press("Enter")
		b.want(`location.hash`, `"#rollouts?step=3"`)
		clean("overview")
	})
	b.part("every axis", func(t *testing.T) {
		for _, axis := range []string{"step", "tokens", "seconds"} {
			b.show(path, "#overview?x="+axis)
			b.want(`document.querySelector('.segments [aria-pressed=true]').textContent`, quoted(map[string]string{"step": "Step", "tokens": "Trained tokens", "seconds": "Time"}[axis]))
			b.want(`[...document.querySelectorAll('.curve')].filter(p => /NaN|Infinity/.test(p.getAttribute('d'))).length`, `0`)
		}
		clean("axes")
	})
	b.part("rollouts", func(t *testing.T) {
		count := func(want func(*metrics.RolloutKept) bool) string {
			n := 0
			for _, k := range r.rollouts {
				if want(k) {
					n++
				}
			}
			return fmt.Sprint(n)
		}
		rows := `Number(document.querySelector('p.status').textContent.split(' ')[0])`
		for query, keeps := range map[string]func(*metrics.RolloutKept) bool{
			"":                      func(*metrics.RolloutKept) bool { return true },
			"q=reward%3C0.5":        func(k *metrics.RolloutKept) bool { return k.Graded && k.Reward < 0.5 },
			"q=tool:calc":           func(k *metrics.RolloutKept) bool { return calls(k, "calc") },
			"q=-tool:calc+turns=3":  func(k *metrics.RolloutKept) bool { return !calls(k, "calc") && k.Turns() == 3 },
			"q=%22both+prices%22":   func(k *metrics.RolloutKept) bool { return calls(k, "calc") },
			"outcome=truncated":     func(k *metrics.RolloutKept) bool { return k.Outcome == "truncated" },
			"step=3&split=train":    func(k *metrics.RolloutKept) bool { return k.Step == 3 && k.Split == metrics.Train },
			"why=newest":            func(k *metrics.RolloutKept) bool { return slices.Contains(k.Why, metrics.KeptNewest) },
			"q=alarm:lag-over":      func(k *metrics.RolloutKept) bool { return k.Alarm != "" },
			"q=nothing-is-like-me":  func(*metrics.RolloutKept) bool { return false },
			"q=advantage%3E0+lag=1": func(k *metrics.RolloutKept) bool { return k.Advantage != nil && *k.Advantage > 0 && k.Lag == 1 },
		} {
			b.show(path, "#rollouts?"+query)
			b.want(rows, count(keeps))
		}
		b.show(path, "#rollouts?sort=-advantage&split=train")
		b.want(`(list => list.length > 20 && list.every((v, i) => !i || list[i - 1] >= v))([...document.querySelectorAll('.list tbody tr')].map(r => Number(r.children[4].textContent.replace('−', '-'))).filter(v => !Number.isNaN(v)))`, `true`)
		b.want(`document.querySelector('th[aria-sort=descending]').textContent`, `"Advantage"`)
		b.show(path, "#rollouts")
		b.press("/")
		b.press("l", "a", "g", ">", "1")
		b.want(`location.hash`, `"#rollouts?q=lag%3E1"`)
		b.want(rows, count(func(k *metrics.RolloutKept) bool { return k.Lag > 1 }))
		b.screenshot("rollouts")
		clean("rollouts")
	})
	b.part("rollout", func(t *testing.T) {
		k := r.whole(t)[0]
		b.show(path, "#rollout?id="+nameOf(k))
		b.want(`document.querySelectorAll('.strip .t').length`, fmt.Sprint(k.Tokens.Len()))
		b.want(`document.querySelector('p.sum').className`, `"sum good"`)
		b.want(`document.querySelectorAll('.call').length`, fmt.Sprint(len(toolCalls(k))))
		b.want(`[...document.querySelectorAll('.call')].filter(c => c.textContent.includes('no result')).length`, `0`)
		first := slices.Index(k.Tokens.Action, true)
		b.eval(`document.querySelector('.strip').focus()`)
		b.press("Home", "End", "ArrowLeft", "ArrowRight")
		b.want(`document.querySelector('.t.at').id`, quoted(fmt.Sprint("t", k.Tokens.Len()-1)))
		b.show(path, fmt.Sprintf("#rollout?id=%s&t=%d&color=ratio", nameOf(k), first))
		facts := `Object.fromEntries([...document.querySelectorAll('.inspect div')].map(d => [d.children[0].textContent, d.children[1].textContent.replaceAll('−', '-')]))`
		b.want(`(f => Math.abs(Number(f['log-prob new']) - `+fmt.Sprint(k.Tokens.LogpNew[first])+`) < 1e-6 && Math.abs(Number(f.ratio) - `+fmt.Sprint(k.Tokens.Ratio(first))+`) < 1e-5 && f.use === 'trains')(`+facts+`)`, `true`)
		for range 12 {
			b.press("c")
			b.want(`document.querySelectorAll('.legend .key').length >= 2`, `true`)
			b.want(`document.querySelectorAll('.t.shown').length > 10`, `true`)
		}
		b.screenshot("rollout")
		b.press("g")
		b.want(`location.hash`, quoted("#group?of="+nameOf(k)))
		b.press("Escape")
		b.want(`location.hash`, `"#rollouts"`)
		clean("rollout")
	})
	b.part("neighbours", func(t *testing.T) {
		b.show(path, "#rollouts?sort=-tokens")
		b.eval(`document.querySelector('.list tbody a').click()`)
		b.settle()
		b.want(`document.querySelector('.crumbs').textContent.startsWith('Rollouts')`, `true`)
		second := b.eval(`document.querySelectorAll('nav.near a')[0].getAttribute('href')`)
		b.press("j")
		b.want(`location.hash`, second)
		b.press("Escape")
		b.want(`location.hash`, `"#rollouts?sort=-tokens"`)
		clean("neighbours")
	})
	b.part("group", func(t *testing.T) {
		all := r.whole(t)
		best := metrics.Best(sorted(all))
		b.show(path, "#group?of="+nameOf(all[3]))
		b.want(`document.querySelectorAll('.fork').length`, fmt.Sprint(len(all)))
		for _, k := range all {
			at := metrics.FirstDifference(&best.Tokens, &k.Tokens)
			says := fmt.Sprintf("token %d", at)
			switch {
			case k == best:
				says = "compared with"
			case at == k.Tokens.Len() && at == best.Tokens.Len():
				says = "the same tokens"
			case at == k.Tokens.Len():
				says = fmt.Sprintf("ends at token %d", at)
			}
			b.want(fmt.Sprintf(`[...document.querySelectorAll('.fork')].find(f => f.querySelector('a').textContent === 'sample %d').querySelector('.where').textContent`, k.Sample), quoted(says))
		}
		b.screenshot("group")
		b.eval(`document.querySelectorAll('.fork .where button')[4].click()`)
		b.want(`document.querySelectorAll('.fork.base').length + location.hash.includes('base=')`, `2`)
		clean("group")
	})
	b.part("narrow and dark", func(t *testing.T) {
		b.size(390, 844)
		for _, view := range []string{"#overview", "#rollouts", "#rollout?id=" + nameOf(r.whole(t)[0]), "#group?of=" + nameOf(r.whole(t)[0])} {
			b.show(path, view)
			b.want(`document.documentElement.scrollWidth <= innerWidth`, `true`)
			b.screenshot("narrow-" + strings.TrimLeft(strings.Split(view, "?")[0], "#"))
		}
		b.press("t")
		b.want(`getComputedStyle(document.body).backgroundColor`, `"rgb(19, 21, 26)"`)
		b.size(1280, 900)
		clean("narrow")
	})
	b.part("help", func(t *testing.T) {
		b.show(path, "")
		b.press("?")
		b.want(`document.querySelectorAll('dialog[open] kbd').length > 8`, `true`)
		b.press("Escape")
		b.want(`document.querySelectorAll('dialog').length`, `0`)
		clean("help")
	})
	b.part("pointer", func(t *testing.T) {
		b.show(path, "")
		b.pointAt(`[...document.querySelectorAll('.chart')].find(c => c.textContent.startsWith('Reward')).querySelector('.plot')`)
		b.want(`[...document.querySelectorAll('.chart .where')].filter(w => /^step (9|10|11) · event [0-9]+$/.test(w.textContent)).length >= 15`, `true`)
		k := r.whole(t)[0]
		b.show(path, "#rollout?id="+nameOf(k))
		b.pointAt(`document.getElementById('t3')`)
		b.want(`document.querySelector('.inspect dd').textContent`, quoted(fmt.Sprintf("3 · id %d", k.Tokens.ID[3])))
		clean("pointer")
	})
	b.part("copy", func(t *testing.T) {
		b.show(path, "#rollout?id="+nameOf(r.whole(t)[0]))
		b.eval(`document.querySelector('.transcript button.small').click()`)
		b.settle()
		b.want(`document.querySelector('.transcript button.small').textContent === 'copied' || document.querySelector('dialog textarea').value.startsWith('{')`, `true`)
		b.show(path, "#rollout?id="+nameOf(r.whole(t)[0]))
		b.eval(`Object.defineProperty(navigator, 'clipboard', { value: undefined })`)
		b.eval(`document.querySelectorAll('.transcript button.small')[1].click()`)
		b.settle()
		b.want(`document.querySelector('dialog textarea').value.startsWith('# step 3, group ')`, `true`)
		clean("copy")
	})
	b.part("without scripts", func(t *testing.T) {
		b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
		b.show(path, "")
		b.want(`document.querySelector('noscript pre').textContent.includes('reward.mean')`, `true`)
		b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": false}, nil)
		b.show(path, "")
		clean("without scripts")
	})
	b.part("what is still there", func(t *testing.T) {
		best := 0
		for _, c := range metrics.Of[metrics.CheckpointSaved](r.records) {
			if c.Keep == "best" {
				best++
			}
		}
		if best < 2 {
			t.Fatalf("%d best checkpoints: nothing was replaced", best)
		}
		b.show(path, "#overview")
		b.want(`[...document.querySelectorAll('.facts dt')].filter(d => d.textContent === 'best checkpoint').length`, `1`)
		k := r.whole(t)[0]
		b.show(path, "#rollout?id="+nameOf(k))
		b.want(`[...document.querySelectorAll('.strip-facts div')].find(d => d.textContent.startsWith('time')).textContent`, quoted("time"+shortTime(k.Seconds)))
	})
	b.part("unknown places", func(t *testing.T) {
		for _, view := range []string{"#nowhere", "#rollout?id=9.9.9", "#group?of=", "#rollout", "#overview?x=%00", "#rollouts?sort=nothing&step=x", "#%F0%9F",
			"#__proto__", "#toString", "#constructor", "#overview?x=toString", "#rollouts?sort=constructor", "#rollouts?q=toString%3C1", "#rollouts?q=valueOf:x"} {
			b.show(path, view)
			b.want(`!!document.querySelector('main h1')`, `true`)
		}
		clean("unknown places")
	})
}

// TestHostileRunInABrowser opens every view on text that tries to break out: nothing runs, nothing is asked for.
func TestHostileRunInABrowser(t *testing.T) {
	b := startBrowser(t)
	r := makeRun(t, demo.Options{Seed: 2, Hostile: true, Steps: 6})
	branched := *r.whole(t)[0]
	branched.Sample, branched.Nodes = 77, slices.Clone(branched.Nodes)
	branched.Nodes[2].Parent, branched.Nodes[2].NewSegment = -1, demo.Hostile[0]
	branched.Messages = append(slices.Clone(branched.Messages), metrics.Message{Node: 2, Role: demo.Hostile[3], Text: strings.Repeat(demo.Hostile[3]+"\n", 60), Problem: demo.Hostile[5]})
	r.rollouts = append(r.rollouts, &branched)
	path := r.onDisk(t)
	for _, view := range []string{"", "#rollouts", "#rollout?id=" + nameOf(&branched), "#group?of=" + nameOf(&branched)} {
		b.show(path, view)
		b.want(`window.pwned === undefined && document.querySelectorAll('img, iframe, object, svg [onload]').length`, `0`)
		b.want(`/[\u202a-\u202e\u2066-\u2069\u0000-\u0008\u001b\u200b]/.test(document.body.innerText)`, `false`)
	}
	b.show(path, "#rollout?id="+nameOf(&branched))
	b.want(`document.querySelectorAll('.tree li').length`, fmt.Sprint(len(branched.Nodes)))
	b.want(`document.querySelectorAll('.folded').length >= 1`, `true`)
	b.screenshot("hostile")
	// The policy holds even for code that is already inside the page.
	b.want(`(() => { try { document.body.innerHTML = '<b>x</b>'; return 'parsed'; } catch (e) { return e.name; } })()`, `"TypeError"`)
	for _, p := range b.problems() {
		if !strings.Contains(p, "TrustedHTML") {
			t.Errorf("console or network: %s", p)
		}
	}
}

func seconds[A, B any](pairs func(func(A, B) bool)) func(func(B) bool) {
	return func(yield func(B) bool) {
		pairs(func(_ A, b B) bool { return yield(b) })
	}
}

func sorted(group []*metrics.RolloutKept) []*metrics.RolloutKept {
	return slices.SortedFunc(slices.Values(group), func(a, b *metrics.RolloutKept) int { return a.Sample - b.Sample })
}

func toolCalls(k *metrics.RolloutKept) []metrics.ToolCall {
	var all []metrics.ToolCall
	for _, m := range k.Messages {
		all = append(all, m.Calls...)
	}
	return all
}

func calls(k *metrics.RolloutKept, name string) bool {
	return slices.ContainsFunc(toolCalls(k), func(c metrics.ToolCall) bool { return c.Name == name })
}

// shortTime is a duration as the page spells it.
func shortTime(seconds float64) string {
	switch {
	case seconds == 0:
		return "–"
	case seconds < 1:
		return strconv.FormatFloat(1000*seconds, 'f', 0, 64) + " ms"
	}
	return strconv.FormatFloat(seconds, 'f', 3, 64) + " s"
}
