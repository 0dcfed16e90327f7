// The forms of the quota headers, for all clients and for keys: a mark in the bar, a table, and a form that sets one.

import { read, send } from './api.js';
import { act, byId, el, fill, poll, setText, showParts, submits, tell } from './dom.js';
import { plural, visible } from './format.js';

/** Milliseconds between two readings while the panel is shown, and for the mark in the bar. */
const READ_MS = 1000;
const MARK_MS = 2000;

/** The names of the policies unless a tester has set others. */
const USUAL = { minute: 'minute', day: 'day' };

/** The forms, with the headers that an answer has. */
const HEADERS = {
  'x-ratelimit': 'X-RateLimit-Limit, -Remaining, -Reset (seconds since 1970), -Resource',
  ratelimit: 'RateLimit-Policy and RateLimit, as lists (draft 11)',
  both: 'X-RateLimit-..., RateLimit-Policy and RateLimit',
  none: 'none; Retry-After stays',
  'x-ratelimit-delta': 'X-RateLimit-Limit, -Remaining, -Reset (seconds from now), -Resource',
  'draft-7': 'RateLimit: limit=60, remaining=59, reset=42, and RateLimit-Policy',
  'draft-6': 'RateLimit-Limit, -Remaining, -Reset (seconds from now), and RateLimit-Policy',
};

/** The names of the forms. */
export const FORMS = Object.keys(HEADERS);

const panel = byId('keys');
const form = byId('quota-form');

/** The forms as they were read last. */
let known = null;

const isRenamed = ({ minute, day }) => minute !== USUAL.minute || day !== USUAL.day;

/** The mark of forms that are not those of the setting; none if nothing is set. */
function markText({ form: all, setting, names, keys }) {
  if (all !== setting) return `Quota headers: ${all}`;
  if (isRenamed(names)) return 'Policies renamed';
  return keys.length > 0 ? `Quota headers of ${plural(keys.length, 'key')}` : null;
}

function row(clients, name, note) {
  return el('tr', {}, el('th', { scope: 'row' }, clients), el('td', {}, el('code', {}, name)), el('td', {}, HEADERS[name], note && el('span', { class: 'quiet clients' }, note)));
}

function draw(set) {
  // The form of the page begins with the one that is in force.
  if (known === null) form.elements.form.value = set.form;
  known = set;
  const mark = markText(set);
  byId('bar-quotas').hidden = mark === null;
  setText(byId('bar-quotas'), mark ?? '');
  byId('quota-back').disabled = mark === null;
  const rows = byId('quota-rows');
  const shape = JSON.stringify(set);
  if (rows.shape === shape) return;
  rows.shape = shape;
  const { names } = set;
  const note = isRenamed(names) && `The policies are named ${visible(names.minute)} and ${visible(names.day)}.`;
  const all = row(['All clients', set.form === set.setting && el('span', { class: 'quiet' }, ' (the setting)')], set.form, note);
  fill(rows, all, set.keys.map(({ key, form: own }) => row(['Key ', el('code', {}, visible(key))], own)));
}

/** The form that the fields describe. A name that is empty stays as it is. */
function wanted() {
  const { form: { value }, key, minute, day } = form.elements;
  if (key.value.trim()) return { form: value, key: key.value.trim() };
  const names = { minute: minute.value.trim() || known.names.minute, day: day.value.trim() || known.names.day };
  return { form: value, names };
}

/** Starts the part of the panel, and the mark in the bar. */
export function startQuotaHeaders() {
  const refresh = poll(panel, READ_MS, () => act(null, async () => draw(await read('quota-headers'))));
  // The bar tells otherwise if the sandbox does not answer.
  const mark = () => document.visibilityState === 'visible' && panel.hidden && read('quota-headers').then(draw, () => {});
  mark();
  setInterval(mark, MARK_MS);
  form.elements.form.append(...FORMS.map((name) => el('option', {}, name)));
  const parts = () => showParts(form, [form.elements.key.value.trim() ? 'key' : 'all']);
  form.addEventListener('input', parts);
  parts();
  submits(form, async () => {
    const change = wanted();
    draw(await send('PUT', 'quota-headers', change));
    tell(change.key ? `The key has the form ${change.form}.` : `Quota headers have the form ${change.form}.`);
    form.reset();
    form.elements.form.value = known.form;
    parts();
  }, (name) => (name.startsWith('names') ? 'minute' : name));
  byId('quota-back').addEventListener('click', ({ currentTarget }) => act(currentTarget, async () => {
    await send('DELETE', 'quota-headers');
    tell('Quota headers have the form of the setting.');
    await refresh();
  }));
  panel.addEventListener('named', ({ detail }) => {
    if (detail.name !== 'quota-headers') return;
    byId('quota-headers').scrollIntoView({ block: 'center' });
    byId('quota-title').focus({ preventScroll: true });
  });
}
