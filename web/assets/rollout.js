// One rollout: what was said turn by turn on the left, its tokens on the right, its reward always in sight.

let current = null; // what the keys act on: the rollout, its strip

function rollout(query) {
  const r = rolloutNamed(query.get('id'));
  if (!r) return el('main', {}, el('h1', {}, 'No such rollout'), el('p', {}, 'It was not kept, or did not fit into this file. ', el('a', { href: link('rollouts') }, 'All kept rollouts')));
  const tokens = strip(r, query), group = groupOf(r);
  current = { rollout: r, strip: tokens };
  const most = Math.max(...group.filter(g => g.graded).map(g => Math.abs(num(g.reward))), 0), far = Math.max(...group.filter(trained).map(g => Math.abs(num(g.advantage))), 0);
  const fact = (label, ...value) => el('div', {}, el('dt', {}, label), el('dd', {}, ...value));
  const head = el('header.status', {},
    el('div.crumbs', {}, el('a', { href: back() }, 'Rollouts'), ' / ', el('a', { href: link('rollouts', { step: r.step }) }, `step ${r.step}`), ' / ',
      el('a', { href: link('group', { of: r.name }) }, `group ${r.group}`), el('h1', {}, `sample ${r.sample}`, el('span.quiet', {}, ` of ${r.samples}`)),
      el('nav.near', { 'aria-label': 'Neighbours' }, neighbour(r, -1, '←'), neighbour(r, 1, '→'))),
    el('dl.strip-facts', {}, fact('reward', el('b', {}, fmt(r.graded ? r.reward : null)), bar(r.graded ? r.reward : null, most, num(r.reward) < 0)),
      fact('advantage', el('b', {}, signed(r.advantage)), bar(r.advantage, far, true)), fact('outcome', outcome(r.outcome)),
      fact('turns', r.turns), fact('tokens', `${fmt(r.size)}, ${fmt(columnsOf(r).action.filter(Boolean).length)} train`), fact('lag', r.lag),
      fact('time', duration(r.seconds)), fact('split', r.split.replace('_', ' '))));
  return el('main.rollout', {}, head,
    r.detail && el('p.warn', {}, visible(r.detail)), r.retries && el('p.quiet', {}, `tried again ${plural(r.retries, 'time')}`),
    r.filtered && el('p.warn', {}, `The group did not train: ${visible(r.filtered)}.`),
    r.alarm && el('p.warn', {}, `▲ Evidence of the alarm ${visible(r.alarm)}.`),
    el('div.panes', {}, el('section.transcript', { 'aria-label': 'Transcript' },
      el('header', {}, el('h2', {}, 'Transcript'), copyButton('copy as JSON', () => JSON.stringify(plain(r), null, 1)), copyButton('as Markdown', () => markdown(r))),
      el('p.quiet', {}, visible(`prompt ${r.prompt} of ${r.source} · kept as ${(r.why || ['asked for']).join(', ')}`)),
      info(r), tree(r, tokens), transcript(r, tokens)), tokens.node));
}

// neighbour is the rollout before or after this one in the list the reader came from.
const listQuery = () => new URLSearchParams(sessionList.split('?')[1] || '');
let sessionList = '#rollouts';
const back = () => sessionList;
function neighbour(r, way, label) {
  const list = selected(listQuery()), at = list.indexOf(r), to = at < 0 ? undefined : list[at + way];
  return to ? el('a.button', { href: link('rollout', { id: to.name, color: address().query.get('color') }), title: way < 0 ? 'previous (k)' : 'next (j)', 'aria-label': way < 0 ? 'Previous rollout' : 'Next rollout' }, label) :
    el('span.button.off', { 'aria-hidden': true }, label);
}

function info(r) {
  const list = Object.entries(r.info || {});
  return list.length > 0 && el('p.quiet', {}, list.map(([k, v]) => `${visible(k)} ${fmt(v)}`).join(' · '));
}

