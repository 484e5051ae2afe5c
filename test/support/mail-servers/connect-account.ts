import request from 'supertest';
import type { TestApplication } from '../factories.ts';
import type { TestApp } from '../test-app.ts';
import type { MailUser } from './mail-servers.ts';

/** A connected account whose mailbox is on a real mail server. */
export interface RealAccount extends MailUser {
  id: string;
  bearer: Record<string, string>;
}

/**
 * Connects a mailbox as applications do: exchanges credentials for a code, then the code for an
 * account.
 */
export async function connectMailbox(
  server: TestApp,
  application: TestApplication,
  user: MailUser,
  settings: object,
): Promise<RealAccount> {
  const { clientId: client_id, clientSecret: client_secret } = application;
  const authorized = await request(server.url)
    .post('/connect/authorize')
    .send({ client_id, name: 'Somebody', email_address: user.email, provider: 'imap', settings })
    .expect(200);
  const { code } = authorized.body as { code: string };
  const connected = await request(server.url)
    .post('/connect/token')
    .send({ client_id, client_secret, code })
    .expect(200);
  const { id, access_token } = connected.body as { id: string; access_token: string };
  return { ...user, id, bearer: { authorization: `Bearer ${access_token}` } };
}
