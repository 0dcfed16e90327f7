// A recorded request, sent again by the page.

import { about, origin, read, send } from './api.js';

/** Headers of the first request that belong to its connection, or that a page cannot set. */
const LEFT_OUT = /^(?:accept-(?:charset|encoding)|authorization|connection|content-length|cookie2?|date|dnt|expect|host|keep-alive|origin|permissions-policy|proxy-.*|referer|sec-.*|te|trailer|transfer-encoding|upgrade|user-agent|via|x-api-key|x-request-id)$/;

/** Keys that this page has made, by the prefix of the key in whose place they are used. */
const made = new Map();

/** A key of the account of a recorded key, which the journal shows in part only; none if no account has the recorded key. */
async function keyFor(prefix) {
  if (!made.has(prefix)) {
    const { accounts } = await read('keys');
    const account = accounts.find(({ keys }) => keys.some((key) => key.prefix === prefix));
    if (!account) return undefined;
    const { scopes } = account.keys.find((key) => key.prefix === prefix);
    made.set(prefix, (await send('POST', 'keys', { account: account.name, scopes, label: 'made by the console' })).secret);
  }
  return made.get(prefix);
}

/** The body as it was; none if there was none. */
function bodyOf({ body, bodyEncoding, bodyBytes }) {
  if (!bodyBytes) return undefined;
  const bytes = bodyEncoding === 'base64' ? Uint8Array.from(atob(body), (sign) => sign.charCodeAt(0)) : new TextEncoder().encode(body);
  if (bytes.length !== bodyBytes) throw new Error('The journal does not have the whole body as it was sent, so it cannot be sent again.');
  return bytes;
}

/** Sends a request again, and returns what came of it in words. */
export async function sendAgain(record) {
  const headers = new Headers();
  for (const [name, value] of record.headers) {
    if (!LEFT_OUT.test(name)) headers.append(name, value);
  }
  const key = record.keyPrefix && await keyFor(record.keyPrefix);
  // An unknown key was refused, and is refused again in the form that the journal has.
  if (record.keyPrefix) headers.set('x-api-key', key ?? `${record.keyPrefix}...`);
  const body = bodyOf(record);
  // The target may be a whole URL, if a proxy has sent it.
  const target = record.target.startsWith('/') ? record.target : record.target.replace(/^[^:]+:\/\/[^/]*/, '');
  let response;
  try {
    response = await fetch(origin + target, { method: record.method, headers, body, cache: 'no-store', credentials: 'omit', redirect: 'manual' });
  } catch {
    return 'The request was sent again; it had no answer, or one that this page may not read.';
  }
  // A stream has no end.
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) response.body.cancel();
  else await response.arrayBuffer();
  let sentWith = '';
  if (record.keyPrefix) sentWith = key ? ', with a new key of its account' : ', without a valid key, because no account has its key';
  return `The request was sent again: ${response.status}${sentWith}.`;
}

/** Returns whether the page can send a request again: browsers refuse some methods, and the policy of the page permits its own origin
 * only, so not an API on another listener. */
export const maySendAgain = ({ method }) => !['CONNECT', 'TRACE', 'TRACK'].includes(method.toUpperCase()) && about.api === null;
