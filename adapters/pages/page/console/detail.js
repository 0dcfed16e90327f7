// The detail of one request: the request and its answer side by side.

import { at, docsOf, read, readText } from './api.js';
import { act, copies, el, fill, tell } from './dom.js';
import { planFor } from './faults.js';
import { answerClass, bytes, isPreference, millis, pieces, pretty, statusText, timeOfDay, visible } from './format.js';
import { maySendAgain, sendAgain } from './resend.js';

/** Milliseconds between two reads of a request that is not answered yet. */
const PENDING_MS = 500;

/** Characters of a body that are drawn at once; the others after a press of a button. */
const DRAWN_MAX = 20000;

/** The record of a summary; none if the journal no longer keeps it. The list is read, because it has no error in this case:
 * browsers report each refused read on their own console, also one that is expected. */
async function recordOf({ id, sequence }) {
  const next = await read(`requests?after=${sequence - 1}&limit=1`);
  return next.find((record) => record.sequence === sequence && record.id === id);
}

/** Shows the record of a summary in an element. */
export class Detail {
  constructor(place, { closed, filtered }) {
    Object.assign(this, { place, closed, filtered });
    this.shown = null;
  }

  /** Shows a request; none empties the pane. */
  async show(summary) {
    clearTimeout(this.timer);
    this.shown = summary;
    if (!summary) {
      fill(this.place, el('p', { class: 'quiet pick', id: 'detail-title' }, 'Choose a request to see it and its answer.'));
      return;
    }
    try {
      const record = await recordOf(summary);
      if (this.shown !== summary) return;
      if (!record) {
        this.explain('The journal no longer keeps this request. It keeps the latest ones.');
        return;
      }
      this.draw(record);
      if (!record.answer || record.answer.outcome === 'streaming') {
        this.timer = setTimeout(() => this.shown === summary && this.show(summary), PENDING_MS);
      }
    } catch (error) {
      if (this.shown === summary) this.explain(error.message);
    }
  }

  /** Shows the reason why there is no record. */
  explain(why) {
    fill(this.place, this.back(), el('p', { class: 'quiet pick', id: 'detail-title' }, why));
  }

  back() {
    return el('button', { type: 'button', class: 'back', onclick: () => this.closed() }, 'Back to the list');
  }

  draw(record) {
    const scroll = this.record?.sequence === record.sequence ? this.place.scrollTop : 0;
    this.record = record;
    fill(this.place, this.back(), head(record), facts(record), hints(record, this.filtered),
      el('div', { class: 'sides' },
        side('Request', record.headers, record),
        record.answer ? side('Answer', record.answer.headers, record.answer, answerNote(record))
          : el('section', { class: 'side' }, el('h4', {}, 'Answer'), el('p', { class: 'quiet' }, 'Not answered yet.'))));
    this.place.scrollTop = scroll;
  }
}

/** The record as a segment of a path: by its id, or by its number if the segment would mean something else. */
function nameOf({ id, sequence }) {
  return ['stream', '.', '..'].includes(id) ? `~${sequence}` : encodeURIComponent(id);
}

function head(record) {
  const docs = record.route && docsOf(record.method, record.route);
  const curl = el('button', { type: 'button' }, 'Copy as curl');
  copies(curl, () => readText(`requests/${nameOf(record)}?sequence=${record.sequence}&as=curl`));
  return el('header', { class: 'detail-head' },
    el('h3', { id: 'detail-title' },
      el('span', { class: `method m-${methodClass(record.method)}` }, visible(record.method)), ' ',
      el('code', {}, visible(record.target)), ' ',
      el('span', { class: `status ${answerClass(record.answer ?? {})}` }, statusText(record))),
    el('div', { class: 'actions' }, curl,
      maySendAgain(record) && el('button', {
        type: 'button', onclick: ({ currentTarget }) => act(currentTarget, async () => tell(await sendAgain(record))),
      }, 'Send again'),
      record.route && el('button', { type: 'button', onclick: () => planFor(record.method, record.route, record.mcp && 'mcp') }, 'Plan a fault'),
      el('a', { class: 'button', href: at(`requests.har?after=${record.sequence - 1}&limit=1`), download: `request-${record.sequence}.har` }, 'HAR'),
      docs && el('a', { class: 'button', href: docs, target: '_blank', rel: 'noopener' }, 'Operation in the reference',
        el('span', { class: 'off-screen' }, ' (new tab)'))));
}

/** The class of a method, for its colour. A client chooses the method, so only known ones name a class. */
export const methodClass = (method) =>
  (['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'].includes(method) ? method.toLowerCase() : 'other');

