import { PageBrowser } from '../../support/page-browser.ts';
import { until } from '../../support/until.ts';
import type { NodeCall, NodeContext, NodeModel } from '../support/node-client.ts';

const REDIRECT = 'https://app.example.test/callback';

const account: NodeCall[] = [
  {
    resource: 'account',
    call: 'account.get()',
    async run({ client, value }) {
      expect(await client.account.get()).toMatchObject({
        id: value('accountId'),
        emailAddress: value('email'),
        organizationUnit: 'folder',
      });
    },
  },
  {
    resource: 'account',
    call: 'Nylas.revoke()',
    versions: [6],
    async run({ sdk, value }) {
      await sdk.revoke(value('spare3Token'));
      await expect(sdk.with(value('spare3Token')).account.get()).rejects.toMatchObject({
        statusCode: 401,
      });
    },
  },
  {
    resource: 'account',
    call: 'a refused call reports status and message',
    async run({ client }) {
      await expect(client.messages.find('nothing')).rejects.toMatchObject({
        statusCode: 404,
        message: expect.stringContaining("Couldn't find message nothing"),
      });
    },
  },
];

const spare = async ({ sdk, value }: NodeContext, name: string): Promise<NodeModel> => {
  const found = (await sdk.accounts.list()).find(({ id }) => id === value(name));
  if (!found) throw new Error(`no account ${name}`);
  return found;
};

const accounts: NodeCall[] = [
  {
    resource: 'accounts',
    call: 'Nylas.accounts.list(), Nylas.accounts.first()',
    async run({ sdk, value }) {
      const ids = (await sdk.accounts.list()).map(({ id }) => id);
      expect(ids).toContain(value('accountId'));
      expect(ids).toContain((await sdk.accounts.first()).id);
    },
  },
  {
    resource: 'accounts',
    call: 'Nylas.accounts.find()',
    async run({ sdk, value }) {
      expect((await sdk.accounts.find(value('accountId'))).emailAddress).toBe(value('email'));
    },
  },
  {
    resource: 'accounts',
    call: 'account.downgrade(), account.upgrade()',
    async run(context) {
      const found = await spare(context, 'spare0Id');
      expect(String((await found.downgrade()).success)).toBe('true');
      expect((await spare(context, 'spare0Id')).billingState).toBe('cancelled');
      expect(String((await found.upgrade()).success)).toBe('true');
    },
  },
  {
    resource: 'accounts',
    call: 'account.tokenInfo()',
    async run(context) {
      const info = await (await spare(context, 'spare0Id')).tokenInfo(context.value('spare0Token'));
      expect(info.state).toBe('valid');
    },
  },
  {
    resource: 'accounts',
    call: 'account.ipAddresses()',
    async run(context) {
      expect(await (await spare(context, 'spare0Id')).ipAddresses()).toBeTruthy();
    },
  },
  {
    resource: 'accounts',
    call: 'account.revokeAll(), also with a token to keep',
    async run(context) {
      const { sdk, value } = context;
      const found = await spare(context, 'spare1Id');
      const get = () => sdk.with(value('spare1Token')).account.get();
      expect(String((await found.revokeAll(value('spare1Token'))).success)).toBe('true');
      expect((await get()).id).toBe(found.id);
      expect(String((await found.revokeAll()).success)).toBe('true');
      await expect(get()).rejects.toMatchObject({ statusCode: 401 });
    },
  },
  {
    resource: 'accounts',
    call: 'account.save() of metadata',
    versions: [5, 6],
    async run(context) {
      const found = await spare(context, 'spare0Id');
      found.metadata = { team: 'a' };
      await found.save();
      expect((await spare(context, 'spare0Id')).metadata).toEqual({ team: 'a' });
    },
  },
  {
    resource: 'accounts',
    call: 'Nylas.accounts.delete()',
    async run({ sdk, value }) {
      await sdk.accounts.delete(value('spare2Id'));
      const ids = (await sdk.accounts.list()).map(({ id }) => id);
      expect(ids).not.toContain(value('spare2Id'));
    },
  },
  {
    resource: 'application',
    call: 'Nylas.application(), also with changes',
    versions: [5, 6],
    async run({ sdk }) {
      const read = await sdk.application();
      expect(read['application_name'] ?? read['applicationName']).toBe('Test application');
      await sdk.application({ applicationName: 'Renamed', redirectUris: [REDIRECT] });
      const changed = await sdk.application();
      expect(changed['application_name'] ?? changed['applicationName']).toBe('Renamed');
    },
  },
];

