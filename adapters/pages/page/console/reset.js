// The reset of the sandbox.

import { prefix, send } from './api.js';
import { act, byId, copies, tell } from './dom.js';

/** Starts the panel. */
export function startReset() {
  const keep = byId('reset-keep');
  const route = () => `reset${keep.checked ? '?journal=keep' : ''}`;
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
