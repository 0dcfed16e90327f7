// The baseline: the shop that a reset restores. A mark in the bar tells if it is another one than at the start.

import { about, readHead, send, sendLines } from './api.js';
import { act, byId, el, fill, poll, setText, submits, tell } from './dom.js';
import { count, plural } from './format.js';

/** Milliseconds between two readings while the panel is shown, and for the mark in the bar. */
const READ_MS = 2000;

/** The maximum number of bytes of a file that the sandbox takes. */
const FILE_MAX = 16 * 1024 * 1024;

const panel = byId('reset');
const form = byId('baseline-form');

/** The shop of the start. */
const first = about.demo === null ? 'that of the start: the file of --sandbox-shop, or an empty shop'
  : `${plural(about.demo, 'pet')} of the demonstration, always the same`;

/** Draws whether the baseline is another one than at the start; null if the server has no baseline. */
function draw(isOwn) {
  byId('bar-baseline').hidden = !isOwn;
  setText(byId('bar-baseline'), isOwn ? 'Own baseline' : '');
  byId('baseline').hidden = isOwn === null;
  byId('baseline-first').disabled = !isOwn;
  setText(byId('baseline-state'), isOwn ? 'set by a tester' : 'that of the start');
  byId('baseline-state').className = `tag ${isOwn ? 'warn' : 'good'}`;
  const what = byId('reset-what');
  if (what.isOwn === isOwn) return;
  what.isOwn = isOwn;
  fill(what, 'Restores the shop of the baseline: ', el('strong', {}, isOwn ? 'the one that a tester has set' : first),
    '. Ids start again, and earlier entity tags, cursors and event ids become invalid.');
}

/** `true` once the server has told that it has no baseline, so that it is not asked again. */
let isAbsent = false;

/** Reads whether the baseline is another one than at the start; null if the server has no baseline. */
async function state() {
  const head = isAbsent ? null : await readHead('baseline');
  isAbsent = head === null;
  return head && head.get('x-baseline') !== 'start';
}

const sizes = ({ categories, pets, orders }) =>
  `${categories === 1 ? '1 category' : `${count(categories)} categories`}, ${plural(pets, 'pet')}, ${plural(orders, 'order')}`;

/** Starts the part of the panel, and the mark in the bar. */
export function startBaseline() {
  draw(false);
  const refresh = poll(panel, READ_MS, () => act(null, async () => draw(await state())));
  // The bar tells otherwise if the sandbox does not answer.
  const mark = () => document.visibilityState === 'visible' && panel.hidden && state().then(draw, () => {});
  mark();
  setInterval(mark, READ_MS);
  submits(form, async () => {
    const [file] = form.elements.file.files;
    if (file.size > FILE_MAX) throw new Error('The file is longer than 16 MiB.');
    const made = await sendLines('PUT', 'baseline', file);
    tell(`A reset restores the file: ${sizes(made)}.`);
    form.reset();
    await refresh();
  });
  byId('baseline-save').addEventListener('click', ({ currentTarget }) => act(currentTarget, async () => {
    tell(`A reset restores the present shop: ${sizes(await send('POST', 'baseline'))}.`);
    await refresh();
  }));
  byId('baseline-first').addEventListener('click', ({ currentTarget }) => act(currentTarget, async () => {
    await send('DELETE', 'baseline');
    tell('A reset restores the shop of the start.');
    await refresh();
  }));
  panel.addEventListener('named', ({ detail }) => {
    if (detail.name !== 'baseline') return;
    byId('baseline').scrollIntoView({ block: 'center' });
    byId('baseline-title').focus({ preventScroll: true });
  });
}
