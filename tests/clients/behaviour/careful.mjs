// A client that keeps every rule in every scenario of the exam, with the `fetch` of Node. It ends with 0 if its work is done, or with 3 if the
// server prevents that and the client stops as it should.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

const ATTEMPTS = 5;
const SHORTEST_PAUSE_MS = 800;
const POLL_MS = 1_000;
const POLLS = 90;

/** An answer after which another attempt cannot succeed. */
class Refused extends Error {}

const base = new URL(process.env.PETSTORE_URL);
const tags = new Map();

/** Repeats what may succeed later: a lost answer, 429, 500 and more. */
async function ask(method, path, { body, headers = {} } = {}) {
  const target = path.startsWith(base.pathname) ? path : base.pathname + path;
  const sent = { Authorization: `Bearer ${process.env.PETSTORE_KEY}`, ...headers };
  const seen = method === 'GET' ? tags.get(target) : undefined;
  if (body) sent['Content-Type'] = 'application/json';
  // The same key in each attempt, so that the request takes effect once.
  if (method === 'POST') sent['Idempotency-Key'] = randomUUID();
  if (seen) sent['If-None-Match'] = seen.tag;
  let failure;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    let pause = SHORTEST_PAUSE_MS * 2 ** (attempt - 1) * (1 + Math.random() / 10);
    const [answer, text, lost] = await answered(method, target, sent, body);
    if (!answer) {
      failure = lost;
    } else if (answer.ok || answer.status === 304) {
      const value = answer.status === 304 ? seen.value : text && JSON.parse(text);
      const tag = answer.headers.get('etag');
      if (method === 'GET' && tag) tags.set(target, { tag, value });
      await spare(answer);
      return { answer, value, tag };
    } else {
      failure = answer.status;
      if (![408, 429].includes(answer.status) && answer.status < 500) throw new Refused(`${method} ${target}: ${failure}`);
      pause = Math.max(pause, waitOf(answer));
    }
    if (attempt < ATTEMPTS) await sleep(pause);
  }
  throw new Refused(`${method} ${target}: ${failure} after ${ATTEMPTS} attempts`);
}

/** Sends a request. Returns the answer and its text, or the reason why no whole answer came. */
async function answered(method, target, headers, body) {
  try {
    const answer = await fetch(new URL(target, base), { method, headers, body: body && JSON.stringify(body) });
    return [answer, await answer.text()];
  } catch (error) {
    return [undefined, undefined, error.cause ?? error];
  }
}

/** The milliseconds that Retry-After asks for, in either form. A date is compared with that of the answer. */
function waitOf(answer) {
  const value = answer.headers.get('retry-after') ?? '0';
  const seconds = Number(value);
  return Number.isNaN(seconds) ? Date.parse(value) - Date.parse(answer.headers.get('date')) : seconds * 1_000;
}

/** Waits while no request is left, before one is refused. It asks the server, which costs nothing, because some forms of the headers have
 * a time by the server's clock, which may differ from this one. */
async function spare(last) {
  let answer = last;
  for (let poll = 0; poll < POLLS && answer && isUsedUp(answer.headers); poll += 1) {
    await sleep(POLL_MS);
    [answer] = await answered('GET', `${base.pathname}/rate-limit`, { Authorization: `Bearer ${process.env.PETSTORE_KEY}` });
    if (answer && !answer.ok) await sleep(waitOf(answer));
  }
}

/** Whether the quota headers, in whatever form, say that no request is left. */
function isUsedUp(headers) {
  const counts = ['x-ratelimit-remaining', 'ratelimit-remaining'].map((name) => headers.get(name));
  return counts.includes('0') || /\b(r|remaining)=0\b/.test(headers.get('ratelimit') ?? '');
}

function expect(isTrue, message) {
  if (!isTrue) throw new Error(message);
}

async function work() {
  // All pets, by the links of the server.
  let pets = 0;
  for (let next = '/pets?limit=50'; next; ) {
    const { answer, value } = await ask('GET', next);
    pets += value.length;
    const link = answer.headers.get('link')?.match(/<([^>]+)>; rel="next"/)?.[1];
    const url = link && new URL(link, base);
    next = url && url.pathname + url.search;
  }
  expect(pets >= 100, `found ${pets} pets, and the shop has 100`);
  // A pet is asked for in the list, which is the successor, once an answer has said that the operation is deprecated.
  let isDeprecated = false;
  for (let pet = 1; pet <= 15; pet += 1) {
    const { answer } = await ask('GET', isDeprecated ? `/pets?id=${pet}` : `/pets/${pet}`);
    isDeprecated ||= answer.headers.has('deprecation');
  }
  // A category is read twice and changed.
  await ask('GET', '/categories/1');
  const { tag } = await ask('GET', '/categories/1');
  tags.delete(`${base.pathname}/categories/1`);
  await ask('PUT', '/categories/1', { body: { name: 'Birds of prey' }, headers: { 'If-Match': tag } });
  for (const petId of [7, 8]) {
    const { value } = await ask('POST', '/store/orders', { body: { petId } });
    expect(value.petId === petId, JSON.stringify(value));
  }
  const { value: orders } = await ask('GET', '/store/orders?petId=7');
  expect(orders.length === 1, JSON.stringify(orders));
  await ask('GET', '/inventory');
}

try {
  await work();
} catch (error) {
  if (!(error instanceof Refused || error instanceof SyntaxError)) throw error;
  console.error(error.message);
  process.exit(3);
}
