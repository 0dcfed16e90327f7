// Adapts Swagger UI to this API: badges for the contract's markers, a search over all operations, a guide with foldable
// sections, and accessible names for all controls. The hooks are those of the plug-in system of the built-in version.
'use strict';

// The page is at `…/docs`. A proxy may add a prefix, which the console must use too.
const prefix = location.pathname.replace(/\/docs$/, '');

// For a sandbox at the origin of this page, the commands show the address that the reader's browser uses.
for (const origin of document.querySelectorAll('#sandbox [data-origin]')) origin.textContent = location.origin + prefix;

const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' });

/** The badges of an operation: its stability, its sunset date and its successor. */
function badges(React, operation) {
  const badge = (kind, ...text) => React.createElement('span', { key: kind, className: `badge badge-${kind}` }, ...text);
  const found = [];
  const stability = operation.get('x-stability');
  if (stability) found.push(badge(stability, stability));
  if (operation.get('deprecated')) {
    const sunset = operation.get('x-deprecated-sunset');
    const successor = operation.get('x-deprecated-successor');
    found.push(badge('deprecated', 'deprecated'));
    if (sunset) found.push(badge('sunset', 'ends ', React.createElement('time', { dateTime: sunset }, day.format(new Date(sunset)))));
    if (successor) found.push(badge('successor', `use ${successor}`));
  }
  return found;
}

/** Copies text to the clipboard. `navigator.clipboard` exists in secure contexts only, so not over http to another machine. */
async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'off-screen';
  document.body.append(field);
  field.select();
  document.execCommand('copy');
  field.remove();
}

/** Milliseconds for which a button shows that its text was copied. */
const COPIED_MS = 2000;

/** A block of commands with a button that copies them. */
function snippet(React, { text: written }) {
  const key = useMadeKey(React);
  const text = key ? written.replaceAll(KEY_PLACE, key) : written;
  const [isCopied, setCopied] = React.useState(false);
  const onClick = () => copy(text).then(() => {
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
  });
  return React.createElement('div', { className: 'renderedMarkdown snippet' },
    React.createElement('pre', { tabIndex: 0 }, React.createElement('code', null, text)),
    React.createElement('button', { type: 'button', className: 'btn snippet-copy', 'aria-live': 'polite', onClick },
      isCopied ? 'Copied' : 'Copy'));
}

/** Matches a fenced code block of Markdown and captures its content. */
const FENCED = /^```\w*\n(.*?)\n```$/ms;

/** A section of the guide: its command blocks have copy buttons, the rest is Markdown. */
function section(React, Markdown, Snippet, source) {
  // The pieces alternate between text and command blocks.
  return source.split(FENCED).map((part, index) => index % 2 === 0
    ? React.createElement(Markdown, { key: index, source: part })
    : React.createElement(Snippet, { key: index, text: part }));
}

