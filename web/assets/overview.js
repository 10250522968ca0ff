// The first page: what the run reached, what went wrong, its curves, and everything needed to repeat it.

function overview(query) {
  const run = D.run;
  return el('main.overview', {},
    el('header.hero', {},
      el('h1', {}, visible(run.name || 'A run'), ' ', outcome(D.outcome)),
      el('p.lead', {}, headline()),
      D.reason && el('p', {}, visible(D.reason)),
      D.resume && el('p', {}, 'Resume with ', el('code', {}, visible(D.resume)), ' ', copyButton('copy', () => D.resume))),
    tiles(), alarms(), curves(query.get('x') in AXES ? query.get('x') : 'step'), facts(), config());
}

// evalKinds groups evaluations by prompt set and temperature, the sampled ones first.
function evalKinds() {
  const kinds = new Map();
  for (const m of D.evals) {
    const key = `${m.event.name}, ${m.event.temperature ? 'temperature ' + fmt(m.event.temperature) : 'greedy'}`;
    kinds.set(key, [...(kinds.get(key) || []), m]);
  }
  return [...kinds].sort((a, b) => b[1][0].event.temperature - a[1][0].event.temperature);
}

function headline() {
  const run = D.run, kinds = evalKinds(), t = D.totals;
  const did = [t.sft_steps && plural(t.sft_steps, 'SFT step'), t.steps && plural(t.steps, 'RL step')].filter(Boolean).join(' and ');
  const text = `${visible(run.method || 'run')}, ${fmt(run.model.params)} parameters: ${did || 'no step'} in ${clock(D.seconds)}.`;
  if (!kinds.length) return text;
  const [name, list] = kinds[0], a = list[0].event, b = list[list.length - 1].event;
  return [text + ' On ', el('b', {}, visible(name)), ' it went from ', el('b', {}, percent(a.pass_at_1)), ' to ', el('b', {}, percent(b.pass_at_1)), '.'];
}

function tiles() {
  const t = D.totals, rewards = D.series.find(s => s.name === 'reward.mean');
  const short = name => visible(name).replace(', temperature ', ', T = ');
  const tile = (label, value, below, title) => el('div.tile', { title }, el('dt', {}, label), el('dd', {}, value), el('dd.quiet', {}, below));
  const list = evalKinds().slice(0, 3).map(([name, marks]) => {
    const best = marks.reduce((b, m) => num(m.event.pass_at_1) > num(b.event.pass_at_1) ? m : b), last = marks[marks.length - 1];
    return tile(short(name), [el('span.from', {}, percent(marks[0].event.pass_at_1), ' → '), percent(last.event.pass_at_1)],
      `best ${percent(best.event.pass_at_1)} after step ${best.event.step}, n\u00a0=\u00a0${last.event.n}`, event(last.seq));
  });
  if (rewards) {
    const y = rewards.y.filter(v => v !== null);
    list.push(tile('training reward', [el('span.from', {}, fmt(y[0]), ' → '), fmt(y[y.length - 1])], 'mean over graded rollouts'));
  }
  const lost = byValue(t.outcomes).filter(([o]) => o !== 'completed' && o !== 'truncated').reduce((n, [, k]) => n + k, 0);
  const played = byValue(t.outcomes).reduce((n, [, k]) => n + k, 0);
  if (t.steps) list.push(tile('training rollouts', fmt(played), lost ? `${lost} could not be graded` : 'all graded'));
  list.push(tile('trained', fmt(D.axes.step_done ? t.trained_tokens : lastOf(D.axes.sft_step?.tokens) || 0), 'action tokens'));
  list.push(tile('time', clock(D.seconds), D.legs.length > 1 ? `in ${D.legs.length} legs` : `started ${date(D.started)}`));
  list.push(tile('alarms', String(D.alarms.length), D.alarms.length ? 'see below' : 'nothing to report'));
  return el('dl.tiles', {}, list);
}
const lastOf = list => list && list[list.length - 1];

function alarms() {
  const items = D.alarms.map(m => el('li.' + (m.event.severity === 'critical' ? 'bad' : 'warn'), {},
    el('b', {}, `▲ ${visible(m.event.severity)}: ${visible(m.event.name)}`), el('span.quiet', { title: event(m.seq) }, ` at step ${m.event.step}`),
    el('p', {}, visible(m.event.sentence)), m.event.fix && el('p', {}, el('b', {}, 'Fix: '), visible(m.event.fix)),
    (m.event.evidence || []).length > 0 && el('p', {}, 'Evidence: ', m.event.evidence.map(evidence))));
  const notes = D.notes.map(m => el('li', { title: event(m.seq) }, visible(m.event.text)));
  return [
    items.length > 0 && el('section', { 'aria-label': 'Alarms' }, el('h2', {}, 'Alarms'), el('ul.alarms', {}, items)),
    notes.length > 0 && el('section', { 'aria-label': 'Notes' }, el('h2', {}, 'Notes'), el('ul', {}, notes)),
  ];
}

function evidence(ref) {
  const kept = D.rollouts.find(r => r.step === ref.step && r.group === ref.group && r.sample === ref.sample);
  const name = `step ${ref.step} group ${ref.group} sample ${ref.sample}`;
  return el('span.ref', {}, kept ? el('a', { href: link('rollout', { id: kept.name }) }, name) : name + ' (not kept)');
}

