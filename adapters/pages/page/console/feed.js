// The summaries of the recorded requests, kept in step with the sandbox by its stream, within a bound.

import { about, at, read } from './api.js';

/** The maximum number of requests that the page keeps. The journal of the sandbox has its own bounds. */
const RECORDS_MAX = 5000;

/** The share beyond the bound at which the oldest are dropped, in one step, because a step moves the others. */
const SLACK = 1.2;

/** Milliseconds that a new stream has for its first record. After that, the journal counts as empty. */
const BEGUN_MS = 300;

/** Calls its listeners at most once for each frame. */
export class Feed {
  constructor() {
    this.records = [];
    this.bySequence = new Map();
    this.waiting = [];
    this.listeners = [];
    this.state = 'wait';
    this.skipped = 0;
    this.removed = 0;
    this.isStale = false;
    this.hasBegun = false;
    this.hasFrame = false;
  }

  onChange(listener) {
    this.listeners.push(listener);
  }

  /** Opens the stream, which begins with all records of the journal. The browser opens it again after a failure. */
  open() {
    if (!about.journal) {
      this.hasBegun = true;
      this.setState('off');
      return;
    }
    this.source = new EventSource(at('requests/stream'));
    this.source.addEventListener('open', () => {
      this.isStale = true;
      this.setState('live');
      setTimeout(() => {
        this.hasBegun = true;
        this.due();
      }, BEGUN_MS);
    });
    this.source.addEventListener('error', () => {
      if (this.source.readyState === EventSource.CLOSED) this.explain();
      else this.setState('lost');
    });
    this.source.addEventListener('request', (event) => this.take(JSON.parse(event.data)));
    this.source.addEventListener('cleared', () => this.take(null));
    this.source.addEventListener('gap', (event) => {
      this.hasFrame = true;
      this.skipped += JSON.parse(event.data).dropped;
      this.due();
    });
  }

  /** Finds out why the sandbox does not give the stream: a browser does not tell it. */
  async explain() {
    try {
      await read('requests?limit=1');
      this.refusal = 'Too many consoles are open. Close one of them, and load this page again.';
    } catch (error) {
      this.refusal = error.message;
    }
    this.setState('refused');
  }

  take(record) {
    this.hasFrame = true;
    this.waiting.push(record);
    this.due();
  }

  setState(state) {
    if (this.state === state) return;
    this.state = state;
    this.tell();
  }

  forget() {
    this.records = [];
    this.bySequence.clear();
    this.skipped = 0;
    this.removed = 0;
  }

  due() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.merge();
      this.tell();
    });
  }

  tell() {
    for (const listener of this.listeners) listener();
  }

  /** Adds what has come since the last frame. A record that comes again replaces its earlier state. */
  merge() {
    if (this.isStale) {
      this.isStale = false;
      this.forget();
    }
    for (const record of this.waiting) {
      if (record === null) {
        this.forget();
        continue;
      }
      const known = this.bySequence.get(record.sequence);
      if (known) {
        Object.assign(known, record, { version: known.version + 1 });
      } else {
        record.version = 0;
        this.bySequence.set(record.sequence, record);
        this.records.push(record);
      }
    }
    this.waiting = [];
    if (this.records.length > RECORDS_MAX * SLACK) {
      const gone = this.records.splice(0, this.records.length - RECORDS_MAX);
      for (const record of gone) this.bySequence.delete(record.sequence);
      this.removed += gone.length;
    }
  }
}
