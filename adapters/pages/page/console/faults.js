// The planned faults: the plan with its counts, and a form for a rule.

import { read, routes, send } from './api.js';
import { act, byId, copies, el, fill, poll, setText, showParts, submits, tell } from './dom.js';
import { count, plural } from './format.js';
import { FORMS } from './plan_code.js';

/** Milliseconds between two readings of the counts. */
const READ_MS = 1000;

/** Milliseconds between two readings for the mark in the bar, while another panel is shown. */
const MARK_MS = 2000;

const panel = byId('faults');
const form = byId('fault-form');

/** Whether an error may tell when to send the request again. */
const isTimed = (status, code) => ['429', '503'].includes(status) || code === 'key_banned';

/** The effects of a rule: the words of the form, and the members of the rule. */
const EFFECTS = {
  status: ['Answer with an error', ({ status, code, retryAfter }) => ({
    status: Number(status), ...(code && { code }), ...(retryAfter && isTimed(status, code) && { retryAfter: Number(retryAfter) }),
  })],
  drop: ['Close the connection without an answer', () => ({ drop: true })],
  lost: ['Make the change, then lose the answer', () => ({ when: 'after', drop: true })],
  truncate: ['Truncate the body', () => ({ body: 'truncate' })],
  malformed: ['Break the JSON of the body', () => ({ body: 'malformed' })],
  slow: ['Send the body slowly', ({ bytesPerSecond }) => ({
    body: 'slow', ...(bytesPerSecond && { bytesPerSecond: Number(bytesPerSecond) }),
  })],
  minute: ['Use up the quota of the minute', () => ({ exhaust: 'minute' })],
  day: ['Use up the quota of the day', () => ({ exhaust: 'day' })],
  grow: ['Add an unknown member and an unknown error code', () => ({ grow: true })],
  delay: ['Delay only', () => ({})],
};

/** Rules to begin with. */
const PRESETS = [
  ['The first read fails', { method: 'GET', route: '/pets', first: 1, status: 503, retryAfter: 3 }],
  ['Every tenth call is slow', { percent: 10, latency: '2s' }],
  ['An order is placed, its answer is lost', { method: 'POST', route: '/store/orders', first: 1, when: 'after', drop: true }],
  ['The quota is used up', { first: 1, exhaust: 'minute' }],
];

/** The effect of a rule, as the form names it. */
function effectOf(rule) {
  if (rule.drop) return rule.when === 'after' ? 'lost' : 'drop';
  if (rule.body) return rule.body;
  if (rule.exhaust) return rule.exhaust;
  if (rule.grow) return 'grow';
  return rule.status || rule.code ? 'status' : 'delay';
}

/** The members of a rule that are not its effect. */
const SELECTION = ['id', 'method', 'route', 'first', 'percent', 'calls', 'acted'];

function whenText(rule) {
  if (rule.first !== undefined) return rule.first === 1 ? 'the first call' : `the first ${count(rule.first)} calls`;
  return rule.percent === undefined ? 'every call' : `${rule.percent} % of calls`;
}

/** The effect of a rule in words, with the other members as they are. */
function effectText(rule) {
  const said = [];
  if (rule.latency) said.push(`delay ${rule.latency}${rule.jitter ? ` up to ${rule.jitter} more` : ''}`);
  else if (rule.jitter) said.push(`delay up to ${rule.jitter}`);
  if (rule.status) said.push(`${rule.status} ${rule.code ?? ''}${rule.retryAfter ? `, Retry-After ${rule.retryAfter.date ?? rule.retryAfter}` : ''}`.trim());
  if (rule.drop) said.push(rule.when === 'after' ? 'the change is made, the answer is lost' : 'no answer, the connection closes');
  const told = ['latency', 'jitter', 'status', 'code', 'retryAfter', 'drop', 'when'];
  for (const [name, value] of Object.entries(rule)) {
    if (!SELECTION.includes(name) && !told.includes(name)) said.push(`${name}: ${typeof value === 'object' ? JSON.stringify(value) : value}`);
  }
  return said.join('; ') || 'none';
}

/** The rules in the form that the sandbox takes. */
const withoutCounts = ({ id, calls, acted, ...rule }) => rule;

/** The plan as it was read last, in the form that the sandbox takes. */
let known = { seed: 0, faults: [] };

/** The place of the rule that the form changes; none for a new rule. */
let edited = null;

async function plan(rules, seed, said) {
  draw(await send('PUT', 'faults', { seed, faults: rules }));
  tell(said);
}

/** Adds a rule to the end of the plan. */
async function add(rule, said) {
  const { seed, faults } = await read('faults');
  await plan([...faults.map(withoutCounts), rule], seed, said);
}

function draw({ seed, faults }) {
  known = { seed, faults: faults.map(withoutCounts) };
  if (edited !== null && edited.shape !== JSON.stringify(known.faults[edited.place])) edit(null);
  byId('bar-faults').hidden = faults.length === 0;
  setText(byId('bar-faults'), `${plural(faults.length, 'fault')} planned`);
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
    el('td', { class: 'number', 'data-name': 'Matched' }, el('span', { class: 'calls' })),
    el('td', { class: 'number', 'data-name': 'Acted' }, el('span', { class: 'acted' })),
    el('td', { class: 'row-actions' }, el('button', {
      type: 'button', 'aria-label': `Edit the rule ${place + 1}: ${calls}`, onclick: () => edit({ place, rule: withoutCounts(rule) }),
    }, 'Edit'), el('button', {
      type: 'button', 'aria-label': `Remove the rule ${place + 1}: ${calls}`,
      onclick: ({ currentTarget }) => act(currentTarget, () => plan(others, seed, 'The rule was removed.')),
    }, 'Remove')));
}

