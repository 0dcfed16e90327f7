// The webhooks with their deliveries, and the sinks with the verdict of each signature.

import { at, read, send } from './api.js';
import { act, copies, el, fill, tell } from './dom.js';
import { count, plural, timeOfDay, visible } from './format.js';

/** The number of requests of a sink that are shown. */
const SHOWN = 50;

const tag = (text, kind) => el('span', { class: `tag ${kind}` }, text);

/** The colour of a word about a webhook, a delivery or a signature. */
const KINDS = {
  active: 'good', delivered: 'good', valid: 'good', failing: 'warn', pending: 'warn', stale: 'warn', unsigned: 'warn', unknown: 'warn',
};

const kindOf = (word) => KINDS[word] ?? 'bad';

/** The parts of the panel about webhooks. */
export class Webhooks {
  constructor(list, sinks) {
    this.list = list;
    this.sinks = sinks;
    this.opened = null;
    this.changed = () => {};
  }

  /** Draws both parts; null for a part that this server does not have. */
  draw(webhooks, sinks) {
    this.redraw(this.list, webhooks, () => this.webhooks(webhooks));
    this.redraw(this.sinks, [sinks, this.opened?.requests], () => this.sinkList(sinks));
    if (this.opened && sinks?.some((sink) => sink.name === this.opened.name)) this.load(this.opened.name);
  }

  /** Draws a part again only after a change, so that a focused button keeps its focus. */
  redraw(place, state, make) {
    const shape = JSON.stringify(state);
    if (place.shape === shape) return;
    place.shape = shape;
    const focused = place.contains(document.activeElement) ? document.activeElement.getAttribute('data-name') : null;
    fill(place, make());
    if (focused) place.querySelector(`[data-name="${CSS.escape(focused)}"]`)?.focus();
  }

  webhooks(list) {
    if (list === null) return el('p', { class: 'quiet' }, 'Webhooks are off.');
    if (list.length === 0) {
      return el('div', { class: 'empty' }, el('h4', {}, 'No webhook'),
        el('p', {}, 'Create one with ', el('code', {}, 'POST /webhooks'), ' and the URL of your receiver, or of a sink.'));
    }
    return [list.map((entry) => webhook(entry)), el('div', { class: 'actions' }, this.settle())];
  }

  settle() {
    return el('button', { type: 'button', 'data-name': 'settle', onclick: ({ currentTarget }) => act(currentTarget, async () => {
      const { settled, count: left } = await send('POST', 'webhooks/settle?within=10');
      tell(settled ? 'No delivery is due.' : `${plural(left, 'delivery')} still due after 10 s.`.replace('deliverys', 'deliveries'));
      await this.changed();
    }) }, 'Wait until no delivery is due');
  }

  sinkList(sinks) {
    if (sinks === null) return el('p', { class: 'quiet' }, 'This server has no sinks.');
    if (sinks.length === 0) {
      const url = `${location.origin}${at('sinks/hook')}`;
      return el('div', { class: 'empty' }, el('h4', {}, 'No sink'), el('p', {}, 'A sink exists as soon as it gets a request. Use this as the URL of a webhook:'),
        el('div', { class: 'command' }, el('pre', { tabindex: 0, 'aria-label': 'URL' }, el('code', {}, url)),
          copies(el('button', { type: 'button', 'data-name': 'copy' }, 'Copy'), () => url)));
    }
    return sinks.map((sink) => this.sink(sink));
  }

  sink({ name, count: kept, signatures }) {
    const isOpen = this.opened?.name === name;
    const verdicts = Object.entries(signatures ?? {}).filter(([, number]) => number > 0);
    return el('article', { class: 'card sink', 'aria-label': `Sink ${name}` },
      el('h4', {}, el('button', {
        type: 'button', class: 'plain', 'aria-expanded': String(isOpen), 'data-name': `sink-${name}`, onclick: () => this.toggle(name),
      }, name), ' ', el('span', { class: 'quiet' }, plural(kept, 'request')), ' ',
      verdicts.map(([word, number]) => [tag(`${count(number)} ${word}`, kindOf(word)), ' '])),
      isOpen && this.requests(),
      isOpen && el('button', { type: 'button', 'data-name': `empty-${name}`, onclick: ({ currentTarget }) => act(currentTarget, async () => {
        await send('DELETE', `sinks/${encodeURIComponent(name)}`);
        this.opened = null;
        tell(`The sink ${name} was deleted.`);
        await this.changed();
      }) }, 'Delete the sink'));
  }

  requests() {
    const list = this.opened.requests ?? [];
    if (list.length === 0) return el('p', { class: 'quiet' }, 'No request yet.');
    return el('ol', { class: 'log' }, list.map((request) => el('li', {}, el('details', {},
      el('summary', {}, `${request.sequence} `, timeOfDay(request.at), ' ', tag(request.signature, kindOf(request.signature)), ' ',
        request.duplicate && [tag('duplicate', 'warn'), ' '],
        request.why && el('span', { class: 'quiet' }, visible(request.why))),
      el('pre', { tabindex: 0, 'aria-label': `Request ${request.sequence}` }, el('code', {},
        `${request.headers.map(([name, value]) => `${visible(name)}: ${visible(value)}`).join('\n')}\n\n${visible(request.body)}`))))));
  }

  async toggle(name) {
    if (this.opened?.name === name) this.opened = null;
    else await act(null, () => this.load(name));
    await this.changed();
  }

  /** Reads the last requests of a sink. */
  async load(name) {
    const all = await read(`sinks/${encodeURIComponent(name)}`);
    this.opened = { name, requests: all.slice(-SHOWN).reverse() };
  }
}

function webhook({ account, webhook: hook, deliveries }) {
  const facts = [
    `account ${account}`, hook.ordering && `ordering ${hook.ordering}`, hook.lag ? `${plural(hook.lag, 'event')} behind` : 'up to date',
    hook.disabledReason, hook.types?.length && !hook.types.includes('*') ? hook.types.join(', ') : 'all events',
  ].filter(Boolean).join(', ');
  return el('article', { class: 'card', 'aria-label': `Webhook ${hook.id}` },
    el('h4', {}, el('code', {}, visible(hook.url)), ' ', tag(hook.status, kindOf(hook.status))),
    hook.description && el('p', {}, visible(hook.description)), el('p', { class: 'quiet' }, facts),
    deliveries.length > 0 && el('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': `Deliveries of ${hook.id}` },
      el('table', { class: 'grid deliveries' }, el('caption', {}, 'Last deliveries'),
      el('thead', {}, el('tr', {}, ['Event', 'State', 'Attempts', 'Last answer', 'Next attempt'].map((name) => el('th', { scope: 'col' }, name)))),
      el('tbody', {}, deliveries.map(delivery)))));
}

function delivery({ sequence, type, status, attempts, lastAttempt, nextAttemptAt }) {
  const last = lastAttempt ? `${lastAttempt.statusCode ?? ''} ${lastAttempt.error ?? ''}`.trim() : '';
  return el('tr', {}, el('th', { scope: 'row' }, `${sequence} `, visible(type)), el('td', {}, tag(status, kindOf(status))),
    el('td', { class: 'number' }, count(attempts)), el('td', {}, last), el('td', {}, nextAttemptAt ? `${timeOfDay(nextAttemptAt).slice(0, 8)} UTC` : ''));
}