/** The guide in foldable sections, of which the first is open. */
function guide(React, { Markdown, Snippet, KeyMaker }, source) {
  const [opening, ...sections] = source.split(/^## /m);
  const folded = sections.map((text, index) => {
    const end = text.indexOf('\n');
    const title = text.slice(0, end);
    return React.createElement('details', { key: title, className: 'guide-section', open: index === 0 },
      React.createElement('summary', null, title),
      canMakeKeys && index === 0 && React.createElement(KeyMaker),
      section(React, Markdown, Snippet, text.slice(end)));
  });
  return React.createElement('div', { className: 'guide' }, React.createElement(Markdown, { source: opening }), folded);
}

/** Selects the operations in whose path, method, summary, operationId or tag every word of the search occurs. */
function search(taggedOperations, phrase) {
  const words = phrase.toLowerCase().split(/\s+/).filter(Boolean);
  const found = (tag) => (entry) => {
    const operation = entry.get('operation');
    const said = [tag, entry.get('path'), entry.get('method'), operation.get('operationId'), operation.get('summary')];
    const text = said.filter(Boolean).join(' ').toLowerCase();
    return words.every((word) => text.includes(word));
  };
  return taggedOperations
    .map((group, tag) => group.set('operations', group.get('operations').filter(found(tag))))
    .filter((group) => group.get('operations').size > 0);
}

/** A documented response of an operation: a success is open, others are a line that opens them. */
function answer(React, Original, props) {
  const [isOpen, setOpen] = React.useState(props.code.startsWith('2'));
  if (isOpen) return React.createElement(Original, props);
  const told = props.response.get('description', '').split('\n\n', 1)[0].replaceAll('`', '');
  return React.createElement('tr', { className: 'response folded-answer', 'data-code': props.code },
    React.createElement('td', { className: 'folded-answer-cell', colSpan: 2 },
      React.createElement('button', { type: 'button', 'aria-expanded': false, onClick: () => setOpen(true) },
        React.createElement('strong', null, props.code), ' ', told)));
}

/** The contract as a plain object. It is large, so it is converted only when it has changed. */
const converted = { from: null, to: null };
function plain(contract) {
  if (converted.from !== contract) Object.assign(converted, { from: contract, to: contract.toJS() });
  return converted.to;
}

const petstore = ({ React, getSystem }) => ({
  fn: { opsFilter: search },
  statePlugins: {
    // The original ignores the margin that keeps an operation below the search on narrow screens.
    layout: { wrapActions: { scrollToElement: () => (element) => (element.firstElementChild ?? element).scrollIntoView() } },
    spec: {
      wrapActions: {
        updateJsonSpec: (update) => (document) => update(atThisAddress(withoutPrefills(document))),
      },
      wrapSelectors: {
        allowTryItOutFor: (allow, { specSelectors }) => (state, path, method) =>
          allow(state, path, method) && specSelectors.specJson().getIn(['paths', path, method, 'x-hideTryItPanel']) !== true,
      },
    },
  },
  components: {
    // The original uses the same fallback for lists of ids, but writes a warning to the console.
    JsonSchema_integer_int64: (props) => React.createElement(props.getComponent('JsonSchema_string'), props),
    // The original is not a button, and copies a path without its server.
    CopyToClipboardBtn: () => null,
    Snippet: (props) => snippet(React, props),
    KeyMaker: () => keyMaker(React, getSystem()),
    Contents: () => contents(React, getSystem()),
    Samples: ({ path, method }) =>
      samples(React, getSystem().getComponent('Snippet'), plain(getSystem().specSelectors.specJson()), path, method),
    FilterContainer: ({ layoutSelectors, layoutActions, specSelectors }) => {
      const phrase = layoutSelectors.currentFilter();
      const text = typeof phrase === 'string' ? phrase : '';
      const count = specSelectors.taggedOperations().reduce((sum, group) => sum + group.get('operations').size, 0);
      return React.createElement('search', { className: 'wrapper find' },
        React.createElement('h2', null, React.createElement('label', { htmlFor: 'find' }, 'Find an operation')),
        React.createElement('input', {
          id: 'find', type: 'search', className: 'operation-filter-input', autoComplete: 'off', spellCheck: false,
          placeholder: 'Path, method, summary or operationId', value: text,
          onChange: (event) => layoutActions.updateFilter(event.target.value),
        }),
        React.createElement('p', { role: 'status' },
          text === '' ? '' : count === 1 ? '1 operation' : count === 0 ? 'No operation matches.' : `${count} operations`));
    },
  },
  wrapComponents: {
    // Without the link of the original: the whole line is a button, and a link must not be inside a button.
    OperationSummaryPath: (Original, system) => ({ operationProps }) => {
      const { path, method, deprecated } = operationProps.toObject();
      const parts = path.split(/(?=\/)/).flatMap((part, index) => [React.createElement('wbr', { key: index }), part]);
      const className = deprecated ? 'opblock-summary-path__deprecated' : 'opblock-summary-path';
      return React.createElement(React.Fragment, null,
        React.createElement('span', { className, 'data-path': path }, parts),
        // A closed operation has only a few of its properties.
        badges(React, system.getSystem().specSelectors.specJson().getIn(['paths', path, method])));
    },
    Markdown: (Original, system) => (props) =>
      props.source && props.source === system.getSystem().specSelectors.info().get('description')
        ? guide(React, {
          Markdown: Original, Snippet: system.getSystem().getComponent('Snippet'), KeyMaker: system.getSystem().getComponent('KeyMaker'),
        }, props.source)
        : React.createElement(Original, props),
    headers: (Original) => (props) =>
      props.headers?.size > 0
        ? React.createElement('details', { className: 'folded-headers' },
          React.createElement('summary', null, props.headers.size === 1 ? '1 header' : `${props.headers.size} headers`),
          React.createElement(Original, props))
        : null,
    response: (Original) => (props) => answer(React, Original, props),
    // The samples stand beside the parameters, before anything is executed.
    parameters: (Original, system) => (props) => {
      const [path, method] = props.pathMethod;
      const Samples = system.getSystem().getComponent('Samples');
      return React.createElement('div', { className: 'parameters-and-samples' },
        React.createElement(Original, props), React.createElement(Samples, { path, method }));
    },
    // The list is behind the page in the order of the keyboard: it would be in the way of every other control.
    BaseLayout: (Original, system) => (props) => React.createElement(React.Fragment, null,
      React.createElement(Original, props), React.createElement(system.getSystem().getComponent('Contents'))),
    // A single media type needs no choice. The original stays hidden, since other components read the chosen type from it.
    contentType: (Original) => (props) =>
      props.contentTypes?.size === 1
        ? React.createElement('span', { className: 'one-media-type' },
          React.createElement('code', null, props.contentTypes.first()),
          React.createElement('span', { hidden: true }, React.createElement(Original, props)))
        : React.createElement(Original, props),
    // A tag without operations is the heading of the tags after it.
    OperationTag: (Original, system) => (props) => {
      if (props.tagObj.get('operations').size > 0) return React.createElement(Original, props);
      const Markdown = system.getSystem().getComponent('Markdown', true);
      return React.createElement('header', { className: 'tag-group' },
        React.createElement('h2', null, props.tag),
        React.createElement(Markdown, { source: props.tagObj.getIn(['tagDetails', 'description'], '') }));
    },
    operations: (Original) => (props) =>
      props.specSelectors.taggedOperations().size === 0 ? null : React.createElement(Original, props),
  },
});

/** The address of the contract's server, as the browser reaches it. */
const addressOf = (document) => new URL(prefix + (document.servers?.[0]?.url ?? ''), location.origin).href.replace(/\/$/, '');

/** Replaces the address in the commands of the contract by the address of this page, and on a sandbox the words about the key. */
function atThisAddress(document) {
  const WRITTEN = 'http://127.0.0.1:8080/v1';
  const told = document.info.description.replaceAll(WRITTEN, addressOf(document));
  const description = canMakeKeys ? told.replace(...ABOUT_KEYS) : told;
  return { ...document, info: { ...document.info, description } };
}

/**
 * Moves the examples of optional parameters from the fields into their descriptions. The console sends the content of its
 * fields, and an example of a cursor or of an idempotency key must not be sent.
 */
function withoutPrefills(document) {
  const tell = (parameter) => {
    if (parameter.$ref || parameter.required) return parameter;
    const { example, examples, schema, ...rest } = parameter;
    const values = examples ? Object.values(examples).map((one) => one.value) : [example ?? schema?.example];
    const told = values.filter((value) => value !== undefined).map((value) => `\`${[value].flat().join(',')}\``);
    const description = [rest.description, told.length > 0 && `Example: ${told.join(' or ')}`].filter(Boolean).join('\n\n');
    return { ...rest, ...(schema && { schema: without(schema, 'example') }), description };
  };
  const without = (object, key) => Object.fromEntries(Object.entries(object).filter(([one]) => one !== key));
  const each = (object, change) =>
    Object.fromEntries(Object.entries(object ?? {}).map(([key, value]) => [key, change(value)]));
  const inside = (holder) =>
    Array.isArray(holder?.parameters) ? { ...holder, parameters: holder.parameters.map(tell) } : holder;
  return {
    ...document,
    paths: each(document.paths, (path) => each(inside(path), (part) => (Array.isArray(part) ? part : inside(part)))),
    components: { ...document.components, parameters: each(document.components?.parameters, tell) },
  };
}

/** Adds accessible names to controls without one, and makes the others match their visible text. */
function label(root) {
  const give = (selector, text) => {
    for (const control of root.querySelectorAll(`${selector}:not([aria-label])`)) {
      control.setAttribute('aria-label', typeof text === 'string' ? text : text(control));
    }
  };
  const operation = (control) => control.closest('.opblock')?.querySelector('[data-path]')?.dataset.path ?? '';
  give('.curl-command .copy-to-clipboard button', 'Copy the curl command');
  give('.highlight-code .copy-to-clipboard button', 'Copy the answer');
  give('textarea.body-param__text', (control) => `Body of the request to ${operation(control)}`);
  give('.examples-select select', 'Example');
  give('[data-param-name] select', (control) => control.closest('[data-param-name]').dataset.paramName);
  give('.dialog-ux .close-modal', 'Close');
  // Scrollable areas must be reachable by keyboard.
  for (const pre of root.querySelectorAll('.curl-command pre, .live-responses-table pre')) pre.tabIndex = 0;
  for (const button of root.querySelectorAll('.auth-btn-wrapper [aria-label]')) button.removeAttribute('aria-label');
  give('#servers, .servers select', 'Server');
}

/** Makes the dialogue for the key usable with a keyboard and a screen reader. */
let opener = null;
function attend(dialog) {
  if (!dialog) {
    // The button that opened the dialogue may have been rendered again, with a closed lock.
    if (opener) (opener.isConnected ? opener : page.querySelector('.btn.authorize'))?.focus();
    opener = null;
  } else if (!dialog.role) {
    // The dialogue may be rendered again while it is open.
    opener ??= document.activeElement;
    dialog.role = 'dialog';
    dialog.ariaModal = 'true';
    dialog.ariaLabel = 'API key';
    for (const input of dialog.querySelectorAll('input')) input.autocomplete = 'off';
    (dialog.querySelector('input') ?? dialog.querySelector('button'))?.focus();
  }
}

const page = document.getElementById('page');

/** The error that the address names, as long as the page has not moved to it. Swagger UI takes it for an operation, and adds a slash to
 * the address. */
let errorAhead = /^#\/?(errors.*)/.exec(location.hash)?.[1];

const mend = () => {
  label(page);
  // The operations stand above the codes of errors, so the page moves once they are there.
  if (errorAhead && page.querySelector('.opblock')) {
    location.replace(`#${errorAhead}`);
    errorAhead = undefined;
  }
  attend(page.querySelector('.dialog-ux .modal-ux'));
};
new MutationObserver(mend).observe(page, { childList: true, subtree: true });
addEventListener('keydown', (event) => {
  if (event.key === 'Escape') page.querySelector('.dialog-ux .close-modal')?.click();
});

SwaggerUIBundle({
  domNode: page,
  url: 'openapi.json',
  layout: 'BaseLayout',
  presets: [SwaggerUIBundle.presets.apis],
  plugins: [petstore],
  deepLinking: true,
  filter: true,
  displayRequestDuration: true,
  syntaxHighlight: { theme: 'obsidian' },
  defaultModelsExpandDepth: 0,
  // No request goes to another origin, and the key is forgotten when the page closes.
  validatorUrl: null,
  persistAuthorization: false,
  requestInterceptor: (request) => {
    if (prefix !== '' && !request.loadSpec) {
      const url = new URL(request.url, location.href);
      url.pathname = prefix + url.pathname;
      request.url = url.href;
    }
    return request;
  },
});
