// The report about the clients: a verdict of each rule, with the requests that prove it.

import { about, readIfServed } from './api.js';
import { act, byId, el, fill, poll, setText } from './dom.js';
import { plural, visible } from './format.js';
import { headerCondition } from './search.js';

/** Milliseconds between two readings. */
const READ_MS = 2000;

/** The number of findings of a rule, and of requests of a finding, that are shown. */
const FINDINGS_MAX = 10;
const PROOFS_MAX = 8;

const panel = byId('report');

const KINDS = { kept: 'good', hint: 'warn', broken: 'bad', untested: '' };

/** The verdicts in the order of a report: what a reader must see comes first. */
const ORDER = ['broken', 'hint', 'kept', 'untested'];

/** The rule that the address names: it is drawn with a mark. */
let named = '';

function proof({ id, sequence }) {
  return el('a', { href: `#requests/${encodeURIComponent(id)}?sequence=${sequence}` }, `request ${sequence}`);
}

/** A sentence in which each part between two backticks is code. */
const sentence = (text) => text.split('`').map((part, place) => (place % 2 === 0 ? visible(part) : el('code', {}, visible(part))));

function finding({ reason, advice, requests }, place, all) {
  const proofs = requests.slice(0, PROOFS_MAX).map((one, place) => [place > 0 ? ', ' : ' ', proof(one)]);
  const isNew = advice && advice !== all[place - 1]?.advice;
  return el('li', {}, visible(reason), proofs, requests.length > PROOFS_MAX && ` and ${requests.length - PROOFS_MAX} more`,
    isNew && el('span', { class: 'advice' }, sentence(advice)));
}

function rule({ name, summary, source, verdict, cases, found, findings }) {
  const more = found - Math.min(found, FINDINGS_MAX);
  return el('tr', { class: `${name === named ? 'is-named' : ''} is-${verdict}`, 'data-rule': name },
    el('th', { scope: 'row' }, name, el('span', { class: 'quiet rule-about' }, summary)),
    el('td', {}, el('span', { class: `tag ${KINDS[verdict] ?? ''}` }, verdict)),
    el('td', {}, found > 0
      ? [el('a', { href: `#requests?rule=${encodeURIComponent(name)}` }, `${plural(found, 'finding')} in ${plural(cases, 'case')}`), el('ul', { class: 'findings' }, findings.slice(0, FINDINGS_MAX).map(finding), more > 0 && el('li', { class: 'quiet' }, `and ${more} more`))]
      : el('span', { class: 'quiet' }, cases > 0 ? `${plural(cases, 'case')} without a finding` : 'No request was a case for this rule.')),
    el('td', { class: 'quiet' }, source === '-' ? '' : source));
}

/** The rules by their verdicts, and within one as the sandbox has them. */
const inOrder = (rules) => rules.toSorted((one, other) => ORDER.indexOf(one.verdict) - ORDER.indexOf(other.verdict));

function client({ keyPrefix, requests, verdict, rules }) {
  const name = keyPrefix ? `Key ${keyPrefix}...` : 'Without a valid key';
  return el('section', { class: 'card', 'aria-label': name },
    el('h3', {}, name, ' ', el('span', { class: `tag ${KINDS[verdict] ?? ''}` }, verdict), ' ',
      el('span', { class: 'quiet' }, plural(requests, 'request'))),
    el('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': `Rules of ${name}` },
      el('table', { class: 'grid rules' }, el('caption', { class: 'off-screen' }, `Rules of ${name}`),
        el('thead', {}, el('tr', {}, ['Rule', 'Verdict', 'Evidence', 'Source'].map((word) => el('th', { scope: 'col' }, word)))),
        el('tbody', {}, inOrder(rules).map(rule)))));
}

/** Goes to the first rule that is broken. */
function toFirst(event) {
  event.preventDefault();
  const first = panel.querySelector('.is-broken');
  first?.scrollIntoView({ block: 'center' });
  first?.querySelector('a')?.focus({ preventScroll: true });
}

function draw(report) {
  const place = byId('report-body');
  const chosen = byId('report-key').value;
  const condition = headerCondition(byId('report-header').value);
  const query = new URLSearchParams([...(condition ? [['header', condition]] : []), ...(chosen ? [['key', chosen]] : [])]);
  byId('report-page').setAttribute('href', `sandbox/report${query.size > 0 ? `?${query}` : ''}`);
  const shape = JSON.stringify([report, chosen, named]);
  if (place.shape === shape) return;
  place.shape = shape;
  if (!report) {
    setText(byId('report-verdict'), '');
    fill(place, el('div', { class: 'empty' }, el('h3', {}, 'No report'), el('p', {}, 'The sandbox keeps no journal of requests.')));
    return;
  }
  const clients = report.clients.filter(({ keyPrefix }) => !chosen || keyPrefix === chosen);
  const select = byId('report-key');
  const known = new Set([...select.options].map((option) => option.value));
  for (const { keyPrefix } of report.clients) {
    if (keyPrefix && !known.has(keyPrefix)) select.append(el('option', {}, keyPrefix));
  }
  const broken = clients.flatMap(({ rules }) => rules).filter(({ verdict }) => verdict === 'broken').length;
  const said = broken ? el('a', { href: '#report', onclick: (event) => toFirst(event) }, `${plural(broken, 'rule')} broken`) : 'No rule is broken';
  fill(byId('report-verdict'), clients.length > 0 && said);
  fill(place, clients.length > 0 ? clients.map(client) : el('div', { class: 'empty' }, el('h3', {}, 'Nothing to report yet'),
    el('p', {}, 'Let your client send requests. A limit, a planned fault or a lost answer shows most about it: plan one under ',
      el('a', { href: '#faults' }, 'Faults'), ', or use up a quota. The same report for a test run: ', el('code', {}, 'petstore sandbox report'), '.')));
}

/** Starts the panel. */
export function startReport() {
  const header = byId('report-header');
  const route = () => {
    const condition = headerCondition(header.value);
    return condition ? `report?header=${encodeURIComponent(condition)}` : 'report';
  };
  const refresh = poll(panel, READ_MS, () => act(null, async () => draw(about.journal ? await readIfServed(route()) : null)));
  byId('report-key').addEventListener('change', refresh);
  header.addEventListener('input', refresh);
  panel.addEventListener('shown', () => { named = ''; });
  panel.addEventListener('named', async ({ detail }) => {
    named = detail.name;
    await refresh();
    panel.querySelector('.is-named')?.scrollIntoView({ block: 'center' });
  });
}
