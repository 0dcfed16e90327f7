// A list of any length that draws only the rows in view. The newest row is on top.

import { el } from './dom.js';

/** Rows above and below the view that are drawn too, so that a short scroll shows no gap. */
const SPARE_ROWS = 6;

/** A list box of equally high rows. `row` creates a row's element, `draw` writes an entry into it. */
export class VirtualList {
  constructor(box, sizer, { row, draw, chosen }) {
    Object.assign(this, { box, sizer, row, draw, chosen });
    this.entries = [];
    this.selected = null;
    this.rows = [];
    this.isDue = false;
    box.addEventListener('scroll', () => this.refresh());
    // In a fast list the row under the pointer changes between the press and the click.
    let pressed = null;
    box.addEventListener('pointerdown', (event) => { pressed = event.target.closest('[role=option]')?.entry ?? null; });
    box.addEventListener('click', (event) => {
      const entry = pressed ?? event.target.closest('[role=option]')?.entry;
      pressed = null;
      if (entry) this.select(entry);
    });
    box.addEventListener('keydown', (event) => this.onKey(event));
    new ResizeObserver(() => this.refresh()).observe(box);
  }

  /** Takes other entries, oldest first. The array is read, not kept in step: call it again after a change. */
  show(entries) {
    this.entries = entries;
    this.refresh();
  }

  /** Draws before the next frame, once for any number of calls. */
  refresh() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.render();
    });
  }

  /** The height of a row, from the style sheet. */
  get rowHeight() {
    return parseFloat(getComputedStyle(this.box).getPropertyValue('--row')) || 34;
  }

  /** The entry of a row, counted from the top. */
  entryAt(place) {
    return this.entries[this.entries.length - 1 - place];
  }

  placeOf(entry) {
    const index = this.entries.indexOf(entry);
    return index < 0 ? -1 : this.entries.length - 1 - index;
  }

  render() {
    const height = this.rowHeight;
    const total = this.entries.length;
    this.sizer.style.height = `${total * height}px`;
    const first = Math.max(0, Math.floor(this.box.scrollTop / height) - SPARE_ROWS);
    const end = Math.min(total, Math.ceil((this.box.scrollTop + this.box.clientHeight) / height) + SPARE_ROWS);
    while (this.rows.length < end - first) {
      const row = this.row();
      row.setAttribute('role', 'option');
      this.rows.push(row);
      this.sizer.append(row);
    }
    while (this.rows.length > end - first) this.rows.pop().remove();
    for (const [index, row] of this.rows.entries()) {
      const place = first + index;
      const entry = this.entryAt(place);
      row.style.top = `${place * height}px`;
      row.setAttribute('aria-setsize', String(total));
      row.setAttribute('aria-posinset', String(place + 1));
      const isSelected = entry === this.selected;
      row.setAttribute('aria-selected', String(isSelected));
      row.id = isSelected ? 'selected-row' : '';
      if (!isSelected) row.removeAttribute('id');
      if (row.entry !== entry || row.version !== entry.version) {
        row.entry = entry;
        row.version = entry.version;
        this.draw(row, entry);
      }
    }
    const isDrawn = this.selected && this.rows.some((row) => row.entry === this.selected);
    if (isDrawn) this.box.setAttribute('aria-activedescendant', 'selected-row');
    else this.box.removeAttribute('aria-activedescendant');
  }

  /** Draws the rows again although their entries are the same. */
  redraw() {
    for (const row of this.rows) row.entry = null;
    this.refresh();
  }

  select(entry, isQuiet = false) {
    this.selected = entry;
    this.refresh();
    if (!isQuiet) this.chosen(entry);
  }

  onKey(event) {
    const page = Math.max(1, Math.floor(this.box.clientHeight / this.rowHeight) - 1);
    const last = this.entries.length - 1;
    const now = this.selected ? this.placeOf(this.selected) : -1;
    const places = {
      ArrowDown: now + 1, ArrowUp: now - 1, PageDown: now + page, PageUp: now - page, Home: 0, End: last,
    };
    if (!(event.key in places) || event.ctrlKey || event.metaKey || event.altKey || last < 0) return;
    event.preventDefault();
    const place = Math.min(last, Math.max(0, places[event.key]));
    const height = this.rowHeight;
    if (place * height < this.box.scrollTop) this.box.scrollTop = place * height;
    const below = (place + 1) * height - this.box.clientHeight;
    if (below > this.box.scrollTop) this.box.scrollTop = below;
    this.select(this.entryAt(place));
  }
}

/** A row with a cell for each class name. */
export function rowOf(...names) {
  const row = el('div', { class: 'row' });
  row.cells = Object.fromEntries(names.map((name) => [name, el('span', { class: name })]));
  row.append(...Object.values(row.cells));
  return row;
}
