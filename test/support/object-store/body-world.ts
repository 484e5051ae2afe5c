import type { INestApplicationContext } from '@nestjs/common';
import request from 'supertest';
import { BodyUploads } from '../../../src/mail/messages/objects/body-uploads.ts';
import { Database } from '../../../src/platform/database/sql.ts';
import { MailboxSyncDispatcher } from '../../../src/sync/mailbox-sync-dispatcher.ts';
import { deliver } from '../deliver.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../factories.ts';
import { PassingClock } from '../passing-clock.ts';
import { syncAccount } from '../sync.ts';
import { startTestApp, type TestApp } from '../test-app.ts';
import { S3Stub } from './s3-stub.ts';

/** Long enough to go to the object store, short enough to be recognised. */
export const longText = (words: string): string => `<p>${words} ${randomWords(words)}</p>`;

/** Text that hardly compresses, and that is the same for the same words. */
function randomWords(words: string): string {
  let state = Buffer.from(words).reduce((sum, byte) => (sum * 31 + byte) % 2_147_483_647, 7);
  return Array.from({ length: 600 }, () => {
    state = (state * 48_271) % 2_147_483_647;
    return state.toString(36);
  }).join(' ');
}

const NEVER = new AbortController().signal;

/** A server whose bodies go to a stub of an object store, without workers of its own. */
export class BodyWorld {
  readonly stub = new S3Stub();
  readonly clock = new PassingClock();
  server!: TestApp;
  application!: TestApplication;

  async open(environment: Record<string, string> = {}): Promise<void> {
    await this.stub.listen();
    const settings = { ROLES: 'api', OBJECTS_URL: this.stub.url(), ...environment };
    this.server = await startTestApp(settings, { clock: this.clock });
    this.application = await createApplication(this.server.app);
  }

  async close(): Promise<void> {
    await this.server.close();
    await this.stub.stop();
    expect(this.stub.violations).toEqual([]);
  }

  get app(): INestApplicationContext {
    return this.server.app;
  }

  query<R extends object>(text: string, ...values: unknown[]): Promise<R[]> {
    return this.app.get(Database).query<R>(text, values);
  }

  account(): Promise<TestAccount> {
    return createAccount(this.app, this.application);
  }

  /** Delivers HTML to an account and stores it in the mirror. */
  async receive(account: TestAccount, ...texts: string[]): Promise<void> {
    for (const [index, text] of texts.entries())
      await deliver(this.server, account, [
        `Subject: Message ${index}`,
        'Content-Type: text/html; charset=utf-8',
        '',
        text,
      ]);
    await syncAccount(this.app, this.app.get(MailboxSyncDispatcher), account.id);
  }

  /** Moves the bodies that are due, as a worker does. */
  async upload(): Promise<void> {
    await this.app.get(BodyUploads).runBriefly(NEVER);
  }

  api(
    account: TestAccount,
    method: 'get' | 'post' | 'put' | 'delete',
    path: string,
    body?: object,
  ) {
    return request(this.server.url)[method](path).set(account.bearer).send(body);
  }

  /** Bodies of an account as `/messages` shows them, in their own order. */
  async bodies(account: TestAccount): Promise<string[]> {
    const response = await this.api(account, 'get', '/messages');
    expect([response.status, response.body.message]).toEqual([200, undefined]);
    return (response.body as { body: string }[]).map(({ body }) => body).toSorted();
  }

  /** How many bodies of an account are in the object store, and how many in the database. */
  async places(account: TestAccount): Promise<{ objects: number; database: number }> {
    const [row] = await this.query<{ objects: number; database: number }>(
      `select count(object_key)::int as objects, count(body)::int as database
       from message_content where account_id = $1`,
      account.id,
    );
    return row!;
  }

  /** Keys of the objects of an account. */
  keys(account: TestAccount): string[] {
    return [...this.stub.objects.keys()].filter((key) => key.startsWith(account.id));
  }
}
