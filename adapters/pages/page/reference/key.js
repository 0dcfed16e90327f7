// A key from the sandbox: made with a button, put into the console of the page and into the commands of the guide.
'use strict';

/** `true` if the page comes from a sandbox, so that a key can be made here. Another address may not be asked from this page. */
const canMakeKeys = document.querySelector('#sandbox [data-origin]') !== null;

/** The words about the key in the guide, and those for a sandbox. */
const ABOUT_KEYS = [/Ask the operator for an API key[^:]*:/, 'Make a key and insert it with the button, then:'];

/** The place of a key in the commands of the guide. */
const KEY_PLACE = 'pet_…';

/** The key that was made, and the functions to call with the next one. */
const madeKey = { value: null, watchers: new Set() };

/** The key that was made; none before. The component is rendered again with each key. */
function useMadeKey(React) {
  const [key, setKey] = React.useState(madeKey.value);
  React.useEffect(() => {
    madeKey.watchers.add(setKey);
    return () => madeKey.watchers.delete(setKey);
  }, []);
  return key;
}

/** Asks the sandbox for a key of the Business plan. */
async function makeKey() {
  const response = await fetch('sandbox/keys', {
    method: 'POST', headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ plan: 'business', label: 'reference page' }),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.message);
  return answer.secret;
}

/** The button that makes a key and inserts it. */
function keyMaker(React, { authActions, specSelectors }) {
  const [state, setState] = React.useState('');
  const insert = async () => {
    setState('A key is being made.');
    try {
      const value = await makeKey();
      const schema = specSelectors.specJson().getIn(['components', 'securitySchemes', 'bearerKey']).toJS();
      authActions.authorize({ bearerKey: { name: 'bearerKey', schema, value } });
      madeKey.value = value;
      for (const watcher of madeKey.watchers) watcher(value);
      setState('A key of the Business plan is inserted, here and in the commands.');
    } catch (error) {
      setState(`No key was made: ${error.message}`);
    }
  };
  return React.createElement('div', { className: 'key-maker' },
    React.createElement('button', { type: 'button', className: 'btn key-maker-button', onClick: insert }, 'Make a key and insert it'),
    React.createElement('p', { role: 'status' }, state));
}
