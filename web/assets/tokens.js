// The token strip: every token of a rollout in a colour that is one of its numbers.

// The scales. Steps are fixed where a number means the same in every rollout, so that strips can be compared by eye.
// A diverging scale is centred: blue below, orange above. c0 is no colour; classes are listed in the style sheet.
const LOGP = [0.01, 0.1, 0.5, 1, 2, 4];
const quantities = {
  new: { label: 'log-prob new', unit: 'nats', of: t => t.logp_new, kind: 'low', edges: LOGP, about: 'under the weights being trained' },
  old: { label: 'log-prob old', unit: 'nats', of: t => t.logp_old, kind: 'low', edges: LOGP, about: "under the learner's weights at the start of the step" },
  gen: { label: 'log-prob gen', unit: 'nats', of: t => t.logp_gen, kind: 'low', edges: LOGP, about: 'as the generator reported it' },
  ref: { label: 'log-prob ref', unit: 'nats', of: t => t.logp_ref, kind: 'low', edges: LOGP, about: 'under the reference' },
  entropy: { label: 'entropy', unit: 'nats', of: t => t.entropy, kind: 'high', edges: [0.01, 0.1, 0.3, 0.6, 1, 2], about: 'of the distribution it was drawn from' },
  ratio: { label: 'ratio', unit: '×', of: t => t.ratio, kind: 'factor', edges: [0.005, 0.02, 0.1, 0.2], about: 'exp(new − old): what the update did to its probability' },
  mismatch: { label: 'mismatch', unit: '×', of: t => t.mismatch, kind: 'factor', edges: [0.0005, 0.01, 0.05, 0.2], about: 'exp(old − gen): learner against generator at the same weights' },
  advantage: { label: 'advantage', unit: '', of: t => t.advantage, kind: 'two', about: 'how much better than its group' },
  loss: { label: 'loss', unit: '', of: t => t.loss, kind: 'two', about: "its contribution to the step's loss; a negative one makes it likelier" },
  version: { label: 'version', unit: '', of: t => t.version, kind: 'rank', about: 'the weights that sampled it' },
  mask: { label: 'what trains', unit: '', of: t => t.mask, kind: 'mask', about: 'sampled tokens that train, sampled ones that are masked, and what the policy was shown' },
};

// columnsOf spells out a rollout's tokens: runs become lists, ratio and mismatch are derived.
function columnsOf(r) {
  if (r.columns) return r.columns;
  const t = r.tokens, list = v => v ? v.map(num) : null;
  const c = { id: t.id, piece: t.piece, node: runs(t.node) || [], sampled: runs(t.sampled) || [], action: runs(t.action) || [], version: runs(t.version), clipped: runs(t.clipped),
    logp_gen: list(t.logp_gen), logp_old: list(t.logp_old), logp_new: list(t.logp_new), logp_ref: list(t.logp_ref), entropy: list(t.entropy),
    advantage: list(runs(t.advantage)), loss: list(t.loss) };
  const factor = (a, b) => a && b ? a.map((v, i) => Math.exp(v - b[i])) : null;
  c.ratio = factor(c.logp_new, c.logp_old);
  c.mismatch = factor(c.logp_old, c.logp_gen);
  c.mask = c.sampled.map((s, i) => c.action[i] ? 2 : s ? 1 : 0);
  return r.columns = c;
}

// largest is the largest |value| of a quantity among the kept rollouts of a step: what its colours are relative to.
function largest(r, name) {
  const of = o => (quantities[name].of(columnsOf(o)) || []).reduce((m, v) => Number.isFinite(v) ? Math.max(m, Math.abs(v)) : m, 0);
  return Math.max(0, ...D.rollouts.filter(o => o.step === r.step && o.split === r.split).map(o => (o.largest ??= {})[name] ??= of(o)));
}

