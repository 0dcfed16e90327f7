// Texts for people: times, durations, sizes, statuses, bodies.

/** The time of day of an RFC 3339 text, with milliseconds, in UTC. */
export const timeOfDay = (text) => (typeof text === 'string' ? text.slice(11, 23).replace('Z', '') : '');

/** Seconds as `1 h 5 min`. A line does not break between a number and its unit. */
export function span(seconds) {
  const whole = Math.max(0, Math.ceil(seconds));
  const parts = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];
  const said = [];
  let left = whole;
  for (const [size, unit] of parts) {
    if (left >= size) said.push(`${Math.floor(left / size)}\u00a0${unit}`);
    left %= size;
  }
  return said.slice(0, 2).join(' ') || '0\u00a0s';
}

/** Milliseconds with a sensible number of digits. */
export function millis(number) {
  if (typeof number !== 'number') return '';
  if (number >= 100) return number.toFixed(0);
  return number >= 10 ? number.toFixed(1) : number.toFixed(2);
}

export const count = (number) => number.toLocaleString('en-GB');

export const plural = (number, word) => `${count(number)} ${word}${number === 1 ? '' : 's'}`;

/** A number of bytes. */
export function bytes(number) {
  if (number < 1024) return plural(number, 'byte');
  return number < 1048576 ? `${(number / 1024).toFixed(1)} KiB` : `${(number / 1048576).toFixed(1)} MiB`;
}

/** The class of a status, for its colour. */
const statusClass = (status) => (status ? `s${Math.floor(status / 100)}` : 's0');

/** The class of the answer of a record or a summary, for its colour. An answer that was lost has none of its status, and a
 * client that left may have had its reasons. */
export function answerClass({ status, outcome }) {
  if (outcome === 'dropped') return 's0';
  if (outcome === 'gone' && !status) return 's-open';
  return status || outcome ? statusClass(status) : 's-open';
}

/** Returns whether a request has asked for its fault itself, in the header Prefer. */
export const isPreference = (fault) => fault.startsWith('prefer');

/** The way in which an answer ended, in words. */
export function statusText(record) {
  const { status, outcome } = record.answer ?? {};
  if (outcome === 'dropped') return 'dropped';
  if (outcome === 'gone') return status ? `${status} gone` : 'gone';
  return status ? String(status) : 'none';
}

/** Characters that a terminal or a reader could take for something else: controls and marks of direction. */
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** A text with visible signs instead of such characters. */
export const visible = (text) =>
  String(text).replace(UNSEEN, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** The longest body that is formatted. Longer ones are shown as they came. */
const PRETTY_MAX = 131072;

/** A body as JSON with indentation, or as it came. */
export function pretty(text) {
  if (text.length > PRETTY_MAX) return { text, isJson: false };
  try {
    return { text: JSON.stringify(JSON.parse(text), null, 2), isJson: true };
  } catch {
    return { text, isJson: false };
  }
}

/** Pieces of formatted JSON: names, strings, and the other values. */
const PIECE = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d[\d.eE+-]*/g;

/** Splits formatted JSON into pieces of text and their kinds. */
export function* pieces(json) {
  let end = 0;
  for (const match of json.matchAll(PIECE)) {
    if (match.index > end) yield ['', json.slice(end, match.index)];
    if (match[2] !== undefined) {
      yield ['name', match[1]];
      yield ['', match[2]];
    } else {
      yield [match[1] ? 'string' : 'value', match[0]];
    }
    end = match.index + match[0].length;
  }
  if (end < json.length) yield ['', json.slice(end)];
}
