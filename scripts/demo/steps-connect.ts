import { basic, bearer, field, items, only, text } from '../lib/api-client.ts';
import type { Cast, DemoAccount, DemoApplication, DemoContext } from './context.ts';

const anonymous = { name: 'an anonymous caller' };

async function startServer({ report, server, api }: DemoContext): Promise<void> {
  report.step('Carillon starts with its own PostgreSQL');
  const began = performance.now();
  await server.start();
  report.note(`${server.url}, data in ${server.dataDir} (removed at the end)`);
  report.note(`process ${server.pid}: kill -9 it at any time; it starts again and continues`);
  const { status, body } = await api.call(anonymous, 'GET', '/health/ready', {
    show: (all) => ({
      status: field(all, 'status'),
      checks: items(field(all, 'checks')).map((check) => field(check, 'name')),
    }),
  });
  report.verify(
    `ready after ${((performance.now() - began) / 1000).toFixed(1)} s`,
    status === 200 && field(body, 'status') === 'ready',
  );
}

async function createApplication({ report, server }: DemoContext): Promise<DemoApplication> {
  report.step('The operator creates an application, a customer of this server');
  const args = [
    '--json',
    'application',
    'create',
    '--name=Demo',
    '--plan=standard',
    '--feature=sms',
  ];
  report.sent(`carillon ${args.join(' ')}`);
  const made: unknown = JSON.parse(await server.operator(args));
  const clientId = text(made, 'client_id');
  const clientSecret = text(made, 'client_secret');
  report.hide(clientSecret);
  report.received('', only('client_id', 'client_secret', 'name', 'plan', 'features')(made));
  report.verify("the application's plan includes SMS", field(made, 'plan') === 'standard');
  return {
    clientId,
    clientSecret,
    integrations: {
      name: 'the application (client id and secret)',
      authorization: basic(clientId, clientSecret),
    },
    owner: { name: 'the application (client secret)', authorization: basic(clientSecret) },
  };
}

async function registerIntegration(
  { report, api }: DemoContext,
  application: DemoApplication,
): Promise<void> {
  report.step('The application registers a provider: an integration');
  const integration = {
    name: 'Sandbox for the demo',
    provider: 'sandbox',
    settings: {},
    redirect_uris: ['https://app.example.com/callback'],
    expires_in: 3600,
    scope: ['email.modify', 'email.send', 'calendar'],
  };
  const created = await api.call(application.integrations, 'POST', '/connect/integrations', {
    body: integration,
  });
  report.verify(
    'it is registered',
    created.status === 200 && field(created.body, 'success') === true,
  );
  const listed = await api.call(application.integrations, 'GET', '/connect/integrations', {
    show: (all) => ({
      data: items(field(all, 'data')).map(only('provider', 'name', 'scope')),
      ...only('limit', 'offset')(all),
    }),
  });
  report.verify('it is listed', field(listed.body, 'data', 0, 'provider') === 'sandbox');
  const again = await api.call(application.integrations, 'POST', '/connect/integrations', {
    body: { name: 'Another sandbox', provider: 'sandbox', settings: {} },
  });
  report.verify(
    'a second integration for the same provider is refused',
    again.status >= 400 && again.status < 500,
  );
}

async function connectAccount(
  context: DemoContext,
  application: DemoApplication,
  name: string,
  email: string,
): Promise<DemoAccount> {
  const { report, api } = context;
  const { clientId, clientSecret } = application;
  const authorized = await api.call(anonymous, 'POST', '/connect/authorize', {
    body: {
      client_id: clientId,
      name,
      email_address: email,
      provider: 'sandbox',
      settings: { password: 'anything' },
    },
    show: (all) => {
      report.hide(text(all, 'code'));
      return all;
    },
  });
  const connected = await api.call(anonymous, 'POST', '/connect/token', {
    body: { client_id: clientId, client_secret: clientSecret, code: text(authorized.body, 'code') },
    show: (all) => {
      report.hide(text(all, 'access_token'));
      return only('account_id', 'email_address', 'sync_state', 'access_token')(all);
    },
  });
  report.verify(`${name} is connected`, field(connected.body, 'email_address') === email);
  return {
    name: name.split(' ')[0] ?? name,
    email,
    accountId: text(connected.body, 'account_id'),
    authorization: bearer(text(connected.body, 'access_token')),
  };
}

/** Connects the demo's two accounts, each with an access token. */
export async function connectEverybody(context: DemoContext): Promise<Cast> {
  await startServer(context);
  const application = await createApplication(context);
  await registerIntegration(context, application);
  context.report.step('Two sandbox accounts are connected');
  const ada = await connectAccount(context, application, 'Ada Example', 'ada@sandbox.test');
  const bo = await connectAccount(context, application, 'Bo Tanaka', 'bo@sandbox.test');
  const grants = await context.api.call(
    application.integrations,
    'GET',
    '/connect/grants?provider=sandbox',
    {
      show: (all) => items(field(all, 'data')).map(only('email', 'provider', 'grant_status')),
    },
  );
  context.report.verify(
    'there are two valid grants',
    items(field(grants.body, 'data')).filter((grant) => field(grant, 'grant_status') === 'valid')
      .length === 2,
  );
  return { ...context, application, ada, bo };
}
