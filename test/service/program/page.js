// The page: it shows the stream of one session, and sends what a person types, stops and decides.
// Stored text is data: it is shown as text and never as HTML.
const id = new URL(location.href).searchParams.get('session') ?? 'default';
const find = (name) => document.getElementById(name);
const post = (path, body) =>
  fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

/** What is known; a snapshot takes the place of all of it. */
let view = { messages: [], partial: [], approvals: [], phase: null };

function take(event) {
  const { messages, partial, approvals } = view;
  const others = (messageId) => (messageId === null ? [] : partial.filter((piece) => piece.messageId !== messageId));
  if (event.type === 'snapshot') view = event;
  else if (event.type === 'phase') view = { ...view, phase: event.phase };
  else if (event.type === 'message') view = { ...view, messages: [...messages, event], partial: others(event.meta.id) };
  else if (event.type === 'delta') view = { ...view, partial: [...partial, event] };
  else if (event.type === 'deltasDiscarded') view = { ...view, partial: others(event.messageId) };
  else if (event.type === 'approvalRequested')
    view = { ...view, approvals: [...approvals.filter(({ id }) => id !== event.approval.id), event.approval] };
  else if (event.type === 'approvalDecided')
    view = { ...view, approvals: approvals.filter(({ id }) => id !== event.approvalId) };
  else if (event.type === 'outcome') view = { ...view, partial: [], approvals: [], phase: event.outcome.status };
}

function element(name, text, children = []) {
  const made = document.createElement(name);
  made.textContent = text;
  made.append(...children);
  return made;
}

function show() {
  find('phase').textContent = view.phase ?? 'no turn yet';
  const lines = view.messages.flatMap(({ message, meta }) =>
    (typeof message.content === 'string' ? [{ text: message.content }] : message.content).flatMap((part) => {
      if (part.text !== undefined) return [`${meta.origin}: ${part.text}`];
      return part.toolName === undefined ? [] : [`${meta.origin}: ${part.toolName}`];
    }),
  );
  find('messages').replaceChildren(...lines.map((line) => element('li', line)));
  find('partial').textContent = view.partial.map(({ delta }) => delta.text).join('');
  find('approvals').replaceChildren(...view.approvals.map(approval));
}

function approval({ id: approvalId, toolName, input }) {
  const button = (text, allow) => {
    const made = element('button', text);
    made.dataset.decision = text.toLowerCase();
    made.addEventListener('click', () => post(`/approvals/${encodeURIComponent(approvalId)}`, { allow }));
    return made;
  };
  const asked = `${toolName}(${JSON.stringify(input)})? `;
  return element('li', asked, [button('Allow', true), button('Refuse', false)]);
}

function connect() {
  // It reconnects by itself, with the id of the last event it got.
  const events = new EventSource(`/sessions/${encodeURIComponent(id)}/events`);
  events.addEventListener('open', () => {
    find('connection').textContent = 'open';
  });
  events.addEventListener('message', ({ data }) => {
    take(JSON.parse(data));
    show();
  });
  events.addEventListener('error', () => {
    find('connection').textContent = 'lost';
    // An answer that is no stream ends an EventSource: the service was just going, or the token is not known.
    if (events.readyState === EventSource.CLOSED) setTimeout(enter, 1_000);
  });
}

async function enter() {
  const answer = await fetch('/approvals').catch(() => undefined);
  if (answer === undefined || answer.status >= 500) return setTimeout(enter, 1_000);
  const known = answer.status !== 401;
  find('login').hidden = known;
  find('chat').hidden = !known;
  if (known) connect();
}

find('login').addEventListener('submit', async (event) => {
  event.preventDefault();
  await post('/login', { token: find('token').value });
  await enter();
});
find('send').addEventListener('submit', async (event) => {
  event.preventDefault();
  const text = find('text').value;
  // Sent again under the same id until it was taken: it counts once.
  const messageId = crypto.randomUUID();
  find('text').value = '';
  for (let taken = false; !taken; ) {
    const answer = await post(`/sessions/${encodeURIComponent(id)}/messages`, { text, messageId }).catch(
      () => undefined,
    );
    taken = answer !== undefined && answer.status < 500;
    if (!taken) await new Promise((resolve) => setTimeout(resolve, 500));
  }
});
find('stop').addEventListener('click', () => post(`/sessions/${encodeURIComponent(id)}/stop`, {}));
enter();
