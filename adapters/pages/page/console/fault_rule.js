// A rule of the planned faults: its words for people, and its members as the fields of the form have them.

import { count } from './format.js';

/** Returns whether an error may tell when to send the request again. */
const isTimed = (status, code) => ['429', '503'].includes(status) || code === 'key_banned';

/** The forms of `Retry-After`: the words of the form, and the member of the rule from the text of the field. */
const RETRY_FORMS = {
  seconds: ['seconds', (text) => (text ? Number(text) : undefined)],
  date: ['date from now', (text) => ({ date: text || RETRY_USUAL.date })],
  text: ['text as it is', (text) => text],
  none: ['none', () => null],
};

/** The values of an empty field, and of one with a text an example. */
export const RETRY_USUAL = { seconds: '1', date: '+1s', text: 'soon', none: '' };

/** The form and the text of a `Retry-After`. */
function retryFields(retryAfter) {
  if (retryAfter === null) return { retryForm: 'none', retryAfter: '' };
  if (typeof retryAfter === 'string') return { retryForm: 'text', retryAfter };
  if (typeof retryAfter === 'object') return { retryForm: 'date', retryAfter: retryAfter.date };
  return { retryForm: 'seconds', retryAfter: retryAfter ?? '' };
}

function retryMember({ retryForm, retryAfter }) {
  const value = RETRY_FORMS[retryForm][1](retryAfter);
  return value === undefined ? {} : { retryAfter: value };
}

/** The effects of a rule: the words of the form, and the members of the rule. */
const EFFECTS = {
  status: ['Answer with an error', (fields) => ({
    status: Number(fields.status), ...(fields.code && { code: fields.code }), ...(isTimed(fields.status, fields.code) && retryMember(fields)),
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

const words = (table) => Object.entries(table).map(([word, [text]]) => [word, text]);

/** The words of the effects and of the forms of `Retry-After`, with their texts. */
export const effects = words(EFFECTS);
export const retryForms = words(RETRY_FORMS);

/** The effect of a rule, as the form names it. */
function effectOf(rule) {
  if (rule.drop) return rule.when === 'after' ? 'lost' : 'drop';
  if (rule.body) return rule.body;
  if (rule.exhaust) return rule.exhaust;
  if (rule.grow) return 'grow';
  return rule.status || rule.code ? 'status' : 'delay';
}

/** The members of a rule that are not its effect. */
const SELECTION = ['id', 'method', 'route', 'key', 'header', 'via', 'skip', 'first', 'percent', 'calls', 'acted'];

/** The calls that a rule matches, without those of other clients: a method and a path. */
export const callsText = ({ method, route }) => `${method ?? 'any method'} ${route ?? 'any route'}`;

/** The clients whose calls a rule matches; none for a rule for all of them. */
export function clientsText({ key, header, via }) {
  return [
    key && `key ${key}`, header && `${header.name}: ${header.value}`, via && (via === 'mcp' ? 'calls of tools (MCP)' : 'not over MCP'),
  ].filter(Boolean);
}

/** The calls on which a rule acts. */
export function whenText({ first, percent, skip }) {
  const after = skip ? `, after ${skip === 1 ? 'one' : count(skip)} that pass${skip === 1 ? 'es' : ''}` : '';
  if (first !== undefined) return (first === 1 ? 'the first call' : `the first ${count(first)} calls`) + after;
  return (percent === undefined ? 'every call' : `${percent} % of calls`) + after;
}

function retryText(retryAfter) {
  if (retryAfter === undefined) return '';
  if (retryAfter === null) return ', no Retry-After';
  if (typeof retryAfter === 'object') return `, Retry-After as a date ${retryAfter.date}`;
  return `, Retry-After ${typeof retryAfter === 'string' ? JSON.stringify(retryAfter) : retryAfter}`;
}

/** The effect of a rule in words, with the other members as they are. */
export function effectText(rule) {
  const said = [];
  if (rule.latency) said.push(`delay ${rule.latency}${rule.jitter ? ` up to ${rule.jitter} more` : ''}`);
  else if (rule.jitter) said.push(`delay up to ${rule.jitter}`);
  if (rule.status) said.push(`${`${rule.status} ${rule.code ?? ''}`.trim()}${retryText(rule.retryAfter)}`);
  if (rule.drop) said.push(rule.when === 'after' ? 'the change is made, the answer is lost' : 'no answer, the connection closes');
  const told = ['latency', 'jitter', 'status', 'code', 'retryAfter', 'drop', 'when'];
  for (const [name, value] of Object.entries(rule)) {
    if (!SELECTION.includes(name) && !told.includes(name)) said.push(`${name}: ${typeof value === 'object' ? JSON.stringify(value) : value}`);
  }
  return said.join('; ') || 'none';
}

/** The fields of the form for a rule. */
export function fieldsOf(rule) {
  const trigger = rule.first === undefined ? (rule.percent === undefined ? 'always' : 'percent') : 'first';
  const { name: headerName, value: headerValue } = rule.header ?? {};
  return { ...rule, trigger, amount: rule.first ?? rule.percent, effect: effectOf(rule), headerName, headerValue, ...retryFields(rule.retryAfter) };
}

/** The rule that the fields of the form describe. `before` is the rule that they change, if any. */
export function ruleOf(fields, before) {
  const { trigger, amount, effect } = fields;
  const rule = {};
  for (const name of ['method', 'route', 'key', 'via']) {
    if (fields[name]) rule[name] = fields[name];
  }
  if (fields.headerName || fields.headerValue) rule.header = { name: fields.headerName, value: fields.headerValue };
  if (Number(fields.skip) > 0) rule.skip = Number(fields.skip);
  if (trigger !== 'always') rule[trigger] = Number(amount);
  for (const name of ['latency', 'jitter']) {
    if (fields[name]) rule[name] = fields[name];
  }
  // The moment of an error or of a delay has no field.
  if (before?.when && effectOf(before) === effect) rule.when = before.when;
  return Object.assign(rule, EFFECTS[effect][1](fields));
}

/** The name of the form's field for that of the sandbox, such as `faults[2].latency`. */
export function fieldOf(name) {
  const member = name.replace(/^faults\[\d+\]\.?/, '');
  // A rule without an effect has no member that is wrong.
  const fields = { first: 'amount', percent: 'amount', header: 'headerName', '': 'latency' };
  return fields[member] ?? member;
}

/** A rule in the form in which it is sent. */
export const withoutCounts = ({ id, calls, acted, ...rule }) => rule;
