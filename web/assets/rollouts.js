// The table of kept rollouts: filter, sort, open. Everything that it shows is in the address.

const numbers = table({ reward: r => r.graded ? num(r.reward) : null, advantage: r => num(r.advantage), turns: r => r.turns, tokens: r => r.size, lag: r => r.lag,
  mismatch: r => r.mismatch, seconds: r => num(r.seconds), step: r => r.step, group: r => r.group, sample: r => r.sample, tools: r => r.tools.length });
const words = table({ outcome: r => [r.outcome], split: r => [r.split], source: r => [r.source], prompt: r => [r.prompt], tool: r => r.tools, kept: r => r.why || [],
  filtered: r => [r.filtered || 'no'], alarm: r => [r.alarm || 'no'] });

// matcher compiles a query: reward<0.5 outcome:truncated tool:calc "exact words" -word.
function matcher(text) {
  const tests = [];
  for (const [, minus, quoted, plain] of text.matchAll(/(-?)(?:"([^"]*)"?|(\S+))/g)) {
    const test = quoted === undefined ? term(plain) : contains(quoted);
    if (test) tests.push(minus ? r => !test(r) : test);
  }
  return r => tests.every(t => t(r));
}

function term(word) {
  const compare = word.match(/^([a-z]+)(<=|>=|<|>|=)(-?[\d.]+(?:e-?\d+)?)$/i);
  if (compare && numbers[compare[1]]) {
    const [, name, op, text] = compare, to = Number(text);
    const holds = { '<': v => v < to, '>': v => v > to, '<=': v => v <= to, '>=': v => v >= to, '=': v => v === to }[op];
    return r => { const v = numbers[name](r); return v !== null && holds(v); };
  }
  const [, name, value] = word.match(/^([a-z]+):(.+)$/i) || [];
  if (words[name]) return r => words[name](r).some(w => w.toLowerCase().includes(value.toLowerCase()));
  if (numbers[name]) return r => numbers[name](r) === Number(value);
  return contains(word);
}

function contains(text) {
  const needle = text.toLowerCase();
  return r => spoken(r).includes(needle);
}

// spoken is all text of a rollout, for searching.
function spoken(r) {
  r.spoken ??= [r.prompt, r.source, r.detail, ...r.messages.flatMap(m => [m.text, m.thinking, m.problem, ...(m.calls || []).flatMap(c => [c.name, c.arguments])])]
    .filter(Boolean).join('\n').toLowerCase();
  return r.spoken;
}

const facets = {
  step: ['any step', r => String(r.step)], split: ['train and held out', r => r.split], outcome: ['any outcome', r => r.outcome],
  why: ['kept for any reason', r => r.why || []],
};

// selected lists the rollouts that the address asks for, in its order.
function selected(query) {
  const matches = matcher(query.get('q') || '');
  const asked = Object.entries(facets).filter(([name]) => query.get(name));
  const list = D.rollouts.filter(r => asked.every(([name, [, of]]) => [of(r)].flat().includes(query.get(name))) && matches(r));
  const sort = query.get('sort') || '';
  const key = sort.replace(/^-/, ''), by = numbers[key] || (words[key] && (r => words[key](r).join())), way = sort.startsWith('-') ? -1 : 1;
  if (!by) return list;
  return list.map(r => [by(r), r]).sort(([a, x], [b, y]) => (a === null) - (b === null) || way * (a < b ? -1 : a > b ? 1 : 0) || x.index - y.index).map(([, r]) => r);
}

const columns = [
  ['step', 'Step', r => r.step, 'n'], ['group', 'Group', r => r.group, 'n wide'], ['sample', 'Sample', r => r.sample, 'n wide'],
  ['reward', 'Reward', (r, most) => [fmt(r.graded ? r.reward : null), bar(r.graded ? r.reward : null, most.reward, most.twoSided)], 'n bars'],
  ['advantage', 'Advantage', (r, most) => [signed(r.advantage), bar(r.advantage, most.advantage, true)], 'n bars wide'],
  ['outcome', 'Outcome', r => outcome(r.outcome), ''], ['turns', 'Turns', r => r.turns, 'n'], ['tokens', 'Tokens', r => fmt(r.size), 'n wide'],
  ['tools', 'Calls', r => r.tools.length, 'n wide'], ['lag', 'Lag', r => r.lag, 'n wide'],
  ['mismatch', 'Mismatch', r => fmt(r.mismatch), 'n wide', 'largest factor between the probabilities that learner and generator gave one of its tokens; 1 when they agree'],
  ['kept', 'Kept as', r => visible((r.why || []).join(', ')), 'why wide'],
];

