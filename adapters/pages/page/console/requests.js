// The panel of requests: a live list with filters, and the detail of one request.

import { apiUrl, send } from './api.js';
import { act, byId, copies, el, fill, setText, tell } from './dom.js';
import { Detail, methodClass } from './detail.js';
import { answerClass, count, isPreference, millis, plural, statusText, timeOfDay, visible } from './format.js';
import { rowOf, VirtualList } from './list.js';
import { quoted } from './plan_code.js';
import { HeaderSearch, Search } from './search.js';

/** Milliseconds between two notices of new requests to screen readers. */
const NOTICE_MS = 5000;

/** Milliseconds between two readings of the search. */
const SEARCH_MS = 400;

/** Milliseconds for which the list is held after a movement of the pointer on it. */
const POINTED_MS = 600;

const panel = byId('requests');
const list = byId('list');

/** The values of the filters. */
const filters = {
  target: byId('filter-target'), method: byId('filter-method'), status: byId('filter-status'),
  key: byId('filter-key'), hint: byId('filter-hint'), text: byId('filter-text'), header: byId('filter-header'),
};

let rule = '';

/** The search for the text of a filter; set by the panel. */
let search = null;

/** The search for the header of a filter; set by the panel. */
let headers = null;

const isFiltered = () =>
  Boolean(filters.target.value || filters.method.value || filters.status.value || filters.key.value || filters.hint.checked || filters.text.value || headers.condition || rule);

function passes(record) {
  const status = record.status ? `${Math.floor(record.status / 100)}xx` : 'none';
  return (!filters.target.value || record.target.includes(filters.target.value))
    && (!filters.method.value || record.method === filters.method.value)
    && (!filters.status.value || status === filters.status.value)
    && (!filters.key.value || record.keyPrefix === filters.key.value)
    && (!filters.hint.checked || record.hints?.length > 0 || record.fault)
    && search.matches(record)
    && headers.matches(record)
    && (!rule || record.hints?.includes(rule));
}

function drawRow({ cells }, record) {
  const asAnswer = { answer: { status: record.status, outcome: record.outcome } };
  setText(cells.time, timeOfDay(record.at));
  setText(cells.method, visible(record.method));
  cells.method.className = `method m-${methodClass(record.method)}`;
  const target = visible(record.mcp ? `${record.target} (tool ${record.mcp.tool})` : record.target);
  setText(cells.target, target);
  cells.target.title = target;
  const isPending = !record.status && !record.outcome;
  setText(cells.status, isPending ? '…' : statusText(asAnswer));
  cells.status.className = `status ${answerClass(record)}`;
  setText(cells.ms, millis(record.durationMs));
  setText(cells.key, record.keyPrefix ?? '–');
  const marks = [record.fault && (isPreference(record.fault) ? 'prefer' : 'fault'), ...(record.hints ?? [])].filter(Boolean);
  setText(cells.hint, marks.length > 1 ? `${visible(marks[0])} +${marks.length - 1}` : visible(marks[0] ?? ''));
  cells.hint.classList.toggle('is-fault', Boolean(record.fault));
}

/** Chooses a value of a field. A list that does not offer it gets it. */
function setChoice(control, value) {
  if (control.localName === 'select' && ![...control.options].some((option) => option.value === value)) {
    control.append(el('option', {}, value));
  }
  control.value = value;
}

/** The panel, over a feed of records. */
export class Requests {
  constructor(feed) {
    this.feed = feed;
    this.isPaused = false;
    this.held = null;
    this.heldLast = 0;
    this.isFirst = true;
    search = new Search(() => this.refresh());
    headers = new HeaderSearch(() => this.refresh());
    this.detail = new Detail(byId('detail'), {
      closed: () => this.close(),
      filtered: (hint) => { rule = hint; this.refilter(); },
    });
    this.list = new VirtualList(list, byId('sizer'), {
      row: () => rowOf('time', 'method', 'target', 'status', 'ms', 'key', 'hint'),
      draw: drawRow,
      chosen: (record) => this.open(record),
    });
    search.set('');
    this.wire();
    setInterval(() => [search, headers].forEach((one) => one.follow(this.feed)), SEARCH_MS);
    this.detail.show(null);
    feed.onChange(() => this.refresh());
  }

