// Reads the responses that `lists.py` prints with two parsers of others: structured-headers and ratelimit-header-parser.
import assert from 'node:assert';
import { createInterface } from 'node:readline';
import { parseRateLimit } from 'ratelimit-header-parser';
import { parseDictionary, parseList } from 'structured-headers';

const SECONDS = { minute: 60, day: 86_400 };

const items = (list) => list.map(([value, parameters]) => [value, Object.fromEntries(parameters)]);

/** Reads what is a structured field. */
function readStructured({ form, names, windows, headers }) {
  const each = (item) => Object.entries(windows).map(([window, of]) => item(window, of));
  if (form === 'ratelimit') {
    assert.deepEqual(items(parseList(headers['ratelimit-policy'])), each((window, { limit }) => [names[window], { q: limit, w: SECONDS[window] }]));
    assert.deepEqual(items(parseList(headers.ratelimit)), each((window, { remaining, wait }) => [names[window], { r: remaining, t: wait }]));
  } else if (form.startsWith('draft')) {
    assert.deepEqual(items(parseList(headers['ratelimit-policy'])), each((window, { limit }) => [limit, { w: SECONDS[window] }]));
  }
  if (form === 'draft-7') {
    const told = Object.fromEntries([...parseDictionary(headers.ratelimit)].map(([name, [value]]) => [name, value]));
    const known = Object.values(windows).map(({ limit, remaining, wait }) => ({ limit, remaining, reset: wait }));
    assert(known.some((one) => one.limit === told.limit && one.remaining === told.remaining && one.reset === told.reset), headers.ratelimit);
  }
}

/** Reads a window without regard to its name. Of the lists of draft 11 this parser reads nothing. */
function readWindow({ form, windows, headers, now }) {
  const told = parseRateLimit(headers);
  if (form === 'ratelimit') {
    assert(Number.isNaN(told.limit) && Number.isNaN(told.remaining), 'it reads draft 11 now: say so in docs/testing.md');
    return;
  }
  // An epoch is read exactly; seconds from now are counted by the clock of this machine.
  const reset = form === 'x-ratelimit' ? told.reset / 1000 : Math.round(now + (told.reset - Date.now()) / 1000);
  const isTold = (of) => of.limit === told.limit && of.remaining === told.remaining && Math.abs(of.reset - reset) <= 1;
  assert(Object.values(windows).some(isTold), `${form}: ${JSON.stringify({ told, reset, windows })}`);
}

const counts = {};
for await (const line of createInterface({ input: process.stdin })) {
  const response = JSON.parse(line);
  readStructured(response);
  readWindow(response);
  counts[response.form] = (counts[response.form] ?? 0) + 1;
}
console.log(JSON.stringify(counts));
