// Node's fetch with p-retry, as in its documentation: a 404 ends the attempts, everything else is repeated.
import pRetry, { AbortError } from 'p-retry';
import { run } from './errand.mjs';

const attempt = async (method, url, headers, body) => {
  const answer = await fetch(url, { method, headers, body });
  if (answer.status === 404) throw new AbortError(answer.statusText);
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status}`);
  return { link: answer.headers.get('link'), value: await answer.json() };
};

await run((...sent) => pRetry(() => attempt(...sent), { retries: 4 }));