function rollouts(query) {
  const status = el('p.status', { role: 'status' }), body = el('tbody'), more = el('div.more');
  const input = el('input', { type: 'search', id: 'filter', value: query.get('q') || '', placeholder: 'filter: reward<0.5 tool:calc "two words"',
    'aria-label': 'Filter rollouts', autocomplete: 'off', spellcheck: 'false', oninput: () => { amend({ q: input.value }); fillBody(); } });
  const menus = Object.entries(facets).map(([name, [any, of]]) => {
    const values = [...new Set(D.rollouts.flatMap(r => of(r)))];
    return el('select', { 'aria-label': name, onchange: e => { amend({ [name]: e.target.value }); fillBody(); } },
      el('option', { value: '' }, any), values.map(v => el('option', { value: v, selected: query.get(name) === v }, name === 'step' ? 'step ' + v : visible(v))));
  });
  const heads = columns.map(([key, label, , kind, title]) => el('th', { scope: 'col', class: kind, title },
    el('button', { type: 'button', onclick: () => { amend({ sort: nextSort(address().query.get('sort') || '', key) }); fillBody(); } }, label, key === 'step' && el('span.narrow', {}, ' · group/sample'), el('span.arrow'))));
  const most = {
    reward: Math.max(...D.rollouts.filter(r => r.graded).map(r => Math.abs(num(r.reward))).filter(Number.isFinite), 0),
    advantage: Math.max(...D.rollouts.filter(trained).map(r => Math.abs(num(r.advantage))).filter(Number.isFinite), 0),
    twoSided: D.rollouts.some(r => r.graded && num(r.reward) < 0),
  };
  let list = [], shown = 0;
  // extend adds rows as they come into sight: a table of ten thousand opens like one of ten.
  const extend = () => {
    const part = list.slice(shown, shown += 200);
    body.append(...part.map(r => row(r, most)));
    more.hidden = shown >= list.length;
  };
  new IntersectionObserver(seen => { if (seen.some(s => s.isIntersecting) && shown < list.length) extend(); }, { rootMargin: '600px' }).observe(more);
  const fillBody = () => {
    const now = address().query;
    list = selected(now);
    shown = 0;
    body.replaceChildren();
    extend();
    status.textContent = `${fmt(list.length)} of ${plural(D.rollouts.length, 'kept rollout')}`;
    heads.forEach((h, i) => {
      const sort = now.get('sort') || '', on = sort.replace(/^-/, '') === columns[i][0];
      h.setAttribute('aria-sort', !on ? 'none' : sort.startsWith('-') ? 'descending' : 'ascending');
    });
  };
  fillBody();
  return el('main.rollouts', {}, el('h1', {}, 'Rollouts'),
    el('form.filters', { role: 'search', onsubmit: e => e.preventDefault() }, input, menus,
      el('button.small', { type: 'button', onclick: () => { location.hash = link('rollouts'); } }, 'clear')),
    status,
    D.rollouts.length ? el('div.scroll', {}, el('table.list', {}, el('caption', {}, 'Kept rollouts of the run'), el('thead', {}, el('tr', {}, heads)), body), more) :
      el('p.empty', {}, 'This run kept no rollouts.'));
}

const nextSort = (sort, key) => sort === '-' + key ? key : sort === key ? '' : '-' + key;

function row(r, most) {
  const href = link('rollout', { id: r.name });
  return el('tr', { onclick: e => { if (!e.target.closest('a') && !String(getSelection())) location.hash = href; } },
    columns.map(([, , cell, kind], i) => el(i ? 'td' : 'th', { class: kind, scope: i ? undefined : 'row' },
      i ? cell(r, most) : el('a', { href, 'aria-label': `Rollout of step ${r.step}, group ${r.group}, sample ${r.sample}` }, cell(r, most), el('span.narrow', {}, ` · ${r.group}/${r.sample}`)))));
}
