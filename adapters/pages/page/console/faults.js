// The planned faults: the plan with its counts, and a form for a further rule.

import { read, routes, send } from './api.js';
import { act, byId, el, fill, poll, showParts, tell } from './dom.js';
import { count } from './format.js';

/** Milliseconds between two readings of the counts. */
const READ_MS = 1000;

const panel = byId('faults');
const form = byId('fault-form');

/** The effects of a rule: the words of the form, and the members of the rule. */
const EFFECTS = {
  status: ['Answer with an error', ({ status, retryAfter }) => ({
    status: Number(status), ...(retryAfter && { retryAfter: Number(retryAfter) }),
  })],
  drop: ['Close the connection without an answer', () => ({ drop: true })],
  lost: ['Make the change, then lose the answer', () => ({ when: 'after', drop: true })],
  truncate: ['Truncate the body', () => ({ body: 'truncate' })],
  malformed: ['Break the JSON of the body', () => ({ body: 'malformed' })],
  slow: ['Send the body slowly', () => ({ body: 'slow' })],
  minute: ['Use up the quota of the minute', () => ({ exhaust: 'minute' })],
  day: ['Use up the quota of the day', () => ({ exhaust: 'day' })],
  grow: ['Add an unknown member and an unknown error code', () => ({ grow: true })],
  delay: ['Delay only', () => ({})],
};

/** Plans to begin with. */
const PRESETS = [
  ['The first read fails', { method: 'GET', route: '/pets', first: 1, status: 503, retryAfter: 3 }],
  ['Every tenth call is slow', { percent: 10, latency: '2s' }],
  ['An order is placed, its answer is lost', { method: 'POST', route: '/store/orders', first: 1, when: 'after', drop: true }],
  ['The quota is used up', { first: 1, exhaust: 'minute' }],
];

/** The members of a rule that are not its effect. */
const SELECTION = ['method', 'route', 'first', 'percent', 'calls', 'acted'];

function whenText(rule) {
  if (rule.first !== undefined) return rule.first === 1 ? 'the first call' : `the first ${count(rule.first)} calls`;
  return rule.percent === undefined ? 'every call' : `${rule.percent} % of calls`;
}

/** The effect of a rule in words, with the other members as they are. */
function effectText(rule) {
  const said = [];
  if (rule.latency) said.push(`delay ${rule.latency}${rule.jitter ? ` up to ${rule.jitter} more` : ''}`);
  else if (rule.jitter) said.push(`delay up to ${rule.jitter}`);
  if (rule.status) said.push(`${rule.status} ${rule.code ?? ''}${rule.retryAfter ? `, Retry-After ${rule.retryAfter}` : ''}`.trim());
  if (rule.drop) said.push(rule.when === 'after' ? 'the change is made, the answer is lost' : 'no answer, the connection closes');
  const told = ['latency', 'jitter', 'status', 'code', 'retryAfter', 'drop', 'when'];
  for (const [name, value] of Object.entries(rule)) {
    if (!SELECTION.includes(name) && !told.includes(name)) said.push(`${name}: ${typeof value === 'object' ? JSON.stringify(value) : value}`);
  }
  return said.join('; ') || 'none';
}

/** The rules in the form that the sandbox takes. */
const withoutCounts = ({ calls, acted, ...rule }) => rule;

async function plan(rules, seed, said) {
  draw(await send('PUT', 'faults', { seed, faults: rules }));
  tell(said);
}

function draw({ seed, faults }) {
  byId('faults-empty').hidden = faults.length > 0;
  byId('faults-plan').hidden = faults.length === 0;
  byId('faults-seed').textContent = `Seed ${seed}`;
  if (faults.length === 0 && panel.contains(document.activeElement) && document.activeElement.closest('#faults-plan')) {
    byId('faults-title').focus();
  }
  const rows = byId('faults-rows');
  // Only the counts change from one reading to the next, so that a focused button keeps its focus.
  const shape = JSON.stringify([seed, faults.map(withoutCounts)]);
  if (rows.shape !== shape) {
    rows.shape = shape;
    fill(rows, faults.map((rule, place) => row(rule, place, faults, seed)));
  }
  for (const [place, rule] of faults.entries()) {
    rows.children[place].querySelector('.calls').textContent = count(rule.calls);
    rows.children[place].querySelector('.acted').textContent = count(rule.acted);
  }
}

function row(rule, place, faults, seed) {
  const calls = `${rule.method ?? 'any method'} ${rule.route ?? 'any route'}`;
  const others = faults.filter((_, other) => other !== place).map(withoutCounts);
  return el('tr', {}, el('th', { scope: 'row' }, el('code', {}, calls)), el('td', {}, whenText(rule)), el('td', {}, effectText(rule)),
    el('td', { class: 'number calls' }), el('td', { class: 'number acted' }),
    el('td', {}, el('button', {
      type: 'button', 'aria-label': `Remove the rule ${place + 1}: ${calls}`,
      onclick: ({ currentTarget }) => act(currentTarget, () => plan(others, seed, 'The rule was removed.')),
    }, 'Remove')));
}

/** The rule that the form describes. */
function wanted() {
  const { method, route, trigger, amount, effect, latency, jitter, status, retryAfter } = form.elements;
  const rule = {};
  if (method.value) rule.method = method.value;
  if (route.value) rule.route = route.value;
  if (trigger.value !== 'always') rule[trigger.value] = Number(amount.value);
  if (latency.value.trim()) rule.latency = latency.value.trim();
  if (jitter.value.trim()) rule.jitter = jitter.value.trim();
  const mayWait = ['429', '503'].includes(status.value);
  return Object.assign(rule, EFFECTS[effect.value][1]({ status: status.value, retryAfter: mayWait && retryAfter.value }));
}

/** Starts the panel. */
export function startFaults() {
  const refresh = poll(panel, READ_MS, () => act(null, async () => draw(await read('faults'))));
  form.elements.route.append(...routes.map((route) => el('option', {}, route)));
  form.elements.effect.append(...Object.entries(EFFECTS).map(([word, [text]]) => el('option', { value: word }, text)));
  const parts = () => showParts(form, [form.elements.effect.value, form.elements.trigger.value]);
  form.addEventListener('input', parts);
  parts();
  byId('presets').append(...PRESETS.map(([name, rule]) => el('button', {
    type: 'button', onclick: ({ currentTarget }) => act(currentTarget, () => plan([rule], 0, 'The fault is planned.')),
  }, name)));
  byId('faults-clear').addEventListener('click', ({ currentTarget }) => act(currentTarget, async () => {
    await send('DELETE', 'faults');
    tell('No fault is planned any more.');
    await refresh();
  }));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    act(event.submitter, async () => {
      const { seed, faults } = await read('faults');
      const chosen = form.elements.seed.value;
      await plan([...faults.map(withoutCounts), wanted()], chosen === '' ? seed : Number(chosen), 'The rule was added.');
    });
  });
}
