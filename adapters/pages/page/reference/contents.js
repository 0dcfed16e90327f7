// The list of all operations beside the page, on wide screens.
'use strict';

/** Frames for which an opened operation is awaited before the page moves to it. */
const FRAMES_MAX = 60;

/** Opens an operation, and moves to it. */
function reveal({ layoutActions, layoutSelectors }, tag, operationId) {
  // The search may hide the operation.
  if (layoutSelectors.currentFilter() !== true) layoutActions.updateFilter('');
  layoutActions.show(['operations-tag', tag], true);
  layoutActions.show(['operations', tag, operationId], true);
  const move = (left) => {
    const block = document.getElementById(`operations-${tag.replaceAll(' ', '_')}-${operationId}`);
    if (block?.querySelector('.opblock-body')) {
      block.scrollIntoView({ block: 'start' });
      block.querySelector('.opblock-summary-control').focus({ preventScroll: true });
    } else if (left > 0) {
      requestAnimationFrame(() => move(left - 1));
    }
  };
  move(FRAMES_MAX);
}

/** The operations of a tag, as links that also lead to them from another window. */
function entries(React, system, tag, operations, current, setCurrent) {
  return operations.map((entry) => {
    const [operation, method] = [entry.get('operation'), entry.get('method')];
    const operationId = operation.get('operationId');
    const onClick = (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      setCurrent(operationId);
      reveal(system, tag, operationId);
    };
    return React.createElement('li', { key: operationId },
      React.createElement('a', {
        href: `#/${encodeURIComponent(tag)}/${operationId}`, title: operation.get('summary'), onClick,
        'aria-current': operationId === current ? 'true' : undefined, 'data-method': method,
      },
      React.createElement('span', { className: 'contents-method' }, method.toUpperCase()), ' ',
      React.createElement('span', { className: operation.get('deprecated') ? 'contents-ends' : undefined }, operationId)));
  });
}

/** All operations by their tags. */
function contents(React, system) {
  const [current, setCurrent] = React.useState(null);
  const groups = system.specSelectors.taggedOperations();
  if (groups.size === 0) return null;
  const parts = groups.entrySeq().toArray().map(([tag, group]) => {
    const operations = group.get('operations').toArray();
    if (operations.length === 0) return React.createElement('p', { key: tag, className: 'contents-group' }, tag);
    return React.createElement(React.Fragment, { key: tag },
      React.createElement('h2', null, tag),
      React.createElement('ul', null, entries(React, system, tag, operations, current, setCurrent)));
  });
  return React.createElement('nav', { className: 'contents', 'aria-label': 'Operations' }, parts);
}