// scaler gives the colour class of a value, and the legend: pairs of class and label.
function scaler(q, values, sampled, most) {
  const own = values.filter((v, i) => sampled[i] && Number.isFinite(v));
  if (q.kind === 'mask') return { of: v => 'm' + v, legend: [['m2', 'trains'], ['m1', 'sampled, masked'], ['m0', 'shown to the policy']] };
  if (q.kind === 'rank') {
    const all = [...new Set(own)].sort((a, b) => a - b), level = v => all.length < 2 ? 2 : Math.round(1 + 5 * all.indexOf(v) / (all.length - 1));
    return { of: v => 's' + level(v), legend: all.slice(-6).map(v => ['s' + level(v), 'version ' + v]) };
  }
  if (q.kind === 'low' || q.kind === 'high') {
    const sign = q.kind === 'low' ? -1 : 1, level = v => q.edges.filter(e => sign * v >= e).length;
    const text = i => q.kind === 'low' ? (i ? `≤ −${q.edges[i - 1]}` : `> −${q.edges[0]}`) : (i ? `≥ ${q.edges[i - 1]}` : `< ${q.edges[0]}`);
    return { of: v => 's' + level(v), legend: [0, ...q.edges.keys()].map((_, i) => ['s' + i, text(i)]) };
  }
  // Two-sided: factors by |log|, the rest in quarters of the largest of the step.
  const factor = q.kind === 'factor', edges = factor ? q.edges : [0.05, 0.25, 0.5, 0.75].map(e => e * most);
  const level = v => { const d = factor ? Math.log(v) : v; const n = edges.filter(e => Math.abs(d) >= e && e > 0).length; return n === 0 ? 'z' : (d < 0 ? 'n' : 'p') + n; };
  const low = e => factor ? '≤ ' + Math.exp(-e).toPrecision(3) : '≤ −' + fmt(e), high = e => factor ? '≥ ' + Math.exp(e).toPrecision(3) : '≥ ' + fmt(e);
  return { of: level, legend: most === 0 && !factor ? [['z', '0']] :
    [...edges.map((e, i) => ['n' + (i + 1), low(e)]).reverse(), ['z', factor ? 'about 1' : 'about 0'], ...edges.map((e, i) => ['p' + (i + 1), high(e)])] };
}

// glyph makes a token's text visible; a line break stays one.
function glyph(piece) {
  const text = visible(piece).replace(/\r/g, '␍').replace(/\t/g, '⇥').replace(/\n/g, '⏎\n');
  return text === '' ? '∅' : text;
}

