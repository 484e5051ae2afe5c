import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { OauthClients, type SignedIn } from '../../src/accounts/oauth/oauth-clients.ts';
import { EgressClient } from '../../src/platform/egress/egress-client.ts';
import type { MicrosoftConnector } from '../../src/providers/microsoft/microsoft.connector.ts';
import type { ProviderAccount, StoredSubscription } from '../../src/providers/port/connector.ts';
import type {
  OauthRegistration,
  OauthSource,
} from '../../src/providers/port/sign-in/oauth-descriptor.ts';
import { codeOf, withFiles } from '../support/contract-tools.ts';
import { expectKnownDeviations } from '../support/emulators/emulator-proxy.ts';
import {
  MICROSOFT_DEVIATIONS,
  MicrosoftEmulator,
} from '../support/emulators/microsoft-emulator.ts';
import { microsoftConnector } from '../support/microsoft-account.ts';
import {
  accountWithToken,
  type ProviderParts,
  startProviderParts,
} from '../support/provider-parts.ts';
import type { FaultAnswer } from '../support/remote-stub/faults.ts';

const REDIRECT = 'https://carillon.example.test/connect/callback';
const EVENTS = '/calendars/primary/events';
/** Two pieces of an upload. */
const LARGE = 3_500_000;

const refusal = (status: number, code: string, headers: Record<string, string> = {}) => {
  return { status, headers, body: { error: { code, message: 'It failed.' } } };
};
const GONE = refusal(404, 'ErrorItemNotFound');
const FAILED = refusal(500, 'generalException');
const tooFast = (headers = {}) => refusal(429, 'ApplicationThrottled', headers);
const eventOf = (title: string) => {
  const when = { object: 'timespan', start_time: 1_900_000_800, end_time: 1_900_004_400 };
  return { title, when };
};

/** The client of the application. */
const source = ({ client: { id, secret } }: MicrosoftEmulator): OauthSource => ({
  integration: { settings: { client_id: id }, secrets: { client_secret: secret } },
  own: null,
});

/** A request that changes something. */
interface Work {
  what: string;
  /** `METHOD path` of the request. */
  request: RegExp;
  /** Makes what the work needs, with a name that is used once. @returns its id */
  prepare?: (name: string) => Promise<string>;
  run: (account: ProviderAccount, id: string, name: string) => Promise<unknown>;
  /** How often it was done, as the emulator has it. */
  count: (name: string) => Promise<number>;
  /** Whether what does not exist counts as done. */
  isGoneFine?: true;
  /** Whether the emulator can do it twice and double nothing. */
  isRepeatable?: true;
}