// tree shows the turns of a rollout that branched, with the reason of each new root.
function tree(r, tokens) {
  const children = i => r.nodes.flatMap((n, k) => n.parent === i ? [k] : []);
  if (r.nodes.every((n, i) => n.parent === i - 1)) return null;
  const branch = i => el('li', {}, el('button.link', { type: 'button', onclick: () => tokens.show(i) }, `turn ${i + 1}`), ` ${visible(r.nodes[i].finish)}`,
    r.nodes[i].new_segment && el('b', {}, ` new segment: ${visible(r.nodes[i].new_segment)}`), children(i).length === 1 && !r.nodes[children(i)[0]].new_segment ? null : under(i));
  const chain = i => { const list = [branch(i)]; for (let k = i; children(k).length === 1; k = children(k)[0]) list.push(branch(children(k)[0])); return list; };
  const under = i => children(i).length > 0 && el('ul', {}, children(i).map(chain));
  return el('details.tree', { open: true }, el('summary', {}, 'Branches'), el('ul', {}, children(-1).map(chain)));
}

// answers pairs tool messages with the calls they name, or with the first open call before them.
function answers(r) {
  const to = new Map(), of = new Map();
  r.messages.forEach((m, at) => {
    if (m.role !== 'tool') return;
    for (let i = at - 1; i >= 0; i--) {
      if (r.messages[i].role !== 'assistant') continue;
      const k = (r.messages[i].calls || []).findIndex((c, j) => !to.has(`${i}.${j}`) && (!m.call_id || m.call_id === c.id));
      if (k >= 0) { to.set(`${i}.${k}`, at); of.set(at, true); return; }
      if (!m.call_id) return;
    }
  });
  return { to, of };
}

function transcript(r, tokens) {
  const pairs = answers(r);
  return el('ol.messages', {}, r.messages.map((m, i) => {
    if (pairs.of.has(i)) return null;
    const turn = r.nodes[m.node], known = ['system', 'user', 'assistant', 'tool'].includes(m.role) ? m.role : 'other';
    return el('li.message.' + known, {}, el('header', {}, el('b', {}, visible(m.role)),
      m.role === 'assistant' && turn && el('button.link', { type: 'button', title: 'show its tokens', onclick: () => tokens.show(m.node) }, `turn ${m.node + 1}`),
      m.role === 'assistant' && turn && el('span.quiet', {}, visible(turn.finish) + (num(turn.reward) ? `, reward ${signed(turn.reward)}` : ''))),
    m.thinking && el('details.thinking', { open: m.thinking.length < 400 }, el('summary', {}, `thinking, ${plural(m.thinking.trim().split(/\s+/).length, 'word')}`), el('div.text', {}, visible(m.thinking))),
    m.text && folded(m.text, m.role === 'system' ? 4 : 16),
    (m.calls || []).map((c, k) => call(c, r.messages[pairs.to.get(`${i}.${k}`)])),
    m.problem && el('p.warn', {}, visible(m.problem)));
  }));
}

// folded shows the first lines of a long text, and the rest on request.
function folded(text, lines) {
  const all = visible(text).split('\n'), long = all.length > lines || text.length > lines * 120;
  if (!long) return el('div.text', {}, all.join('\n'));
  const start = all.slice(0, lines).join('\n').slice(0, lines * 120);
  return el('details.folded', {}, el('summary', {}, el('span.text', {}, start + ' …'), el('span.small', {}, `show all ${all.length > lines ? plural(all.length, 'line') : fmt(text.length) + ' characters'}`)),
    el('div.text', {}, all.join('\n')));
}

function call(c, answer) {
  const failed = answer && /^\s*error\b/i.test(answer.text || '');
  return el('div.call', {}, el('div.asked', {}, el('span.sr', {}, 'calls '), el('b', {}, visible(c.name)), el('code', {}, visible(c.arguments))),
    answer ? el('div.answer' + (failed ? '.failed' : ''), {}, el('span.sr', {}, 'result '), folded(answer.text || '', 12)) : el('div.answer.failed', {}, 'no result'));
}

// plain is the rollout as rollouts.jsonl has it, without what this page added.
function plain(r) {
  const { index, name, turns, size, tools, mismatch, spoken, columns, largest, ...rest } = r;
  return rest;
}

function markdown(r) {
  const fence = text => { const ticks = '`'.repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(m => m[0].length + 1))); return `${ticks}\n${text}\n${ticks}\n`; };
  return [`# step ${r.step}, group ${r.group}, sample ${r.sample}: ${r.outcome}, reward ${r.graded ? r.reward : '–'}\n`, ...r.messages.map(m => `## ${m.role}\n\n` +
    [m.thinking && 'thinking:\n' + fence(m.thinking), m.text && fence(m.text), ...(m.calls || []).map(c => `calls ${c.name}:\n` + fence(c.arguments))].filter(Boolean).join('\n'))].join('\n');
}
