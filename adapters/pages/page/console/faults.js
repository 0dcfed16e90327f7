// The planned faults: the plan with its counts, and a form for a rule.

import { read, routes, send } from './api.js';
import { act, byId, copies, el, fill, poll, setText, showParts, submits, tell } from './dom.js';
import { RETRY_USUAL, callsText, clientsText, effectText, effects, fieldOf, fieldsOf, retryForms, ruleOf, whenText, withoutCounts } from './fault_rule.js';
import { count, plural, visible } from './format.js';
import { FORMS } from './plan_code.js';

/** Milliseconds between two readings of the counts. */
const READ_MS = 1000;

/** Milliseconds between two readings for the mark in the bar, while another panel is shown. */
const MARK_MS = 2000;

const panel = byId('faults');
const form = byId('fault-form');

/** Rules to begin with. */
const PRESETS = [
  ['The first read fails', { method: 'GET', route: '/pets', first: 1, status: 503, retryAfter: 3 }],
  ['Every tenth call is slow', { percent: 10, latency: '2s' }],
  ['An order is placed, its answer is lost', { method: 'POST', route: '/store/orders', first: 1, when: 'after', drop: true }],
  ['The quota is used up', { first: 1, exhaust: 'minute' }],
];

/** The plan as it was read last, in the form that the sandbox takes. */
let known = { seed: 0, faults: [] };

/** The place of the rule that the form changes; none for a new rule. */
let edited = null;

async function plan(rules, seed, said) {
  draw(await send('PUT', 'faults', { seed, faults: rules }));
  tell(said);
}

/** Adds a rule to the end of the plan. The counts and the delays of the others stay. */
async function add(rule, said) {
  await send('POST', 'faults', { faults: [rule] });
  draw(await read('faults'));
  tell(said);
}

async function remove(id, said) {
  await send('DELETE', `faults/${id}`);
  draw(await read('faults'));
  tell(said);
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
  const shape = JSON.stringify([seed, faults.map(({ calls, acted, ...rule }) => rule)]);
  if (rows.shape !== shape) {
    rows.shape = shape;
    fill(rows, faults.map(row));
  }
  for (const [place, rule] of faults.entries()) {
    rows.children[place].querySelector('.calls').textContent = count(rule.calls);
    rows.children[place].querySelector('.acted').textContent = count(rule.acted);
  }
}

function row(rule, place) {
  const calls = callsText(rule);
  const clients = clientsText(rule);
  return el('tr', {}, el('th', { scope: 'row' }, el('code', {}, calls), clients.map((one) => el('span', { class: 'quiet clients' }, visible(one)))),
    el('td', {}, whenText(rule)), el('td', {}, visible(effectText(rule))),
    el('td', { class: 'number', 'data-name': 'Matched' }, el('span', { class: 'calls' })),
    el('td', { class: 'number', 'data-name': 'Acted' }, el('span', { class: 'acted' })),
    el('td', { class: 'row-actions' }, el('button', {
      type: 'button', 'aria-label': `Edit the rule ${place + 1}: ${calls}`, onclick: () => edit({ place, rule: withoutCounts(rule) }),
    }, 'Edit'), el('button', {
      type: 'button', 'aria-label': `Remove the rule ${place + 1}: ${calls}`,
      onclick: ({ currentTarget }) => act(currentTarget, () => remove(rule.id, 'The rule was removed.')),
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
  const fields = { ...fieldsOf(rule), seed: '' };
  // A field for numbers would take no text.
  form.elements.retryAfter.type = 'text';
  for (const control of form.querySelectorAll('select, input')) {
    const value = fields[control.name];
    if (value === undefined) continue;
    if (control.localName === 'select' && ![...control.options].some((option) => option.value === String(value))) {
      control.append(el('option', {}, value));
    }
    control.value = value;
  }
}

/** Shows the form with a rule for an operation. `via` is the way of the calls; none for any. */
export function planFor(method, route, via) {
  edit(null);
  // A rule may name the methods of the contract only.
  const isKnown = [...form.elements.method.options].some((option) => option.value === method);
  fillForm({ ...(isKnown && { method }), route, ...(via && { via }), first: 1, status: 503 });
  parts();
  location.hash = '#faults';
  form.scrollIntoView({ block: 'center' });
  form.elements.status.focus();
}

/** Shows the fields that the choices need. */
function parts() {
  const { effect, trigger, retryForm, retryAfter } = form.elements;
  const words = [effect.value, trigger.value];
  if (effect.value === 'status') words.push(`retry-${retryForm.value}`);
  showParts(form, words);
  retryAfter.type = retryForm.value === 'seconds' ? 'number' : 'text';
  retryAfter.placeholder = RETRY_USUAL[retryForm.value];
}

/** The fields that are sent as they are; the others have no spaces around their values. */
const EXACT = ['headerValue', 'retryAfter'];

function fields() {
  const controls = [...form.querySelectorAll('select, input')];
  return Object.fromEntries(controls.map(({ name, value }) => [name, EXACT.includes(name) ? value : value.trim()]));
}

/** Starts the panel. */
export function startFaults() {
  const refresh = poll(panel, READ_MS, () => act(null, async () => draw(await read('faults'))));
  // The bar tells otherwise if the sandbox does not answer.
  const mark = () => document.visibilityState === 'visible' && panel.hidden && read('faults').then(draw, () => {});
  mark();
  setInterval(mark, MARK_MS);
  form.elements.route.append(...routes.map((route) => el('option', {}, route)));
  const options = (words) => words.map(([word, text]) => el('option', { value: word }, text));
  form.elements.effect.append(...options(effects));
  form.elements.retryForm.append(...options(retryForms));
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
    const rule = ruleOf(fields(), edited?.rule);
    const chosen = form.elements.seed.value;
    if (edited === null && chosen === '') {
      await add(rule, 'The rule was added.');
      return;
    }
    const { seed, faults } = await read('faults');
    const rules = faults.map(withoutCounts);
    const isChange = edited !== null && JSON.stringify(rules[edited.place]) === edited.shape;
    if (isChange) rules[edited.place] = rule;
    else rules.push(rule);
    await plan(rules, chosen === '' ? seed : Number(chosen), isChange ? 'The rule was changed.' : 'The rule was added.');
    if (isChange) edit(null);
  }, fieldOf);
}
