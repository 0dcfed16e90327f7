// The console: shows one panel at a time, by the fragment of its address, and starts all of them.

import { docsUrl } from './api.js';
import { startBaseline } from './baseline.js';
import { byId, setText } from './dom.js';
import { startClock } from './clock.js';
import { startEvents } from './events.js';
import { startFaults } from './faults.js';
import { Feed } from './feed.js';
import { startKeys } from './keys.js';
import { startQuotaHeaders } from './quota_headers.js';
import { startReport } from './report.js';
import { Requests } from './requests.js';
import { startReset } from './reset.js';

const panels = [...document.querySelectorAll('main > .panel')];
const links = [...document.querySelectorAll('.bar nav a')];

/** A part of the fragment without its escapes. Anyone can write an address, so an escape may be incomplete. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Shows the panel that the fragment names: `#requests/ID` is a request, `#report/RULE` a rule. After a question mark come the
 * filters of the requests. */
function route() {
  const [place, ...query] = location.hash.slice(1).split('?');
  const [name, ...rest] = place.split('/');
  const shown = panels.find((panel) => panel.id === name) ?? panels[0];
  const isChange = shown.hidden;
  for (const panel of panels) panel.hidden = panel !== shown;
  for (const link of links) {
    if (link.hash === `#${shown.id}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  document.title = `${shown.querySelector('h2').textContent} – Petstore sandbox`;
  if (isChange) shown.dispatchEvent(new Event('shown'));
  const detail = rest.map(decoded).join('/');
  const wanted = new URLSearchParams(query.join('?'));
  if (detail || query.length > 0) shown.dispatchEvent(new CustomEvent('named', { detail: { name: detail, wanted } }));
}

/** The text of the mark in the bar, by the state of the stream. */
const STATES = { wait: 'Connecting', live: 'Live', lost: 'No connection', off: 'No journal', refused: 'Refused' };

const feed = new Feed();
const requests = new Requests(feed);
byId('requests').addEventListener('named', ({ detail }) => requests.show(detail));
byId('requests').addEventListener('shown', () => requests.tellAddress());
feed.onChange(() => {
  const live = byId('live');
  setText(live, STATES[feed.state]);
  live.dataset.state = feed.state;
});
startClock();
startFaults();
startKeys();
startQuotaHeaders();
startEvents();
startReport();
startReset();
startBaseline();
if (docsUrl) {
  byId('docs-link').href = docsUrl;
  byId('docs-link').hidden = false;
}
addEventListener('hashchange', route);
route();
feed.open();
