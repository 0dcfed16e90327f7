// The event log of the shop, newest first.

import { about, read, readIfServed } from './api.js';
import { act, byId, el, fill, poll } from './dom.js';
import { timeOfDay, visible } from './format.js';
import { Webhooks } from './webhooks.js';

/** Milliseconds between two readings. */
const READ_MS = 1000;

/** The number of events that are shown. */
const SHOWN = 50;

const panel = byId('events');

/** The members of an event's data in one line. */
function summary(data) {
  return Object.entries(data ?? {}).map(([name, value]) =>
    `${name}=${typeof value === 'object' ? JSON.stringify(value) : value}`).join(' ');
}

function item(event) {
  return el('li', { 'data-id': event.id }, el('details', {},
    el('summary', {}, el('time', { datetime: event.timestamp }, timeOfDay(event.timestamp)), ' ',
      el('strong', {}, visible(event.type)), ' ', el('span', { class: 'quiet' }, visible(summary(event.data)))),
    el('pre', { tabindex: 0, 'aria-label': `Event ${event.id}` }, el('code', {}, visible(JSON.stringify(event, null, 2))))));
}

function draw(events) {
  const place = byId('event-log');
  const last = events[0]?.id ?? '';
  if (place.last === last) return;
  place.last = last;
  if (events.length === 0) {
    fill(place, el('div', { class: 'empty' }, el('h4', {}, 'No event yet'),
      el('p', {}, 'Change something in the shop: each new or changed pet, category, order and stock is an event.')));
    return;
  }
  // An opened event stays as it is; only those that came since are added.
  const list = place.querySelector('ol') ?? el('ol', { class: 'log', reversed: true });
  if (!list.isConnected) fill(place, list);
  const known = new Map([...list.children].map((child) => [child.dataset.id, child]));
  list.replaceChildren(...events.map((event) => known.get(event.id) ?? item(event)));
}

/** Starts the panel. */
export function startEvents() {
  const webhooks = new Webhooks(byId('webhook-list'), byId('sink-list'));
  const refresh = poll(panel, READ_MS, () => act(null, async () => {
    draw(await read(`events?sort=-id&limit=${SHOWN}`));
    webhooks.draw(about.webhooks ? await readIfServed('webhooks') : null, await readIfServed('sinks'));
  }));
  webhooks.changed = refresh;
}