function facts(record) {
  const { quota } = record;
  const list = [
    ['Time', `${timeOfDay(record.at)} UTC`],
    ['Took', record.durationMs === null ? 'not answered yet' : `${millis(record.durationMs)} ms`],
    ['Key', record.keyPrefix ?? 'none'],
    ['Account', record.account ?? 'none'],
    ['Client', `${record.client}, connection ${record.connection}`],
    ['Protocol', record.protocol],
    ['Route', record.route ?? 'none'],
  ];
  if (quota) list.push(['Quota', quotaText(quota)]);
  if (record.answer?.code) list.push(['Error code', record.answer.code]);
  if (record.fault) list.push([isPreference(record.fault) ? 'Fault by Prefer' : 'Planned fault', record.fault.replace(/^prefer, /, '')]);
  if (record.mcp) list.push(['Tool (MCP)', toolText(record.mcp)]);
  return el('dl', { class: 'facts-list' },
    list.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, visible(value)))));
}

const toolText = ({ tool, id, client }) => [tool, id !== null && `message ${id}`, client && `client ${client}`].filter(Boolean).join(', ');

function quotaText({ limit, remaining, reset, resource }) {
  const left = Math.max(0, reset - Date.now() / 1000);
  const when = new Date(reset * 1000).toISOString().slice(11, 19);
  const soon = left > 0 && left < 86400 ? `, reset ${when} UTC` : '';
  return `${remaining} of ${limit} left (${resource})${soon}`;
}

function hints(record, filtered) {
  if (!record.hints?.length) return null;
  return el('div', { class: 'hints' }, el('strong', {}, 'Hints: '), record.hints.map((hint) => {
    const rule = typeof hint === 'string' ? hint : hint.rule;
    return el('span', { class: 'hint-item' },
      el('a', { href: `#report/${encodeURIComponent(rule)}` }, rule), ' ',
      hint.reason ? visible(hint.reason) : null, ' ',
      el('button', { type: 'button', class: 'small', onclick: () => filtered(rule) }, 'Show all'));
  }));
}

function answerNote(record) {
  const notes = {
    dropped: 'The connection was closed without an answer, as planned.',
    gone: 'The client closed the connection before the answer was sent in full.',
    streaming: 'The answer is being sent.',
  };
  return notes[record.answer.outcome] ?? null;
}

function side(title, headers, message, note) {
  return el('section', { class: 'side', 'aria-label': title },
    el('h4', {}, title),
    note && el('p', { class: 'note' }, note),
    body(title, message),
    el('table', { class: 'headers' }, el('caption', { class: 'off-screen' }, `Headers of the ${title.toLowerCase()}`),
      el('tbody', {}, headers.map(([name, value]) =>
        el('tr', {}, el('th', { scope: 'row' }, visible(name)), el('td', {}, visible(value)))))));
}

function body(title, { body: text, bodyEncoding, bodyBytes }) {
  if (text === null || text === undefined || text === '') {
    return el('p', { class: 'quiet' }, bodyBytes ? `A body of ${bytes(bodyBytes)} was not kept.` : 'No body.');
  }
  const kept = bodyEncoding ? Math.floor(text.length * 3 / 4) : new TextEncoder().encode(text).length;
  const formatted = bodyEncoding ? { text, isJson: false } : pretty(text);
  const code = el('code');
  const isCut = formatted.text.length > DRAWN_MAX;
  drawBody(code, formatted, isCut ? DRAWN_MAX : Infinity);
  const said = [bytes(bodyBytes ?? kept), bodyEncoding && `as ${bodyEncoding}`,
    bodyBytes > kept + 2 && `the first ${bytes(kept)} were kept`].filter(Boolean).join(', ');
  const more = isCut && el('button', { type: 'button', class: 'small', onclick: ({ currentTarget }) => {
    drawBody(code, formatted, Infinity);
    currentTarget.remove();
  } }, 'Show all of it');
  return el('div', { class: 'body' },
    el('p', { class: 'body-head' }, el('span', { class: 'quiet' }, said),
      copies(el('button', { type: 'button', class: 'small' }, 'Copy the body'), () => text)),
    el('pre', { tabindex: 0, 'aria-label': `Body of the ${title.toLowerCase()}` }, code), more);
}

function drawBody(code, { text, isJson }, limit) {
  const part = text.slice(0, limit);
  if (!isJson) return fill(code, visible(part));
  return fill(code, [...pieces(part)].map(([kind, piece]) =>
    (kind ? el('span', { class: `json-${kind}` }, visible(piece)) : piece)));
}