const webhooks: NodeCall[] = [
  {
    resource: 'webhooks',
    call: 'webhook.save(), Nylas.webhooks.list(), find() and delete()',
    async run({ sdk, value, make }) {
      const webhook = await make(sdk.webhooks, {
        callbackUrl: `${value('receiver')}/hooks`,
        state: 'active',
        triggers: ['message.created', 'job.successful'],
      }).save();
      expect((await sdk.webhooks.list()).map(({ id }) => id)).toEqual([webhook.id]);
      const found = await sdk.webhooks.find(webhook.id);
      expect(found.triggers).toEqual(['message.created', 'job.successful']);
      found.state = 'inactive';
      await found.save();
      expect((await sdk.webhooks.find(webhook.id)).state).toBe('inactive');
      await sdk.webhooks.delete(webhook.id);
      expect(await sdk.webhooks.list()).toEqual([]);
    },
  },
];

const authorize = async ({ sdk }: NodeContext, address: string, provider: string) => {
  const { code } = await sdk.connect.authorize({
    name: 'Cy',
    email_address: address,
    emailAddress: address,
    provider,
    settings: provider === 'sandbox' ? { password: 'x' } : {},
    scopes: provider === 'sandbox' ? ['email', 'calendar'] : ['calendar'],
  });
  return code;
};

const authentication: NodeCall[] = [
  {
    resource: 'authentication',
    call: 'Nylas.connect.authorize(), Nylas.connect.token()',
    // Version 6 lets its users choose only from its own list of providers, without the sandbox.
    versions: [4, 5],
    async run(context) {
      const code = await authorize(context, 'cy@sandbox.test', 'sandbox');
      const token = await context.sdk.connect.token(code);
      const connected = context.sdk.with(token['access_token'] ?? token['accessToken'] ?? '');
      expect((await connected.account.get()).emailAddress).toBe('cy@sandbox.test');
    },
  },
  {
    resource: 'authentication',
    call: 'Nylas.connect.authorize() of a virtual calendar, Nylas.connect.token()',
    async run(context) {
      const code = await authorize(context, 'room@example.test', 'nylas');
      const token = await context.sdk.connect.token(code);
      const connected = context.sdk.with(token['access_token'] ?? token['accessToken'] ?? '');
      expect(await connected.calendars.count()).toBe(1);
    },
  },
  {
    resource: 'authentication',
    call: 'Nylas.urlForAuthentication(), Nylas.exchangeCodeForToken()',
    async run({ sdk, values }) {
      expect(sdk.clientCredentials()).toBe(true);
      const browser = new PageBrowser({ url: values['url'] ?? '' });
      const options = { redirectURI: REDIRECT, loginHint: 'di@sandbox.test', state: 's1' };
      await browser.get(sdk.urlForAuthentication({ ...options, scopes: ['email', 'calendar'] }));
      await browser.get(`${browser.page.location}&provider=sandbox`);
      await browser.follow('credentials', { password: 'x' });
      await browser.submit('consent');
      const code = new URL(browser.page.location ?? '').searchParams.get('code') ?? '';
      const answer = await sdk.exchangeCodeForToken(code);
      const token =
        typeof answer === 'string' ? answer : (answer as { accessToken: string }).accessToken;
      expect((await sdk.with(token).account.get()).emailAddress).toBe('di@sandbox.test');
    },
  },
];