/** Takes a rule of the plan into the form; null for a new rule. */
function edit(one) {
  form.reset();
  edited = one && { ...one, shape: JSON.stringify(one.rule) };
  setText(byId('fault-form-title'), one ? `Edit the rule ${one.place + 1}` : 'Add a rule');
  setText(byId('fault-submit'), one ? 'Save the rule' : 'Add the rule');
  byId('fault-cancel').hidden = !one;
  if (one) fillForm(one.rule);
  parts();
  if (one) form.elements.method.focus();
}

/** Sets the fields of the form from a rule. */
function fillForm(rule) {
  const trigger = rule.first === undefined ? (rule.percent === undefined ? 'always' : 'percent') : 'first';
  const fields = { ...rule, trigger, amount: rule.first ?? rule.percent, effect: effectOf(rule), seed: '' };
  for (const control of form.querySelectorAll('select, input')) {
    const value = fields[control.name];
    if (value === undefined) continue;
    if (control.localName === 'select' && ![...control.options].some((option) => option.value === String(value))) {
      control.append(el('option', {}, value));
    }
    control.value = value;
  }
}

/** Shows the form with a rule for an operation. */
export function planFor(method, route) {
  edit(null);
  // A rule may name the methods of the contract only.
  const isKnown = [...form.elements.method.options].some((option) => option.value === method);
  fillForm({ ...(isKnown && { method }), route, first: 1, status: 503 });
  parts();
  location.hash = '#faults';
  form.scrollIntoView({ block: 'center' });
  form.elements.status.focus();
}

const parts = () => showParts(form, [form.elements.effect.value, form.elements.trigger.value]);

/** The rule that the form describes. */
function wanted() {
  const { method, route, trigger, amount, effect, latency, jitter, status, code, retryAfter, bytesPerSecond } = form.elements;
  const rule = {};
  if (method.value) rule.method = method.value;
  if (route.value) rule.route = route.value;
  if (trigger.value !== 'always') rule[trigger.value] = Number(amount.value);
  if (latency.value.trim()) rule.latency = latency.value.trim();
  if (jitter.value.trim()) rule.jitter = jitter.value.trim();
  // The moment of an error or of a delay has no field.
  const before = edited?.rule;
  if (before?.when && effectOf(before) === effect.value) rule.when = before.when;
  const values = { status: status.value, code: code.value.trim(), retryAfter: retryAfter.value, bytesPerSecond: bytesPerSecond.value };
  return Object.assign(rule, EFFECTS[effect.value][1](values));
}

/** The name of the form's field for that of the sandbox, such as `faults[2].latency`. */
function fieldOf(name) {
  const member = name.split('.').at(-1);
  if (member === 'first' || member === 'percent') return 'amount';
  // A rule without an effect.
  return member.startsWith('faults[') ? 'latency' : member;
}

/** Starts the panel. */
export function startFaults() {
  const refresh = poll(panel, READ_MS, () => act(null, async () => draw(await read('faults'))));
  // The bar tells otherwise if the sandbox does not answer.
  const mark = () => document.visibilityState === 'visible' && panel.hidden && read('faults').then(draw, () => {});
  mark();
  setInterval(mark, MARK_MS);
  form.elements.route.append(...routes.map((route) => el('option', {}, route)));
  form.elements.effect.append(...Object.entries(EFFECTS).map(([word, [text]]) => el('option', { value: word }, text)));
  form.addEventListener('input', parts);
  // A code belongs to one status.
  form.elements.status.addEventListener('change', () => { form.elements.code.value = ''; });
  parts();
  byId('presets').append(...PRESETS.map(([name, rule]) => el('button', {
    type: 'button', onclick: ({ currentTarget }) => act(currentTarget, () => add(rule, 'The fault is planned.')),
  }, name)));
  byId('plan-copies').append(...Object.entries(FORMS).map(([name, form_]) =>
    copies(el('button', { type: 'button' }, `Copy as ${name}`), () => form_(known))));
  byId('faults-clear').addEventListener('click', ({ currentTarget }) => act(currentTarget, async () => {
    await send('DELETE', 'faults');
    tell('No fault is planned any more.');
    await refresh();
  }));
  byId('fault-cancel').addEventListener('click', () => edit(null));
  submits(form, async () => {
    const { seed, faults } = await read('faults');
    const chosen = form.elements.seed.value;
    const rules = faults.map(withoutCounts);
    const rule = wanted();
    const isChange = edited !== null && JSON.stringify(rules[edited.place]) === edited.shape;
    if (isChange) rules[edited.place] = rule;
    else rules.push(rule);
    await plan(rules, chosen === '' ? seed : Number(chosen), isChange ? 'The rule was changed.' : 'The rule was added.');
    if (isChange) edit(null);
  }, fieldOf);
}
