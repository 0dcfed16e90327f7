// Elements, messages and copying. Every text becomes a text node, so nothing that a client has sent is read as markup.

/** Returns the element with this id. */
export const byId = (id) => document.getElementById(id);

/** Creates an element. `attributes` may have `onclick` and other listeners; children are elements, texts or null. */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : String(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
}

/** Replaces the content of an element. */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

/** Sets the text of an element if it differs, so that nothing is drawn again without a change. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Copies text to the clipboard. `navigator.clipboard` exists in secure contexts only, so not over http to another machine. */
export async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = el('textarea', { class: 'off-screen', 'aria-hidden': 'true', tabindex: -1 });
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand('copy');
  field.remove();
}

/** Milliseconds for which a message is shown. */
const MESSAGE_MS = 6000;

/** The maximum number of messages that are shown together. */
const MESSAGES_MAX = 3;

/** Shows a message for a few seconds. Screen readers read it. */
export function tell(text, kind = 'done') {
  const list = byId('messages');
  const message = el('p', { class: `message ${kind}` }, text);
  list.append(message);
  while (list.childElementCount > MESSAGES_MAX) list.firstElementChild.remove();
  setTimeout(() => message.remove(), MESSAGE_MS);
}

/** Runs an action of a button, and shows why it failed. The button is disabled meanwhile. */
export async function act(button, action) {
  if (button) button.disabled = true;
  try {
    return await action();
  } catch (error) {
    tell(error.message, 'failed');
    return undefined;
  } finally {
    if (button) button.disabled = false;
  }
}

/** Runs the action of a form. If a field is refused, the field is marked with the reason until the form changes or is reset. `nameOf` gives
 * the name of the form's field for that of the sandbox; none for one that the form does not have. */
export function submits(form, action, nameOf = (field) => field) {
  const unmark = () => {
    for (const field of form.querySelectorAll('[aria-invalid]')) {
      field.removeAttribute('aria-invalid');
      field.setCustomValidity('');
    }
  };
  form.addEventListener('input', unmark);
  form.addEventListener('reset', unmark);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    act(event.submitter, async () => {
      unmark();
      try {
        await action();
      } catch (error) {
        for (const { field, message } of error.details ?? []) {
          const control = form.elements[nameOf(field)];
          if (!(control instanceof Element) || control.closest('[hidden]')) continue;
          control.setAttribute('aria-invalid', 'true');
          control.setCustomValidity(`This field ${message}.`);
        }
        form.querySelector('[aria-invalid]')?.reportValidity();
        throw error;
      }
    });
  });
}

/** Makes a button copy a text and report that. */
export function copies(button, text) {
  button.addEventListener('click', () => act(button, async () => {
    await copy(await text());
    tell('Copied.');
  }));
  return button;
}

/** Shows those of a form's parts whose `data-for` names one of the chosen words. */
export function showParts(form, words) {
  for (const part of form.querySelectorAll('[data-for]')) {
    part.hidden = !part.dataset.for.split(' ').some((word) => words.includes(word));
  }
}

/** Runs a function at an interval while a panel is shown and the page is visible, and at once when it is shown. */
export function poll(panel, milliseconds, run) {
  let timer;
  const isShown = () => !panel.hidden && document.visibilityState === 'visible';
  const turn = async () => {
    clearTimeout(timer);
    if (!isShown()) return;
    await run();
    clearTimeout(timer);
    timer = setTimeout(turn, milliseconds);
  };
  panel.addEventListener('shown', turn);
  document.addEventListener('visibilitychange', turn);
  return turn;
}