function curves(kind) {
  charts = [];
  const section = (title, list) => list.length > 0 && el('section', { 'aria-label': title }, el('h2', {}, title), el('div.charts', {}, list.map(s => chart(s, kind))));
  const of = test => D.series.filter(test);
  const choose = el('div.segments', { role: 'group', 'aria-label': 'Horizontal axis' }, Object.entries(AXES).map(([key, [, label]]) =>
    el('button', { type: 'button', 'aria-pressed': String(key === kind), onclick: () => { location.hash = link('overview', { x: key === 'step' ? '' : key }); } }, label)));
  return el('div.curves', {}, el('div.over', {}, choose),
    section('Held-out evaluation', of(s => s.name.startsWith('eval.'))),
    section('Reinforcement learning', of(s => !s.name.startsWith('eval.') && !s.name.startsWith('sft.'))),
    section('Supervised fine-tuning', of(s => s.name.startsWith('sft.'))));
}

// newestOfEach gives the checkpoints that are still there: of each kind the last one that was saved.
const newestOfEach = list => list.filter((p, i) => !list.slice(i + 1).some(q => q.event.keep === p.event.keep));

function facts() {
  const run = D.run, m = run.model, c = run.machine, b = run.build, t = D.totals, k = D.keeping;
  const row = (name, ...value) => [el('dt', {}, name), el('dd', {}, ...value)];
  const counts = (title, list, total, say = fmt) => list.length > 0 && el('div', {}, el('h3', {}, title), el('table.counts', {}, el('tbody', {}, list.map(([name, n]) =>
    el('tr', {}, el('th', { scope: 'row' }, visible(name)), el('td.n', {}, say(n)), el('td', {}, bar(n, total)))))));
  const sum = list => list.reduce((s, [, n]) => s + n, 0);
  const outcomes = byValue(t.outcomes), dropped = byValue(t.dropped), filtered = byValue(t.filtered), phases = byValue(t.phases);
  return el('section', { 'aria-label': 'Facts' }, el('h2', {}, 'The run'), el('div.columns', {},
    el('dl.facts', {},
      row('command', el('code', {}, visible(run.command)), ' ', copyButton('copy', () => run.command)),
      row('seed', run.seed), row('model', `${visible(m.name)}: ${fmt(m.params)} parameters, vocabulary ${m.vocab}, context ${m.context} tokens`),
      m.fingerprint && row('weights', el('code', {}, visible(m.fingerprint)), ' at the start'),
      row('machine', visible(`${c.cpu}, ${c.os}/${c.arch}, ${plural(c.cores, 'core')}, ${plural(c.threads, 'thread')}, ${bytes(c.memory_bytes)}${c.kernels ? ', ' + c.kernels : ''}`)),
      row('build', visible(`molt ${b.molt}${b.git ? ', git ' + b.git + (b.dirty ? ' with changes' : '') : ''}, ${b.go}`)),
      row('configuration', el('code', {}, visible(run.config_digest))),
      D.legs.map(a => row(a.leg === 1 ? 'started' : 'resumed', el('span', { title: event(a.seq) }, date(a.time)),
        a.event.resumed_from && [' from ', el('code', {}, visible(a.event.resumed_from))])),
      newestOfEach(D.checkpoints).map(p => row(visible(p.event.keep) + ' checkpoint',
        el('code', { title: event(p.seq) }, visible(p.event.path)), ` step ${p.event.step}`, p.event.score !== undefined && `, score ${percent(p.event.score)}`)),
      D.unknown > 0 && row('unread', `${plural(D.unknown, 'event')} of kinds that this program does not know`)),
    el('div', {}, counts('Outcomes of rollouts', outcomes, sum(outcomes)), counts('Dropped before a step', dropped, sum(dropped)), counts(`Groups that did not train, of ${fmt(t.groups)}`, filtered, t.groups),
      counts('Time by phase', phases, sum(phases), s => s < 100 ? s.toFixed(1) + ' s' : clock(s)))),
  k.offered > 0 && el('div.rule', {}, el('h3', {}, 'Which rollouts are here'),
    el('p', {}, `${fmt(k.kept)} of ${fmt(k.offered)} finished rollouts were stored (${bytes(k.bytes)} of a budget of ${bytes(k.budget_bytes)})` +
      (D.omitted ? `, of which ${fmt(D.omitted)} did not fit into this file.` : D.rollouts.length < k.kept ? `, of which ${fmt(D.rollouts.length)} could be read.` : '.')),
    byValue(k.left_out).length > 0 && el('p', {}, 'Left out: ' + byValue(k.left_out).map(([why, n]) => `${fmt(n)} ${visible(why)}`).join(', ') + '.'),
    el('p.quiet', {}, D.rule)));
}

// config shows each value with its source, which is the comment behind it.
function config() {
  const lines = visible(D.run.config || '').split('\n').map(l => {
    const at = l.search(/\s#/);
    return at < 0 ? l + '\n' : [l.slice(0, at), el('span.source', {}, l.slice(at)), '\n'];
  });
  return el('details.config', {}, el('summary', {}, 'Configuration, each value with its source'),
    copyButton('copy', () => D.run.config), el('pre', {}, lines));
}
