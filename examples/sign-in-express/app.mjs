// Lets users connect their mailbox on the sign-in pages of Carillon, and shows their newest mail.
import { randomUUID } from 'node:crypto';
import express from 'express';

const env = process.env;
const api = env.CARILLON_API_URL ?? 'http://localhost:3000';
const [client_id, client_secret] = [env.CARILLON_CLIENT_ID, env.CARILLON_CLIENT_SECRET];

/** What we know of each browser, by the value of its cookie. A real application has a database. */
const sessions = new Map();

const app = express();
app.use((request, response, next) => {
  const [, known] = /(?:^|; )session=([^;]+)/.exec(request.headers.cookie ?? '') ?? [];
  const id = sessions.has(known) ? known : randomUUID();
  if (id !== known) {
    sessions.set(id, {});
    response.cookie('session', id, { httpOnly: true, sameSite: 'lax' });
  }
  request.session = sessions.get(id);
  next();
});

app.get('/', async ({ session }, response) => {
  if (!session.token) return response.send('<a href="/connect">Connect your mailbox</a>');
  const headers = { authorization: `Bearer ${session.token}` };
  const messages = await (await fetch(`${api}/messages?limit=5`, { headers })).json();
  const items = messages.map(({ subject }) => `<li>${escape(subject)}</li>`).join('');
  response.send(`<h1>${escape(session.email)}</h1><ul>${items}</ul>`);
});

app.get('/connect', async ({ session }, response) => {
  // Comes back with the user: proves that this browser began the sign-in.
  session.state = randomUUID();
  const answer = await fetch(`${api}/connect/auth`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({
      provider: env.PROVIDER,
      redirect_uri: `${address()}/callback`,
      state: session.state,
      scope: ['email.read_only'],
    }),
  });
  const { data, error } = await answer.json();
  if (!answer.ok) throw new Error(error.message);
  response.redirect(data.url);
});

app.get('/callback', async ({ session, query }, response) => {
  if (!session.state || query.state !== session.state) return response.sendStatus(403);
  delete session.state;
  if (query.success !== 'true') return response.send(`Not connected: ${escape(query.error)}`);
  const answer = await fetch(`${api}/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_id,
      client_secret,
      grant_type: 'authorization_code',
      code: query.code,
    }),
  });
  const token = await answer.json();
  if (!answer.ok) throw new Error(token.message);
  // The token gives access to the mailbox: keep it on the server, encrypted.
  session.token = token.access_token;
  session.email = token.email_address;
  response.redirect('/');
});

const escape = (text) => String(text).replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`);
const address = () => env.PUBLIC_URL ?? `http://localhost:${server.address().port}`;
const server = app.listen(Number(env.PORT ?? 4000), () => console.log(`Open ${address()}`));
