// The reset of the sandbox.

import { about, prefix, send } from './api.js';
import { act, byId, copies, el, fill, tell } from './dom.js';
import { plural } from './format.js';

/** Starts the panel. */
export function startReset() {
  const keep = byId('reset-keep');
  const route = () => `reset${keep.checked ? '?journal=keep' : ''}`;
  fill(byId('reset-what'), 'Restores the initial shop: ', el('strong', {}, about.demo === null
    ? 'empty, as the sandbox was started without demonstration data'
    : `${plural(about.demo, 'pet')} of the demonstration, always the same`), '. Ids start again, and earlier entity tags, cursors and event ids become invalid.');
  const command = () => {
    const url = `${location.origin}${prefix}/sandbox/${route()}`;
    byId('reset-command').textContent = `curl -X POST '${url.replaceAll("'", '%27')}'`;
  };
  command();
  keep.addEventListener('change', command);
  copies(byId('reset-copy'), () => byId('reset-command').textContent);
  byId('reset-now').addEventListener('click', ({ currentTarget }) => act(currentTarget, async () => {
    const begun = performance.now();
    await send('POST', route());
    tell(`The sandbox was reset in ${Math.max(1, Math.round(performance.now() - begun))} ms.`);
  }));
}
