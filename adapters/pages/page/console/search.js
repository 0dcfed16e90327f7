// The search in the bodies of the recorded requests. The page knows summaries only, so it reads the records, a few at a time, and
// keeps the numbers of those that match.

import { read } from './api.js';

/** The number of records of a reading. */
const PAGE = 20;

const has = (text, part) => typeof text === 'string' && text.toLowerCase().includes(part);

/** The search for one text at a time. */
export class Search {
  /** `changed` is called when further records match. */
  constructor(changed) {
    this.changed = changed;
    this.text = '';
    this.isReading = false;
  }

  /** Searches for a text; an empty one ends the search. */
  set(text) {
    this.text = text.toLowerCase();
    this.found = new Set();
    this.waiting = new Set();
    this.upTo = 0;
  }

  /** Takes a record for one that has the text, such as the one that an address names together with the text. */
  admit({ sequence }) {
    this.found?.add(sequence);
  }

  /** Returns whether a summary, or a record that was read, has the text. */
  matches(record) {
    return !this.text || [record.target, record.code, record.fault, record.mcp?.tool].some((text) => has(text, this.text)) || this.found.has(record.sequence);
  }

  /** Reads what came since the last call, and what was answered since. */
  async follow({ records, bySequence }) {
    const last = records.at(-1)?.sequence ?? 0;
    if (!this.text || this.isReading) return;
    // The journal was cleared, and its numbers begin again.
    if (last < this.upTo) this.set(this.text);
    const answered = [...this.waiting].filter((sequence) => isWhole(bySequence.get(sequence) ?? { outcome: 'gone' }));
    if (last === this.upTo && answered.length === 0) return;
    const { text } = this;
    this.isReading = true;
    try {
      for (const sequence of answered) {
        this.waiting.delete(sequence);
        await this.take(await read(`requests?after=${sequence - 1}&limit=1`), text);
      }
      while (this.text === text && this.upTo < last) {
        const page = await read(`requests?after=${this.upTo}&limit=${PAGE}`);
        if (this.text !== text || page.length === 0) break;
        this.take(page, text);
        this.upTo = Math.max(this.upTo, page.at(-1).sequence);
      }
    } catch {
      // The bar tells that the sandbox does not answer; the next change begins again.
    } finally {
      this.isReading = false;
    }
    this.changed();
  }

  take(page, text) {
    if (this.text !== text) return;
    for (const record of page) {
      if (has(record.body, text) || has(record.answer?.body, text)) this.found.add(record.sequence);
      if (!isWhole(record.answer ?? {})) this.waiting.add(record.sequence);
    }
  }
}

/** Returns whether an answer has come to its end. */
const isWhole = ({ outcome }) => Boolean(outcome) && outcome !== 'streaming';

/** The number of records of a reading of those with a header. */
const HEADER_PAGE = 50;

/** A header and its value, as the sandbox takes them for a condition. */
const HEADER = /^\s*([!#$%&'*+.^_`|~\w-]{1,200})\s*:\s*([\x21-\x7e](?:[\x20-\x7e]{0,198}[\x21-\x7e])?)\s*$/;

/** The condition that a text names; none if it names no header with a value so far. */
export function headerCondition(text) {
  const [, name, value] = HEADER.exec(text) ?? [];
  return name ? `${name.toLowerCase()}:${value}` : '';
}

/** The records with a header, which the sandbox finds: the page does not have their headers. */
export class HeaderSearch {
  /** `changed` is called when further records match. */
  constructor(changed) {
    this.changed = changed;
    this.isReading = false;
    this.set('');
  }

  /** Searches for a header; a text that names none ends the search. */
  set(text) {
    this.condition = headerCondition(text);
    this.found = new Set();
    this.upTo = 0;
  }

  /** Takes a record for one that has the header. */
  admit({ sequence }) {
    this.found.add(sequence);
  }

  matches({ sequence }) {
    return !this.condition || this.found.has(sequence);
  }

  /** Reads what came since the last call. A request has its headers when it comes. */
  async follow({ records }) {
    const last = records.at(-1)?.sequence ?? 0;
    if (!this.condition || this.isReading) return;
    // The journal was cleared, and its numbers begin again.
    if (last < this.upTo) {
      this.found.clear();
      this.upTo = 0;
    }
    if (last === this.upTo) return;
    const { condition } = this;
    this.isReading = true;
    try {
      while (this.condition === condition && this.upTo < last) {
        const page = await read(`requests?header=${encodeURIComponent(condition)}&after=${this.upTo}&limit=${HEADER_PAGE}`);
        if (this.condition !== condition) break;
        for (const { sequence } of page) this.found.add(sequence);
        this.upTo = page.length < HEADER_PAGE ? last : page.at(-1).sequence;
      }
    } catch {
      // The bar tells that the sandbox does not answer; the next request begins again.
    } finally {
      this.isReading = false;
    }
    this.changed();
  }
}
