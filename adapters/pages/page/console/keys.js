// The accounts: their windows as bars, their keys with bans, and a form for a new key.

import { apiUrl, read, send } from './api.js';
import { act, byId, copies, el, fill, poll, setText, showParts, submits, tell } from './dom.js';
import { count, span, timeOfDay } from './format.js';
import { quoted } from './plan_code.js';
import { FORMS } from './quota_headers.js';

/** Milliseconds between two readings of the windows. */
const READ_MS = 1000;

const panel = byId('keys');
const form = byId('key-form');

/** The share that is left below which a bar warns. */
const LOW = 0.2;

function bar(name, account) {
  const fillBar = el('div', { class: 'bar-fill' });
  const text = el('span', { class: 'quiet' });
  const meter = el('div', {
    class: 'meter', role: 'meter', 'aria-label': `${account.name}: requests left of the ${name}`, 'aria-valuemin': 0,
  }, fillBar);
  return { element: el('div', { class: 'window' }, el('span', {}, name), meter, text), meter, fillBar, text };
}

function drawBar({ meter, fillBar, text }, { limit, remaining, reset }, now) {
  const share = remaining / limit;
  fillBar.style.width = `${Math.round(share * 1000) / 10}%`;
  meter.className = `meter ${share === 0 ? 'is-empty' : share <= LOW ? 'is-low' : ''}`;
  meter.setAttribute('aria-valuemax', limit);
  meter.setAttribute('aria-valuenow', remaining);
  const said = `${count(remaining)} of ${count(limit)} left, reset in ${span(reset - now)}`;
  meter.setAttribute('aria-valuetext', said);
  setText(text, said);
}

function keyRow(key, account) {
  const state = key.state === 'banned' ? `banned until ${timeOfDay(key.bannedUntil).slice(0, 8)} UTC` : key.state;
  const lift = key.state === 'banned' && el('button', {
    type: 'button', 'aria-label': `Lift the ban of ${key.prefix}`,
    onclick: ({ currentTarget }) => act(currentTarget, async () => {
      await send('DELETE', `keys/${key.id}/ban`);
      tell(`The ban of ${key.prefix} is lifted.`);
      await refresh();
    }),
  }, 'Lift the ban');
  return el('tr', {}, el('th', { scope: 'row' }, el('code', {}, `${key.prefix}...`), key.label && el('span', { class: 'quiet' }, ` ${key.label}`)),
    el('td', {}, key.scopes.replaceAll(',', ', ')), el('td', {}, el('span', { class: `tag ${key.state === 'active' ? 'good' : 'bad'}` }, state)), el('td', {}, lift));
}

function card(account) {
  const bars = { minute: bar('minute', account), day: bar('day', account) };
  const element = el('article', { class: 'card account', 'aria-label': `Account ${account.name}` },
    el('h3', {}, account.name, ' ', el('span', { class: 'tag' }, account.plan)), bars.minute.element, bars.day.element,
    el('table', { class: 'grid' }, el('caption', { class: 'off-screen' }, `Keys of ${account.name}`),
      el('thead', {}, el('tr', {}, ['Key', 'Scopes', 'State'].map((name) => el('th', { scope: 'col' }, name)),
        el('th', { scope: 'col' }, el('span', { class: 'off-screen' }, 'Change')))),
      el('tbody', {}, account.keys.map((key) => keyRow(key, account)))));
  return { element, bars };
}

let shown = [];

function draw({ now, accounts, complete }) {
  // The cards are made again only after a change of keys, so that a focused button keeps its focus.
  const shape = JSON.stringify(accounts.map(({ id, name, plan, keys }) => [id, name, plan, keys]));
  const place = byId('accounts');
  if (place.shape !== shape) {
    place.shape = shape;
    shown = accounts.map(card);
    fill(place, shown.map((one) => one.element), !complete && el('p', { class: 'quiet' }, 'Further keys are not shown.'));
    if (accounts.length === 0) fill(place, el('div', { class: 'empty' }, el('h3', {}, 'There is no key'), el('p', {}, 'Make one below.')));
  }
  const seconds = Date.parse(now) / 1000;
  for (const [index, account] of accounts.entries()) {
    drawBar(shown[index].bars.minute, account.minute, seconds);
    drawBar(shown[index].bars.day, account.day, seconds);
  }
}

let refresh;

function reveal({ secret, account, plan }) {
  const command = `curl -s ${quoted(`${apiUrl}/pets`)} -H "X-API-Key: ${secret}"`;
  fill(byId('new-key'), el('p', {}, 'The new key of ', el('strong', {}, account), ` on the ${plan} plan. It is not shown again.`),
    el('div', { class: 'command' }, el('pre', { tabindex: 0, 'aria-label': 'Key' }, el('code', {}, secret)),
      copies(el('button', { type: 'button' }, 'Copy the key'), () => secret)),
    el('div', { class: 'command' }, el('pre', { tabindex: 0, 'aria-label': 'Command' }, el('code', {}, command)),
      copies(el('button', { type: 'button' }, 'Copy'), () => command)));
}

/** Starts the panel. */
export function startKeys() {
  refresh = poll(panel, READ_MS, () => act(null, async () => draw(await read('keys'))));
  form.elements.quotaHeaders.append(...FORMS.map((name) => el('option', {}, name)));
  const parts = () => showParts(form, [form.elements.plan.value]);
  form.addEventListener('input', parts);
  parts();
  submits(form, async () => {
    const { account, plan, minute, day, label, quotaHeaders } = form.elements;
    const wanted = {};
    if (account.value.trim()) wanted.account = account.value.trim();
    if (label.value.trim()) wanted.label = label.value.trim();
    if (plan.value) wanted.plan = plan.value;
    if (quotaHeaders.value) wanted.quotaHeaders = quotaHeaders.value;
    if (plan.value === 'enterprise') Object.assign(wanted, { minute: Number(minute.value), day: Number(day.value) });
    wanted.scopes = [...form.querySelectorAll('[name=scope]:checked')].map((box) => box.value).join(',');
    reveal(await send('POST', 'keys', wanted));
    await refresh();
  });
}
