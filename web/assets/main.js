// The frame around the views, the keys, and the start.

const views = table({ overview, rollouts, rollout, group });

function render() {
  const { view, query } = address();
  if (view === 'rollouts') sessionList = location.hash || '#rollouts';
  current = null;
  const name = views[view] ? view : 'overview';
  const tab = (to, label, on) => el('a', { href: to, 'aria-current': on ? 'page' : undefined }, label);
  const page = views[name](query);
  page.id = 'page';
  page.tabIndex = -1;
  document.body.replaceChildren(...[...document.body.querySelectorAll(':scope > script, :scope > noscript')],
    el('a.skip', { href: '#page', onclick: e => { e.preventDefault(); page.focus(); } }, 'Skip to the page'),
    el('nav.top', { 'aria-label': 'Report' }, el('b.logo', {}, 'molt'), el('span.run', {}, visible(D.run.name)),
      tab(link('overview'), 'Overview', name === 'overview'), tab(name === 'rollouts' ? link('rollouts') : sessionList, 'Rollouts', name !== 'overview'),
      el('span.fill'), el('button.small', { type: 'button', onclick: theme, title: 'light or dark (t)' }, 'theme'),
      el('button.small', { type: 'button', onclick: help, title: 'keys (?)', 'aria-label': 'Keys' }, '?')),
    page, el('footer', {}, `Written by molt ${visible(D.run.build.molt)}. This file holds everything it shows and asks nobody for more.`));
}

// theme switches between light and dark; the choice lasts where the browser keeps it for files.
function theme() {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  document.documentElement.dataset.theme = dark ? 'light' : 'dark';
  try { localStorage.setItem('molt-theme', document.documentElement.dataset.theme); } catch { /* files may have no storage */ }
}

const keys = [
  ['1, 2', 'overview, rollouts'], ['/', 'filter rollouts'], ['j, k', 'next, previous rollout of the list'], ['g', 'the group of this rollout'],
  ['c', 'colour tokens by the next quantity'], ['← →', 'token by token, or along a curve'], ['↑ ↓', 'turn by turn, in the tokens'],
  ['n', 'next token that stands out'], ['Esc', 'back to the list'], ['t', 'light or dark'], ['?', 'this list'],
];

function help() {
  openDialog('Keys', el('dl.keys', {}, keys.map(([key, what]) => [el('dt', {}, el('kbd', {}, key)), el('dd', {}, what)])),
    el('p.quiet', {}, 'Filter words: text anywhere, "exact words", -without, reward<0.5 (also advantage, turns, tokens, lag, mismatch, seconds, step, group), outcome:truncated (also tool, split, source, prompt, kept, alarm).'));
}

const go = to => { if (to) location.hash = to; };
function key(e) {
  if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector('dialog[open]')) return;
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName);
  if (e.key === 'Escape') { if (typing) e.target.blur(); else if (address().view !== 'overview') go(address().view === 'rollouts' ? link('overview') : back()); return; }
  if (typing) return;
  const near = i => document.querySelectorAll('nav.near > *')[i]?.getAttribute('href');
  const act = {
    1: () => go(link('overview')), 2: () => go(back()), '/': () => { if (address().view !== 'rollouts') { go(back()); render(); } document.getElementById('filter')?.focus(); },
    j: () => go(near(1)), k: () => go(near(0)), g: () => current && go(link('group', { of: current.rollout.name })), c: () => current?.strip.cycle(), t: theme, '?': help,
  }[e.key];
  if (act) { e.preventDefault(); act(); }
}

try {
  const kept = localStorage.getItem('molt-theme');
  if (kept === 'dark' || kept === 'light') document.documentElement.dataset.theme = kept;
} catch { /* files may have no storage */ }
addEventListener('hashchange', () => { render(); scrollTo(0, 0); });
addEventListener('keydown', key);
render();
