// A group: its rollouts side by side, aligned where each first differs from the one they are compared with.

function group(query) {
  const one = rolloutNamed(query.get('of'));
  if (!one) return el('main', {}, el('h1', {}, 'No such group'), el('p', {}, el('a', { href: link('rollouts') }, 'All kept rollouts')));
  const all = groupOf(one), best = all.reduce((b, r) => r.graded && (!b.graded || num(r.reward) > num(b.reward)) ? r : b);
  const base = rolloutNamed(query.get('base')) || best;
  const list = [...all].sort((a, b) => b.graded - a.graded || num(b.reward) - num(a.reward) || a.sample - b.sample);
  const most = Math.max(...all.filter(r => r.graded).map(r => Math.abs(num(r.reward))), 0), far = Math.max(...all.filter(trained).map(r => Math.abs(num(r.advantage))), 0);
  const splits = new Map(all.map(r => [r, r === base ? r.size : firstDifference(base, r)]));
  const others = all.filter(r => r !== base && r.size > 0);
  splits.set(base, Math.min(base.size, ...others.map(r => splits.get(r))));
  const shared = others.length ? splits.get(base) : 0;
  const filtered = all.find(r => r.filtered)?.filtered;
  return el('main.group', {}, el('header.status', {}, el('div.crumbs', {}, el('a', { href: back() }, 'Rollouts'), ' / ', el('a', { href: link('rollouts', { step: one.step }) }, `step ${one.step}`), ' / ',
    el('h1', {}, `group ${one.group}`)),
  el('p', {}, visible(`prompt ${one.prompt} of ${one.source}, ${one.split.replace('_', ' ')}. `), all.length < one.samples ? `${all.length} of its ${one.samples} rollouts were kept.` : `All ${one.samples} rollouts.`)),
  filtered ? el('p.warn', {}, `The group did not train: ${visible(filtered)}.`) : '',
  shared > 0 && el('details.shared', {}, el('summary', {}, `All begin with the same ${plural(shared, 'token')}`), el('div.text', {}, base.tokens.piece.slice(0, shared).map(glyph).join(''))),
  el('p.quiet', {}, `Each line is cut where its tokens first differ from sample ${base.sample}; the box is that token. Choose another line to compare with.`),
  el('div.forks', { role: 'table', 'aria-label': 'Rollouts of the group' }, list.map(r => fork(r, base, splits.get(r), most, far))));
}

function firstDifference(a, b) {
  const n = Math.min(a.size, b.size);
  for (let i = 0; i < n; i++) if (a.tokens.id[i] !== b.tokens.id[i]) return i;
  return n;
}

function fork(r, base, at, most, far) {
  const piece = r.tokens.piece, same = r !== base && at === r.size && at === base.size, href = link('rollout', { id: r.name, t: at < r.size ? at : '' });
  // The text before is drawn from its end: what is next to the fork is always in sight.
  const before = piece.slice(Math.max(0, at - 60), at).map(glyph).join('').replace(/\n/g, ''), after = piece.slice(at + 1, at + 400).map(glyph).join('').replace(/\n/g, '');
  const says = r === base ? 'compared with' : same ? 'the same tokens' : r.size === 0 ? 'no tokens' : at === r.size ? `ends at token ${at}` : `token ${at}`;
  return el('div.fork' + (r === base ? '.base' : ''), { role: 'row' },
    el('div.who', { role: 'cell' }, el('a', { href }, `sample ${r.sample}`), outcome(r.outcome)),
    el('div.meter', { role: 'cell' }, el('span.label', {}, 'reward'), el('b', {}, fmt(r.graded ? r.reward : null)), bar(r.graded ? r.reward : null, most, num(r.reward) < 0)),
    el('div.meter', { role: 'cell' }, el('span.label', {}, 'advantage'), el('b', {}, signed(r.advantage)), bar(r.advantage, far, true)),
    el('div.where', { role: 'cell' }, el('button.link', { type: 'button', 'aria-pressed': String(r === base), title: 'compare the others with this one',
      onclick: () => { amend({ base: r.name }); render(); } }, says)),
    el('div.before', { role: 'cell' }, el('bdi', {}, same ? '' : before)),
    el('div.after', { role: 'cell' }, same ? el('span.quiet', {}, '=') : r.size === 0 ? '' : at < r.size ? [el('mark', {}, glyph(piece[at]).replace(/\n/g, '')), after] : el('mark', {}, 'ends')));
}
