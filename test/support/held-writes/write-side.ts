import request from 'supertest';
import type { TestApplication } from '../factories.ts';
import { GoogleSide } from '../google-side.ts';
import { UNPLEASANT_AT_ONCE } from '../microsoft/settings.ts';
import { MicrosoftSide } from '../microsoft-side.ts';
import type { RemoteSide, SeenMailbox } from '../remote-side.ts';
import { expectDocumented } from '../remote-stub/remote-stub.ts';
import type { TestApp } from '../test-app.ts';

/** A connected account whose objects tests write and compare. */
export interface WrittenAccount {
  id: string;
  email: string;
  bearer: Record<string, string>;
}

/** A provider with one account, in the terms that tests of all providers share. */
export interface WriteSide {
  /** Name of the provider in Carillon. */
  readonly provider: string;
  readonly unit: 'folder' | 'label';
  /** Environment of a server that uses this provider. */
  readonly environment: Record<string, string>;
  /** Somebody to whom mail can be sent. */
  readonly correspondent: string;
  connect(server: TestApp, application: TestApplication): Promise<WrittenAccount>;
  /** Puts a message into the inbox. */
  deliver(subject: string): Promise<void>;
  /** What the account contains at the provider. */
  seen(): Promise<SeenMailbox>;
  stop(): Promise<void>;
}

/** The stub of Google or of Microsoft. */
export class StubSide implements WriteSide {
  readonly provider: string;
  readonly unit: 'folder' | 'label';
  readonly environment: Record<string, string>;
  readonly correspondent = 'bo@x.test';
  readonly #email: string;

  constructor(readonly side: RemoteSide) {
    this.provider = side.provider;
    this.unit = side.provider === 'google' ? 'label' : 'folder';
    this.environment = side.environment;
    this.#email = `ann@${side.provider}.test`;
  }

  async connect({ url }: TestApp, { basic }: TestApplication): Promise<WrittenAccount> {
    const { provider, integration } = this.side;
    const call = async (path: string, body: object) => {
      const answer = await request(url).post(path).set(basic).send(body);
      expect([answer.status, answer.body.error]).toEqual([200, undefined]);
      return answer.body.data as { id: string; access_token: string };
    };
    const registered = { name: provider, provider, settings: integration };
    await call('/connect/integrations', registered);
    const settings = this.side.addUser(this.#email);
    const { id, access_token } = await call('/connect/grants', { provider, settings });
    return { id, email: this.#email, bearer: { authorization: `Bearer ${access_token}` } };
  }

  deliver(subject: string): Promise<void> {
    return this.side.deliver(this.#email, subject);
  }

  async seen(): Promise<SeenMailbox> {
    return this.side.seen(this.#email);
  }

  async stop(): Promise<void> {
    await this.side.stub.stop();
    expectDocumented(this.side.stub);
  }
}

/** Starts Google's stub with all unpleasant habits that people have reported. */
export const googleSide = async (): Promise<StubSide> => {
  const side = await GoogleSide.start();
  side.stub.habits.worst();
  // A request that sends is not repeated: it is answered with 503, and the chain ends there.
  side.stub.habits.refusesSending = false;
  return new StubSide(side);
};

/**
 * Starts the stub of Microsoft at its worst, except that it shows changes at once: a chain compares
 * after one pass.
 */
export const microsoftSide = async (): Promise<StubSide> =>
  new StubSide(await MicrosoftSide.start(UNPLEASANT_AT_ONCE));