describe('a Microsoft account at the emulator', () => {
  let emulator: MicrosoftEmulator;
  let parts: ProviderParts;
  let connector: MicrosoftConnector;
  let egress: EgressClient;
  let clients: OauthClients;
  let registration: OauthRegistration;
  let signedIn: SignedIn;
  beforeAll(async () => {
    emulator = await new MicrosoftEmulator().listen();
    await emulator.open(REDIRECT);
    parts = await startProviderParts();
    connector = microsoftConnector(parts, emulator.origin);
    egress = new EgressClient(parts.policy);
    clients = new OauthClients(egress, parts.clock);
    registration = connector.oauth.registration(source(emulator)) as OauthRegistration;
    signedIn = await signIn();
  });
  afterEach(() => emulator.faults.clear());
  afterAll(async () => {
    await connector.close();
    await egress.onApplicationShutdown();
    await emulator.stop();
    await parts.stop();
    expectKnownDeviations(emulator, MICROSOFT_DEVIATIONS);
  });

  /** The person agrees on the emulator's page. */
  async function signIn(): Promise<SignedIn> {
    const ours = { redirectUri: REDIRECT, state: randomUUID() };
    const asked = {
      loginHint: null,
      parameters: {},
      scopes: connector.oauth.scopesFor(['email'], source(emulator)),
    };
    const request = await clients.authorizationUrl(registration, { ...ours, ...asked });
    const { origin, searchParams: body } = new URL(request.url);
    body.set('email', emulator.person.email);
    const page = `${origin}/oauth2/v2.0/authorize/callback`;
    const { headers } = await fetch(page, { method: 'POST', body, redirect: 'manual' });
    const { searchParams: parameters } = new URL(headers.get('location') ?? '');
    return clients.exchange(registration, { ...request, ...ours, ...asked, parameters });
  }
  /** An account with quotas of its own. */
  const account = (token = signedIn.tokens.accessToken) =>
    accountWithToken(`${randomUUID()}@contoso.test`, token, 'folder');
  const fail = (what: RegExp, answer: FaultAnswer, times = 1) =>
    emulator.faults.add({
      match: ({ method, path }) => what.test(`${method} ${path}`),
      answer,
      times,
    });
  const made = (path: string) => async (subject: string) =>
    (await emulator.web('POST', path, { subject })).id as string;
  /** The entries of a list that have this subject. */
  async function named(path: string, subject: string): Promise<Record<string, unknown>[]> {
    const { value } = await emulator.web('GET', `${path}?$top=1000`);
    return value.filter((one: { subject: string }) => one.subject === subject);
  }
  const numberIn = (path: string) => async (name: string) => (await named(path, name)).length;
  const numberDone = (what: RegExp) => async (name: string) =>
    emulator
      .requestsOf(what)
      .filter(
        ({ status, path, body }) => status && status < 300 && `${path} ${body}`.includes(name),
      ).length;

  it('signs in with a code, and the token opens the mailbox of the person', async () => {
    const { email } = emulator.person;
    const { tokens, claims } = signedIn;
    expect(connector.oauth.identity(claims ?? {})).toMatchObject({ email });
    const one = { ...account(), email: '', providerScopes: tokens.scopes ?? [] };
    expect(await connector.verify(one)).toMatchObject({ email, proof: 'oauth', covered: null });
  });

  const WORK: Work[] = [
    {
      what: 'mark a message as unread',
      request: /^PATCH .*\/messages\/[^/]+$/,
      prepare: made('/messages'),
      run: (one, id) => connector.mailbox.setFlags(one, id, { unread: true }),
      count: async (name) => {
        const found = await named('/messages', name);
        return found.filter(({ isRead }) => isRead === false).length;
      },
      isRepeatable: true,
    },
    {
      what: 'move a message',
      request: /\/move$/,
      prepare: made('/messages'),
      run: (one, id) => connector.mailbox.setFolders(one, id, ['archive']),
      count: numberIn('/mailFolders/archive/messages'),
      isRepeatable: true,
    },
    {
      what: 'delete a draft',
      request: /^DELETE .*\/messages\/[^/]+$/,
      prepare: made('/messages'),
      run: (one, id) => connector.mailbox.deleteDraft(one, id),
      count: numberIn('/mailFolders/deleteditems/messages'),
      isGoneFine: true,
      isRepeatable: true,
    },
    {
      what: 'create an event',
      request: /^POST .*\/events$/,
      run: (one, name) => connector.calendar.createEvent(one, 'primary', name, eventOf(name)),
      count: numberIn(EVENTS),
    },
    {
      what: 'change an event',
      request: /^PATCH .*\/events\/[^/]+$/,
      prepare: (name) => made(EVENTS)(`before ${name}`),
      run: (one, id, name) => connector.calendar.updateEvent(one, id, eventOf(name)),
      count: numberIn(EVENTS),
      isRepeatable: true,
    },
    {
      what: 'delete an event',
      request: /^DELETE .*\/events\/[^/]+$/,
      prepare: made(EVENTS),
      run: (one, id) => connector.calendar.deleteEvent(one, id),
      count: async (name) => 1 - (await named(EVENTS, name)).length,
      isGoneFine: true,
      isRepeatable: true,
    },
    {
      what: 'subscribe to the mail',
      request: /^POST .*\/subscriptions$/,
      run: (one, id) => {
        const address = `https://carillon.example.test/push/${id}`;
        const request = { resource: 'mail', id, secret: 'secret', integration: null } as const;
        return connector.push.subscribe(one, { ...request, address });
      },
      count: numberDone(/\/subscriptions$/),
    },
    {
      what: 'end a subscription',
      request: /^DELETE .*\/subscriptions\/[^/]+$/,
      run: (one, id) => connector.push.unsubscribe(one, { id } as StoredSubscription),
      count: numberDone(/^DELETE/),
    },
  ];

  describe.each(WORK)('the request to $what', (work) => {
    const { request, count, isGoneFine, isRepeatable } = work;
    let name: string;
    let run: (one?: ProviderAccount) => Promise<unknown>;
    beforeEach(async () => {
      name = `name-${randomUUID()}`;
      const id = (await work.prepare?.(name)) ?? name;
      run = (one = account()) => work.run(one, id, name);
    });

    it('is refused with an old token, and done with the next one', async () => {
      fail(request, refusal(401, 'InvalidAuthenticationToken'));
      expect(await codeOf(run())).toBe('auth-invalid');
      expect(await count(name)).toBe(0);
      const { refreshToken } = signedIn.tokens;
      const credential = { kind: 'refresh-token', refreshToken: refreshToken ?? '' } as const;
      signedIn = await clients.obtain(registration, credential);
      await run();
      expect(await count(name)).toBe(1);
      const { headers } = emulator.requestsOf(request).at(-1) ?? {};
      expect(headers?.authorization).toBe(`Bearer ${signedIn.tokens.accessToken}`);
    });

    it(`${isGoneFine ? 'succeeds' : 'fails'} if its object is gone`, async () => {
      // One answer may be passing: the object is looked up, too.
      fail(request, GONE);
      fail(/^GET .*\/(?:messages|events|calendars)\/[^/]+$/, GONE, 5);
      expect(await codeOf(run())).toBe(isGoneFine ? 'succeeded' : 'not-found');
      emulator.faults.clear();
      expect(await count(name)).toBe(0);
    });

    it.each([
      ['the time that Graph names', { 'retry-after': '77' }, 77],
      ['a usual time if Graph names none', {}, null],
    ])('is not repeated after 429 for %s', async (_, headers, retryAfterSeconds) => {
      const one = account();
      fail(request, tooFast(headers));
      await expect(run(one)).rejects.toMatchObject({ code: 'rate-limited', retryAfterSeconds });
      const before = emulator.requests.length;
      await expect(run(one)).rejects.toMatchObject({ name: 'BudgetExhaustedError' });
      expect(emulator.requests).toHaveLength(before);
      expect(await count(name)).toBe(0);
    });

    it('can be repeated after 500', async () => {
      fail(request, FAILED);
      expect(await codeOf(run())).toBe('temporary');
      expect(await count(name)).toBe(0);
      await run();
      expect(await count(name)).toBe(1);
    });

    if (isRepeatable)
      it.each(['504-after-done', 'drop-after-done'] as const)(
        'is done once although it is repeated after %s',
        async (answer) => {
          fail(request, answer);
          expect(await codeOf(run())).toBe('temporary');
          expect(await count(name)).toBe(1);
          await run();
          expect(await count(name)).toBe(1);
        },
      );
  });

  describe('a draft with a large file', () => {
    const PIECE = /^PUT \/upload\//;
    /** @returns its id, and the positions of the pieces that were sent */
    async function save(replaces: string | null = null) {
      const before = emulator.requestsOf(PIECE).length;
      const one = account();
      const message = withFiles(one, 'bo@elsewhere.test', [LARGE]);
      const { providerId: id } = await connector.mailbox.saveDraft(one, message, replaces);
      const sent = emulator.requestsOf(PIECE).slice(before);
      return {
        id,
        positions: sent.map(({ headers }) => /\d+/.exec(headers['content-range'] ?? '')?.[0]),
      };
    }
    const folderOf = async (id: string) =>
      (await emulator.web('GET', `/messages/${id}`)).parentFolderId as string;
    /** The bytes of the only file. The emulator has each piece in base64, with padding. */
    async function fileOf(id: string): Promise<Buffer> {
      const { value } = await emulator.web('GET', `/messages/${id}/attachments`);
      expect(value).toMatchObject([{ size: LARGE }]);
      const pieces = (value[0].contentBytes as string).split(/(?<==)(?!=)/);
      return Buffer.concat(pieces.map((piece) => Buffer.from(piece, 'base64')));
    }

    it('is stored in pieces, replaced by its next version, and deleted', async () => {
      const { id, positions } = await save();
      expect(positions).toEqual(['0', '3276800']);
      expect((await fileOf(id)).equals(Buffer.alloc(LARGE, 'file 0 '))).toBe(true);
      const next = await save(id);
      expect([await folderOf(id), await folderOf(next.id)]).toEqual(['deleteditems', 'drafts']);
      await connector.mailbox.deleteDraft(account(), next.id);
      expect(await folderOf(next.id)).toBe('deleteditems');
    });

    it('is whole although its first piece fails', async () => {
      fail(PIECE, FAILED);
      const { id, positions } = await save();
      expect(positions).toEqual(['0', '0', '3276800']);
      expect((await fileOf(id)).equals(Buffer.alloc(LARGE, 'file 0 '))).toBe(true);
    });

    it('has each piece once although the answer to one is lost', async () => {
      fail(PIECE, 'drop-after-done');
      const { id, positions } = await save();
      expect(positions).toEqual(['0', '3276800']);
      expect((await fileOf(id)).equals(Buffer.alloc(LARGE, 'file 0 '))).toBe(true);
    });

    it('is removed if a piece is refused, with the pause that Graph asks for', async () => {
      const drafts = numberIn('/mailFolders/drafts/messages');
      const before = await drafts('Contract');
      fail(PIECE, tooFast({ 'retry-after': '77' }));
      const refused = { code: 'rate-limited', retryAfterSeconds: 77 };
      await expect(save()).rejects.toMatchObject(refused);
      expect(await drafts('Contract')).toBe(before);
    });
  });
});