function strip(r, query) {
  const c = columnsOf(r), has = Object.entries(quantities).filter(([, q]) => q.of(c));
  const first = ['advantage', 'new', 'gen', 'mask'].find(n => has.some(([name]) => name === n));
  let name = has.some(([n]) => n === query.get('color')) ? query.get('color') : (trained(r) ? 'new' : first) || 'mask', at = -1;
  const texts = c.piece.map(glyph), spans = c.id.map((_, i) => el('span.t', { id: 't' + i, 'data-i': i }, texts[i].replace(/\n$/, '')));
  const chunks = [];
  c.node.forEach((node, i) => {
    const last = chunks[chunks.length - 1];
    const parts = texts[i].endsWith('\n') ? [spans[i], '\n'] : [spans[i]]; // the line breaks after the token's box, not in it
    if (last && last.node === node && last.parts.length < 512) last.parts.push(...parts);
    else chunks.push({ node, parts, opens: !last || last.node !== node });
  });
  const field = el('div.strip', { tabindex: 0, role: 'application', 'aria-label': 'Tokens. Left and right move by token, up and down by turn, n to the next that stands out.', 'aria-describedby': 'inspect' },
    chunks.map(k => el('div.chunk', { 'data-node': k.node }, k.opens && el('span.turn', {}, `turn ${k.node + 1}`), k.parts)));
  const legend = el('div.legend'), about = el('p.quiet'), list = el('dl'), inspect = el('div.inspect', { id: 'inspect', role: 'status' }, list);
  let scale;
  const paint = () => {
    const q = quantities[name], values = q.of(c);
    scale = scaler(q, values, c.sampled, q.kind === 'two' ? largest(r, name) : 0);
    spans.forEach((s, i) => { s.className = 't ' + (name === 'mask' || c.sampled[i] ? scale.of(values[i]) : '') + (c.action[i] ? '' : c.sampled[i] ? ' masked' : ' shown') + (i === at ? ' at' : ''); });
    legend.replaceChildren(...scale.legend.map(([k, text]) => el('span.key', {}, el('i.t.' + k), text)), ...(name === 'mask' ? [] : [['shown', 'shown, not sampled'], ['masked', 'sampled, masked']]
      .filter(([k]) => k === 'shown' || spans.some((_, i) => c.sampled[i] && !c.action[i])).map(([k, text]) => el('span.key', {}, el('i.t.' + k), text))));
    about.textContent = `${q.label}${q.unit ? ', ' + q.unit : ''}: ${q.about}. ${summary(values)}`;
  };
  const summary = values => {
    const own = values.filter((v, i) => c.sampled[i] && Number.isFinite(v));
    if (!own.length || name === 'mask' || name === 'version') return '';
    return `Sampled tokens: lowest ${fmt(own.reduce((a, b) => Math.min(a, b)))}, mean ${fmt(own.reduce((a, b) => a + b, 0) / own.length)}, highest ${fmt(own.reduce((a, b) => Math.max(a, b)))}.`;
  };
  const select = el('select', { 'aria-label': 'Colour tokens by', id: 'color', onchange: e => { name = e.target.value; amend({ color: name }); paint(); } },
    has.map(([n, q]) => el('option', { value: n, selected: n === name }, q.label)));
  // look reads out token i; pin makes it the one that keys start from, and part of the address.
  const look = (i, pin) => {
    if (i < 0 || i >= spans.length) return;
    list.replaceChildren(...numbersOf(c, i));
    if (!pin) return;
    inspect.classList.add('pinned');
    if (at >= 0) spans[at].classList.remove('at');
    at = i;
    spans[i].classList.add('at');
    spans[i].scrollIntoView({ block: 'nearest' });
    amend({ t: i });
  };
  const indexOf = e => Number(e.target.closest?.('.t')?.dataset.i ?? -1);
  field.addEventListener('pointerover', e => look(indexOf(e)));
  field.addEventListener('pointerleave', () => look(at));
  field.addEventListener('click', e => look(indexOf(e), true));
  field.addEventListener('keydown', e => {
    const from = Math.max(at, 0), jump = way => { let i = from; while (spans[i + way] && c.node[i + way] === c.node[from]) i += way; return i + way; };
    const to = { ArrowLeft: () => at < 0 ? 0 : from - 1, ArrowRight: () => at < 0 ? 0 : from + 1, ArrowUp: () => jump(-1), ArrowDown: () => jump(1), Home: () => 0, End: () => spans.length - 1,
      n: () => spans.findIndex((s, i) => i > at && c.sampled[i] && /\b(s[3-6]|[np][34])\b/.test(s.className)) }[e.key];
    if (!to || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    e.stopPropagation();
    look(Math.max(0, Math.min(spans.length - 1, to())), true);
  });
  paint();
  if (spans.length) look(Number(query.get('t') ?? c.sampled.indexOf(true)), query.has('t'));
  const cycle = () => { select.selectedIndex = (select.selectedIndex + 1) % has.length; select.dispatchEvent(new Event('change')); };
  const show = node => { const i = c.node.indexOf(node); if (i >= 0) look(i, true); };
  const node = el('section.tokens', { 'aria-label': 'Tokens' }, el('header', {}, el('h2', {}, `${plural(r.size, 'token')}`), el('label', {}, 'coloured by ', select)),
    legend, about, field, inspect, lossLine(r, c));
  return { node, cycle, show };
}

// numbersOf lists everything known about token i.
function numbersOf(c, i) {
  const cell = (label, value) => el('div', {}, el('dt', {}, label), el('dd', {}, value));
  const list = [cell('token', `${i} · id ${c.id[i]}`), cell('text', '"' + glyph(c.piece[i]).replace(/\n/g, '') + '"'),
    cell('turn', c.node[i] + 1), cell('use', c.action[i] ? 'trains' : c.sampled[i] ? 'sampled, masked' : 'shown only')];
  if (c.sampled[i]) {
    const exact = v => minus(Number.isInteger(v) ? String(v) : Math.abs(v) < 1e-3 ? v.toExponential(4) : v.toPrecision(6));
    for (const q of Object.values(quantities)) if (q.of(c) && q.kind !== 'mask') list.push(cell(q.label, exact(q.of(c)[i])));
    if (c.logp_new) list.push(cell('probability', percent(Math.exp(c.logp_new[i]))));
    if (c.clipped && c.clipped[i]) list.push(cell('clip', 'no gradient'));
  }
  return list;
}

// lossLine adds the strip up and says whether it is the rollout's share of the loss.
function lossLine(r, c) {
  if (!c.loss || r.loss_share === undefined) return el('p.sum.quiet', {}, r.filtered ? `Nothing trains: ${visible(r.filtered)}.` : 'These tokens did not train.');
  const sum = c.loss.reduce((a, b) => a + b, 0), share = num(r.loss_share), whole = num(r.step_loss), agrees = Math.abs(sum - share) <= 1e-6;
  return el('p.sum.' + (agrees ? 'good' : 'bad'), {}, el('b', {}, agrees ? '✓ ' : '✗ '), `The strip adds up to ${minus(sum.toPrecision(7))} over ${plural(c.action.filter(Boolean).length, 'token')} that train; `,
    `the rollout's share of the loss of step ${r.step} is ${minus(share.toPrecision(7))}`, Number.isFinite(whole) && whole !== null ? ` of ${minus(whole.toPrecision(7))}.` : '.',
    agrees ? '' : ` They differ by ${fmt(sum - share)}.`);
}
