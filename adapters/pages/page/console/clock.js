// The clock of the sandbox: shown in the bar, and moved in its panel.

import { readIfServed, readWithTime, send, sunset } from './api.js';
import { act, byId, poll, setText, submits, tell } from './dom.js';
import { span } from './format.js';

/** Milliseconds between two readings of the clock. Between them it runs in the page. */
const READ_MS = 2000;

const MINUTE = 60_000;
const DAY = 86_400_000;

/** The difference from the clock of the machine up to which no mark is shown. A date has whole seconds. */
const SHIFT_MIN = 5000;

const panel = byId('clock');
let known = null;

/** The time of the machine when the page was loaded; none before the first reading. */
let machineStart = null;

/** The time of the sandbox in milliseconds; none before the first reading. */
export function sandboxNow() {
  if (!known) return null;
  return known.now + (known.frozen ? 0 : performance.now() - known.readAt);
}

function learn({ now, frozen }, machine = null) {
  known = { now: Date.parse(now), frozen, readAt: performance.now() };
  if (machine !== null) machineStart = machine - performance.now();
  draw();
}

/** The mark of a clock that is not that of the machine; none if it is. */
function shiftText(now) {
  if (known.frozen) return 'Clock stopped';
  const shift = machineStart === null ? 0 : now - machineStart - performance.now();
  if (Math.abs(shift) < SHIFT_MIN) return null;
  return `Clock ${shift > 0 ? '+' : '\u2212'}${span(Math.abs(shift) / 1000)}`;
}

const text = (time) => new Date(time).toISOString();

function draw() {
  const now = sandboxNow();
  if (now === null) return;
  const said = `${text(now).slice(0, 19).replace('T', ' ')} UTC`;
  const [date, time] = [said.slice(0, 11), said.slice(11)];
  setText(byId('bar-date'), date);
  setText(byId('bar-time'), time);
  byId('bar-clock').classList.toggle('is-frozen', known.frozen);
  const shift = shiftText(now);
  byId('bar-shift').hidden = shift === null;
  setText(byId('bar-shift'), shift ?? '');
  setText(byId('clock-now'), said);
  byId('clock-now').setAttribute('datetime', text(now));
  setText(byId('clock-state'), known.frozen ? 'stopped' : 'running');
  byId('clock-state').className = `tag ${known.frozen ? 'warn' : 'good'}`;
  setText(byId('clock-freeze'), known.frozen ? 'Let the clock run' : 'Stop the clock');
}

async function change(body, said) {
  learn(await (body ? send('POST', 'clock', body) : send('DELETE', 'clock')));
  tell(said ?? `The clock shows ${text(known.now).slice(0, 19).replace('T', ' ')} UTC.`);
  await targets();
}

/** The end of the last ban that is in force; none without one. */
async function endOfBan() {
  const keys = await readIfServed('keys');
  const ends = (keys?.accounts ?? []).flatMap((account) => account.keys.map((key) => key.bannedUntil)).filter(Boolean);
  return ends.length > 0 ? Math.max(...ends.map(Date.parse)) : null;
}

/** The times that the buttons jump to, each with the reason why one is missing. */
async function jumps() {
  const now = sandboxNow();
  const afterSunset = sunset && Date.parse(`${sunset}T00:00:01Z`);
  return {
    minute: (Math.floor(now / MINUTE) + 1) * MINUTE,
    day: (Math.floor(now / DAY) + 1) * DAY,
    ban: await endOfBan(),
    sunset: afterSunset > now ? afterSunset : null,
  };
}

/** Disables the buttons that have no time to jump to. */
async function targets() {
  const times = await jumps();
  for (const button of panel.querySelectorAll('[data-jump]')) button.disabled = times[button.dataset.jump] === null;
  const notes = [
    times.ban === null ? 'No key is banned.' : `A ban ends at ${text(times.ban).slice(11, 19)} UTC.`,
    times.sunset === null ? 'The last sunset is over.' : `The last deprecated operation ends on ${sunset}.`,
  ];
  setText(byId('clock-note'), notes.join(' '));
}

/** Starts the clock of the page. */
export function startClock() {
  const bar = byId('bar-clock');
  const turn = async () => {
    try {
      learn(...await readWithTime('clock'));
      bar.classList.remove('is-lost');
    } catch {
      bar.classList.add('is-lost');
    }
  };
  turn();
  setInterval(() => document.visibilityState === 'visible' && turn(), READ_MS);
  setInterval(draw, 250);
  poll(panel, READ_MS, () => act(null, async () => {
    if (!known) await turn();
    await targets();
  }));
  for (const button of panel.querySelectorAll('[data-jump]')) {
    button.addEventListener('click', () => act(button, async () => {
      const time = (await jumps())[button.dataset.jump];
      if (time !== null) await change({ set: text(time) });
    }));
  }
  byId('clock-freeze').addEventListener('click', ({ currentTarget }) => act(currentTarget, () =>
    change({ freeze: !known.frozen }, known.frozen ? 'The clock runs.' : 'The clock is stopped.')));
  byId('clock-machine').addEventListener('click', ({ currentTarget }) => act(currentTarget, () => change(null)));
  const advance = byId('clock-advance');
  submits(advance, async () => {
    await change({ advance: advance.elements.advance.value.trim() });
    advance.reset();
  });
  const { set, freeze } = byId('clock-set').elements;
  submits(byId('clock-set'), () => {
    const time = `${set.value}${set.value.length === 16 ? ':00' : ''}Z`;
    // Without the mark a clock that is stopped stays so.
    return change(freeze.checked ? { set: time, freeze: true } : { set: time });
  });
}