  wire() {
    filters.text.addEventListener('input', () => search.set(filters.text.value));
    filters.header.addEventListener('input', () => headers.set(filters.header.value));
    for (const filter of Object.values(filters)) filter.addEventListener('input', () => this.refilter());
    list.addEventListener('scroll', () => this.onScroll());
    list.addEventListener('pointermove', () => this.onPointer());
    list.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && this.list.selected) byId('detail').focus();
    });
    panel.addEventListener('keydown', (event) => {
      if (event.key === 'Escape' && this.list.selected && event.target.tagName !== 'INPUT') this.close();
    });
    byId('newer').addEventListener('click', () => this.resume());
    byId('pause').addEventListener('click', () => (this.isPaused ? this.resume() : this.pause()));
    byId('unfilter').addEventListener('click', () => this.unfilter());
    byId('clear').addEventListener('click', ({ currentTarget }) => act(currentTarget, async () => {
      await send('DELETE', 'requests');
      tell('The recorded requests were cleared.');
    }));
    copies(byId('first-copy'), () => byId('first-command').textContent);
    byId('first-key').addEventListener('click', ({ currentTarget }) => act(currentTarget, async () => {
      const { secret } = await send('POST', 'keys', { label: 'made by the console' });
      this.firstCommand(secret);
      byId('first-key-note').replaceChildren('The command has a new key on the free plan. Copy it now: the key is not shown again.');
      currentTarget.hidden = true;
    }));
    this.firstCommand('$KEY');
  }

  firstCommand(key) {
    setText(byId('first-command'), `curl -s ${quoted(`${apiUrl}/pets`)} -H "X-API-Key: ${key}"`);
  }

  /** Draws the panel from the feed. */
  refresh() {
    const { records } = this.feed;
    const shown = isFiltered() ? records.filter(passes) : records;
    if (records.length === 0 && this.held) this.release();
    if (this.held) this.heldBack = shown.filter((record) => record.sequence > this.heldLast).length;
    const entries = this.held ?? shown;
    const isRefused = this.feed.state === 'refused';
    const isOff = this.feed.state === 'off' || isRefused;
    if (isRefused) {
      setText(byId('no-journal-title'), 'The requests cannot be shown');
      setText(byId('no-journal-why'), this.feed.refusal);
    }
    byId('no-journal').hidden = !isOff;
    byId('first-steps').hidden = records.length > 0 || !this.feed.hasBegun || isOff;
    byId('tools').hidden = records.length === 0;
    byId('nothing').hidden = records.length === 0 || entries.length > 0;
    byId('split').hidden = entries.length === 0;
    this.list.show(entries);
    this.openWanted();
    this.keys(records);
    this.counts(records.length, shown.length);
    this.first(entries);
    this.follow();
    this.notice(records);
  }

  /** Shows how many requests there are, and how many came while the list is held. */
  counts(all, shown) {
    const skipped = this.feed.skipped ? `, ${count(this.feed.skipped)} skipped` : '';
    const removed = this.feed.removed ? `, ${count(this.feed.removed)} older removed` : '';
    const hint = rule ? `, hint ${rule}` : '';
    setText(byId('counted'), `${shown === all ? plural(all, 'request') : `${count(shown)} of ${plural(all, 'request')}`}${hint}${skipped}${removed}`);
    const newer = byId('newer');
    newer.hidden = !this.held || !this.heldBack;
    if (!newer.hidden) setText(newer, `Show ${plural(this.heldBack, 'new request')}`);
    const pause = byId('pause');
    setText(pause, this.isPaused ? 'Resume' : 'Pause');
    pause.setAttribute('aria-pressed', String(this.isPaused));
    byId('clear').disabled = all === 0;
    byId('har').setAttribute('href', `sandbox/requests.har${this.query()}`);
  }

  /** The filters as parameters of the sandbox, for the download. */
  query() {
    const { target, method, status, key } = filters;
    const given = { target: target.value, method: method.value, key: key.value, header: headers.condition, hint: rule };
    if (status.value !== 'none') given.status = status.value;
    const query = new URLSearchParams(Object.entries(given).filter(([, value]) => value)).toString();
    return query && `?${query}`;
  }

  /** Offers each key that was seen as a filter. */
  keys(records) {
    this.seen ??= new Set();
    const from = this.seenUpTo ?? 0;
    for (let index = records.length - 1; index >= 0 && records[index].sequence > from; index -= 1) {
      const { keyPrefix } = records[index];
      if (keyPrefix && !this.seen.has(keyPrefix)) {
        this.seen.add(keyPrefix);
        if (![...filters.key.options].some((option) => option.value === keyPrefix)) filters.key.append(el('option', {}, keyPrefix));
      }
    }
    this.seenUpTo = records.at(-1)?.sequence ?? 0;
  }

  /** On a wide screen the first request that arrives is shown with its detail. */
  first(entries) {
    if (entries.length === 0 || !this.feed.hasBegun || !this.isFirst) return;
    if (!this.list.selected && !matchMedia('(max-width: 900px)').matches) {
      this.list.select(entries.at(-1), true);
      this.detail.show(entries.at(-1));
    }
    this.isFirst = false;
  }

  /** Reads the chosen request again when it was answered, and closes it when it was cleared. */
  follow() {
    const { selected } = this.list;
    if (!selected) return;
    const now = this.feed.bySequence.get(selected.sequence);
    if (now && now !== selected) this.list.select(now, true);
    if (now && now.id === selected.id && now.version !== this.drawnVersion) {
      this.drawnVersion = now.version;
      if (this.detail.shown === now) this.detail.show(now);
    }
    if (!now && this.feed.records.length === 0) this.close();
  }

  /** Announces new requests to screen readers, at intervals. */
  notice(records) {
    const last = records.at(-1);
    if (!last || this.noticed || last.sequence === this.noticedUpTo) return;
    this.noticed = setTimeout(() => {
      this.noticed = null;
      const now = this.feed.records.at(-1);
      if (now && this.noticedUpTo !== undefined && now.sequence > this.noticedUpTo) {
        fill(byId('notice'), plural(now.sequence - this.noticedUpTo, 'new request'));
      }
      this.noticedUpTo = now?.sequence ?? 0;
    }, NOTICE_MS);
  }

  hold() {
    if (this.held) return;
    this.held = this.list.entries.slice();
    this.heldLast = this.held.at(-1)?.sequence ?? 0;
  }

  release() {
    this.held = null;
    this.heldBack = 0;
    this.isPaused = false;
  }

  pause() {
    this.hold();
    this.isPaused = true;
    this.refresh();
  }

  resume() {
    this.release();
    list.scrollTop = 0;
    this.refresh();
  }

  /** A list that was scrolled keeps its rows in place until it is at the top again. */
  onScroll() {
    if (list.scrollTop > this.list.rowHeight / 2) this.hold();
    else if (this.held && !this.isPaused) this.resume();
  }

  /** No row moves under a pointer that moves, because a press would hit another row. */
  onPointer() {
    this.hold();
    clearTimeout(this.pointed);
    this.pointed = setTimeout(() => this.onScroll(), POINTED_MS);
  }

  /** The list with other filters, from its top. A request that they hide is closed. */
  refilter() {
    this.release();
    list.scrollTop = 0;
    if (this.list.selected && !passes(this.list.selected)) this.close();
    this.tellAddress();
    this.refresh();
  }

  unfilter() {
    rule = '';
    for (const filter of [filters.target, filters.method, filters.status, filters.key, filters.text, filters.header]) filter.value = '';
    search.set('');
    headers.set('');
    filters.hint.checked = false;
    this.refilter();
  }

  open(record) {
    this.opened = record;
    this.tellAddress();
    this.drawnVersion = record.version;
    panel.classList.add('has-detail');
    return this.detail.show(record);
  }

  /** Sets the filters that an address has, and shows the request that it names once the records have come. */
  show({ name, wanted }) {
    if (Object.keys(filters).some((filter) => wanted.has(filter)) || wanted.has('rule')) {
      for (const [filter, control] of Object.entries(filters)) {
        const value = wanted.get(filter) ?? '';
        if (control.type === 'checkbox') control.checked = value !== '';
        else setChoice(control, value);
      }
      rule = wanted.get('rule') ?? '';
      search.set(filters.text.value);
      headers.set(filters.header.value);
      this.refilter();
    }
    this.wanted = name ? { id: name, sequence: Number(wanted.get('sequence')) } : null;
    this.openWanted();
  }

  openWanted() {
    if (!this.wanted || !this.feed.hasBegun) return;
    const { id, sequence } = this.wanted;
    const record = this.feed.records.find((one) => one.id === id && (!sequence || one.sequence === sequence));
    // A slow stream may have brought nothing so far.
    if (!record && this.feed.state !== 'off' && !this.feed.hasFrame) return;
    this.wanted = null;
    this.isFirst = false;
    if (!record) {
      tell('The journal no longer keeps this request.', 'failed');
      return;
    }
    if (!passes(record)) {
      // Its body may have the text of the filter, or it may have the header, and it is not read so far.
      search.admit(record);
      headers.admit(record);
      if (passes(record)) this.refilter();
      else this.unfilter();
    }
    this.list.select(record);
    list.scrollTop = Math.max(0, this.list.placeOf(record) * this.list.rowHeight - list.clientHeight / 2);
    byId('detail').focus();
  }

  /** Writes the filters and the chosen request into the address, so that it can be kept and sent to others. */
  tellAddress() {
    if (panel.hidden || this.wanted) return;
    const query = new URLSearchParams();
    for (const [filter, control] of Object.entries(filters)) {
      const value = control.type === 'checkbox' ? (control.checked ? 'yes' : '') : control.value;
      if (value) query.set(filter, value);
    }
    if (rule) query.set('rule', rule);
    const chosen = this.opened;
    if (chosen) query.set('sequence', chosen.sequence);
    const hash = `#requests${chosen ? `/${encodeURIComponent(chosen.id)}` : ''}${query.size > 0 ? `?${query}` : ''}`;
    if (location.hash !== hash) history.replaceState(null, '', hash);
  }

  close() {
    this.opened = null;
    const hadFocus = byId('detail').contains(document.activeElement);
    panel.classList.remove('has-detail');
    this.list.select(null, true);
    this.detail.show(null);
    if (hadFocus) list.focus();
    this.tellAddress();
  }
}