const deltas: NodeCall[] = [
  {
    resource: 'deltas',
    call: 'deltas.latestCursor()',
    async run({ client }) {
      expect(await client.deltas.latestCursor(() => undefined)).toEqual(expect.any(String));
    },
  },
  {
    resource: 'deltas',
    call: 'deltas.since()',
    versions: [6],
    async run({ client, value }) {
      const cursor = await client.deltas.latestCursor(() => undefined);
      const message = await client.messages.find(value('planId'));
      message.starred = true;
      await message.save();
      const page = await client.deltas.since(cursor, { includeTypes: ['message'] });
      // Mail of earlier calls may arrive meanwhile.
      const deltas = page.deltas as { id?: string }[];
      const own = deltas.filter(({ id }) => id === message.id);
      expect(own).toMatchObject([{ id: message.id, event: 'modify' }]);
    },
  },
  {
    resource: 'deltas',
    call: 'deltas.longPoll()',
    versions: [6],
    async run({ client, value }) {
      const cursor = await client.deltas.latestCursor(() => undefined);
      const message = await client.messages.find(value('planId'));
      message.starred = false;
      await message.save();
      const poll = await client.deltas.longPoll(cursor, 60);
      const page = await new Promise((resolve) => poll.once('delta', resolve));
      expect(page).toMatchObject({ cursorStart: cursor });
      poll.close();
    },
  },
  {
    resource: 'deltas',
    call: 'deltas.startStream()',
    async run({ client, value }) {
      const cursor = await client.deltas.latestCursor(() => undefined);
      const stream = await client.deltas.startStream(cursor, { includeTypes: ['message'] });
      const received: { id: string }[] = [];
      // Version 4 reports its own end of the request.
      stream.on('error', () => undefined);
      stream.on('delta', (delta: { id: string }) => received.push(delta));
      const message = await client.messages.find(value('planId'));
      message.unread = !message.unread;
      await message.save();
      await until('the delta', async () => received.some(({ id }) => id === message.id));
      stream.close();
    },
  },
];

const neural: NodeCall[] = [
  {
    resource: 'neural',
    call: 'neural.sentimentAnalysisText(), neural.sentimentAnalysisMessage()',
    versions: [5, 6],
    async run({ client, value }) {
      const text = await client.neural.sentimentAnalysisText('This is terrible.');
      expect(text.sentiment).toBe('NEGATIVE');
      const [message] = await client.neural.sentimentAnalysisMessage([value('planId')]);
      expect(message?.sentiment).toBe('POSITIVE');
    },
  },
  {
    resource: 'neural',
    call: 'neural.extractSignature(), contacts.toContactObject()',
    versions: [5, 6],
    async run({ client, value }) {
      const [found] = await client.neural.extractSignature([value('planId')]);
      expect(found?.signature).toContain('Head of Sales');
      expect(found?.contacts?.toContactObject(client).givenName).toBe('Bo');
    },
  },
  {
    resource: 'neural',
    call: 'neural.ocrRequest()',
    versions: [5, 6],
    async run({ client, value }) {
      expect((await client.neural.ocrRequest(value('scanId'))).ocr).toHaveLength(1);
      expect((await client.neural.ocrRequest(value('scanId'), [1])).ocr).toHaveLength(1);
    },
  },
  {
    resource: 'neural',
    call: 'neural.categorize(), message.reCategorize()',
    versions: [5, 6],
    async run({ client, value }) {
      const [found] = await client.neural.categorize([value('planId')]);
      expect(found?.categorizer.category).toBe('conversation');
      expect((await found?.reCategorize('feed'))?.categorizer.category).toBe('feed');
    },
  },
  {
    resource: 'neural',
    call: 'neural.cleanConversation(), message.extractImages()',
    versions: [5, 6],
    async run({ client, value }) {
      const options = { ignore_images: false, ignoreImages: false };
      const [found] = await client.neural.cleanConversation([value('planId')], options);
      const images = await found?.extractImages();
      await until('the image', async () => images?.length === 1);
      expect(images?.[0]?.id).toBe(value('scanId'));
    },
  },
];

const components: NodeCall[] = [
  {
    resource: 'components',
    call: 'component.list()',
    versions: [5, 6],
    refused: 'Carillon has no pages for components; an application hosts them itself',
    async run({ client }) {
      await expect(client.component.list()).rejects.toMatchObject({ statusCode: 404 });
    },
  },
];

/** Calls about applications, accounts and the rest. */
export const APPLICATION_CALLS: readonly NodeCall[] = [
  ...account,
  ...accounts,
  ...authentication,
  ...webhooks,
  ...deltas,
  ...neural,
  ...components,
];
