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

  /** Whether a summary, or a record that was read, has the text. */
  matches(record) {
    return !this.text || [record.target, record.code, record.fault].some((text) => has(text, this.text)) || this.found.has(record.sequence);
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

/** Whether an answer has come to its end. */
const isWhole = ({ outcome }) => Boolean(outcome) && outcome !== 'streaming';
